"""``push`` and ``pull``: a round trip through a folder, what is refused, and what the hub's library is asked for."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from safetensors.torch import load_file, save_file

from probing.core.errors import HeadError, HubError, StoreError
from probing.core.files.checksums import file_sha256
from probing.models.heads.files import IDENTITY, read_identity
from probing.models.runtime.checked_arrays import sum_of
from probing.store.parquet import read_table, write_table
from probing.workflows.share.manifest import MANIFEST, read_manifest
from tests.store.planted import token_rows


@pytest.fixture(scope="module")
def made(tiny_model, tmp_path_factory):
    """A cache with heads and runs of the tiny model, made once: ``full`` for all layers, a replicate, and
    ``logit_lens`` beside.
    """
    from typer.testing import CliRunner

    from probing.commands.main import app

    folder = tmp_path_factory.mktemp("made")
    text = folder / "text.txt"
    text.write_text("The capital of France is Paris and the sun is red and the moon is blue in the city .\n" * 1800)
    facts = folder / "facts.jsonl"
    rows = [("france", "Paris"), ("germany", "Berlin"), ("italy", "Rome")]
    lines = [
        {"subject": s, "relation": "capital", "object": o, "prompt": f"The capital of {s} is [MASK]."} for s, o in rows
    ]
    facts.write_text("".join(json.dumps(line) + "\n" for line in lines))
    learning = ["--text", text, "--valid", text, "--positions", 200, "--epochs", 1, "--batch", 64]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROBING_CACHE", str(folder / "cache"))
        patch.setenv("PROBING_SNAPSHOT", str(folder / "none"))
        for words in (
            ["train-heads", "--model", tiny_model, "--head", "full", *learning],
            ["train-heads", "--model", tiny_model, "--head", "full", "--seed", 3, *learning],
            ["probe", "--model", tiny_model, "--head", "full", "--facts", facts],
            ["probe", "--model", tiny_model, "--head", "logit_lens", "--facts", facts],
        ):
            got = CliRunner().invoke(app, [str(word) for word in words])
            assert got.exit_code == 0, (got.output, got.exception)
    return SimpleNamespace(cache=folder / "cache", facts=facts, model=tiny_model)


@pytest.fixture()
def at(monkeypatch):
    """Points the program to another cache."""

    def point(folder: Path) -> Path:
        monkeypatch.setenv("PROBING_CACHE", str(folder))
        monkeypatch.setenv("PROBING_SNAPSHOT", str(folder / "none"))
        return folder

    return point


@pytest.fixture(scope="module")
def pushed(made, tmp_path_factory):
    """Heads and predictions as folders, pushed once; tests copy them."""
    from typer.testing import CliRunner

    from probing.commands.main import app

    folder = tmp_path_factory.mktemp("pushed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROBING_CACHE", str(made.cache))
        patch.setenv("PROBING_SNAPSHOT", str(made.cache / "none"))
        for what, model in (("heads", made.model), ("predictions", "tiny-bert")):
            words = ["push", what, "--model", str(model), "--to-folder", str(folder / what), "--licence", "MIT"]
            got = CliRunner().invoke(app, words)
            assert got.exit_code == 0, (got.output, got.exception)
    return folder


@pytest.fixture()
def shared(at, made, pushed, tmp_path):
    """Copies of these folders, with their owner at work."""
    at(made.cache)
    shutil.copytree(pushed, tmp_path, dirs_exist_ok=True)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith("seconds-")
    }


def front_matter(card: Path) -> dict:
    return yaml.safe_load(card.read_text(encoding="utf-8").split("---\n")[1])


def test_what_is_pulled_is_byte_for_byte_what_was_pushed_and_probe_has_nothing_left_to_do(run, at, made, shared):
    other = at(shared / "other")
    run("pull", "--from-folder", shared / "heads")
    assert contents(other / "heads") == contents(made.cache / "heads")
    fresh = run("probe", "--model", made.model, "--head", "full", "--facts", made.facts, "--out", shared / "own").output
    assert "exists already" not in fresh
    run("pull", "--from-folder", shared / "predictions")
    for path in (made.cache / "runs").glob("predictions-*"):
        assert (other / "runs" / path.name).read_bytes() == path.read_bytes()
    for own in (shared / "own").glob("predictions-*"):
        assert own.read_bytes() == (other / "runs" / own.name).read_bytes()
    for head in ("full", "logit_lens"):
        assert "exists already" in run("probe", "--model", made.model, "--head", head, "--facts", made.facts).output
    assert "ok  runs" in run("check").output
    assert {row["head"] for row in json.loads(run("runs", "--json").stdout)} == {"full", "logit_lens"}


def test_heads_of_a_map_make_the_round_trip_too(run, at, made, tmp_path):
    cache, text = at(tmp_path / "cache"), made.facts.with_name("text.txt")
    small = ("--text", text, "--valid", text, "--positions", 200, "--epochs", 1, "--batch", 64)
    for kind in ("least_squares", "tuned_lens"):
        run("train-heads", "--model", made.model, "--head", kind, *small)
    run("push", "heads", "--model", made.model, "--to-folder", tmp_path / "shared", "--licence", "MIT")
    other = at(tmp_path / "other")
    run("pull", "--from-folder", tmp_path / "shared")
    assert contents(other / "heads") == contents(cache / "heads")
    assert {path.name for path in (other / "heads").glob("*/*")} == {"least_squares-seed0", "tuned_lens-seed0"}
    run(
        "push",
        "heads",
        "--model",
        made.model,
        "--head",
        "least_squares",
        "--to-folder",
        tmp_path / "one",
        "--licence",
        "MIT",
    )
    assert {file.path.split("/")[2] for file in read_manifest(tmp_path / "one" / MANIFEST).content} == {
        "least_squares-seed0"
    }


def test_a_second_push_and_a_second_pull_change_nothing_and_leave_nothing_behind(run, at, made, shared):
    before = {path: path.stat().st_mtime_ns for path in (shared / "heads").rglob("*.safetensors")}
    sums = {path: file_sha256(path) for path in before}
    run("push", "heads", "--model", made.model, "--to-folder", shared / "heads", "--licence", "MIT")
    assert {path: file_sha256(path) for path in before} == sums
    other = at(shared / "other")
    for _ in range(2):
        run("pull", "--from-folder", shared / "predictions")
    assert not [path for path in other.rglob("*") if path.suffix in (".tmp", ".part")]
    assert [path.name for path in (other / "hub" / "incoming").iterdir() if path.is_dir()] == []


def test_the_revision_is_resolved_shown_and_pinned(run, at, made, shared):
    other = at(shared / "other")
    shown = run("pull", "--from-folder", shared / "heads").output
    (note,) = (other / "hub" / "pulled").glob("*.json")
    pin = json.loads(note.read_text())
    assert pin["commit"] in shown and len(pin["commit"]) == 40
    assert pin["files"] == {file.path: file.sha256 for file in read_manifest(shared / "heads" / MANIFEST).files}
    # The owner changes the folder: who pulled before is told, and moves on by name only.
    at(made.cache)
    run("push", "heads", "--model", made.model, "--to-folder", shared / "heads", "--licence", "CC0-1.0")
    at(other)
    with pytest.raises(HubError, match=f"expected {pin['commit']}.*pull that with --revision main"):
        run("pull", "--from-folder", shared / "heads")
    run("pull", "--from-folder", shared / "heads", "--revision", "main")
    assert json.loads(note.read_text())["commit"] != pin["commit"]


def test_the_cards_say_licence_language_recipe_losses_runs_and_columns(made, shared):
    said = front_matter(shared / "heads" / "README.md")
    assert (said["license"], said["language"], said["library_name"]) == ("mit", "en", "bertnesia-explorer")
    text = (shared / "heads" / "README.md").read_text()
    assert '"learning_rate": 0.0005' in text and "replicate with seed 3" in text
    assert sum(line.startswith(f"| {layer} |") for layer in range(3) for line in text.splitlines()) == 4, (
        "three layers and a replicate"
    )
    said = front_matter(shared / "predictions" / "README.md")
    names = {config["config_name"]: config["data_files"] for config in said["configs"]}
    for table, pattern in names.items():
        assert list((shared / "predictions").glob(pattern)), f"the viewer finds no files of {table}"
    assert {"predictions", "facts", "runs", "vocabulary", "relations"} <= set(names)
    text = (shared / "predictions" / "README.md").read_text()
    for path in (made.cache / "runs").glob("runs-*.parquet"):
        assert f"`{path.stem.removeprefix('runs-')}`" in text
    assert "`gold_rank`" in text


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("what", ["heads", "predictions"])
@pytest.mark.parametrize("fault", ["one bit", "cut short", "missing", "foreign", "manifest cut short", "no manifest"])
def test_what_is_damaged_or_foreign_is_refused_by_name_and_nothing_is_placed(what, fault, run, at, shared):
    other = at(shared / "other")
    folder = shared / what
    victim = sorted(folder.rglob("*.safetensors" if what == "heads" else "predictions-*.parquet"))[-1]
    name = victim.name
    if fault == "one bit":
        damage(victim)
    elif fault == "cut short":
        victim.write_bytes(victim.read_bytes()[:-7])
    elif fault == "missing":
        victim.unlink()
    elif fault == "foreign":
        name = f"{victim.stem}-of-a-stranger{victim.suffix}"
        shutil.copyfile(victim, victim.with_name(name))
    else:
        manifest, name = folder / MANIFEST, MANIFEST
        manifest.write_bytes(manifest.read_bytes()[:100])
        if fault == "no manifest":
            manifest.unlink()
    with pytest.raises(HubError, match=name):
        run("pull", "--from-folder", folder)
    assert not (other / "heads").exists() and not (other / "runs").exists()


@pytest.mark.parametrize(
    "path", ["../outside.safetensors", "/etc/passwd", "heads/x/../../a.safetensors", "data/../x.parquet"]
)
def test_a_path_that_leads_outside_is_refused(path, run, at, shared):
    at(shared / "other")
    manifest = shared / "heads" / MANIFEST
    content = json.loads(manifest.read_text())
    content["files"].append({"path": path, "sha256": "0" * 64, "size": 1})
    manifest.write_text(json.dumps(content))
    with pytest.raises(HubError, match="nothing was taken"):
        run("pull", "--from-folder", shared / "heads")


def rewrite(folder: Path, path: str) -> None:
    """Gives a manifest the sum and the size that a file now has, as somebody would who means to deceive."""
    content = json.loads((folder / MANIFEST).read_text())
    for file in content["files"]:
        if file["path"] == path:
            file |= {"sha256": file_sha256(folder / path), "size": (folder / path).stat().st_size}
    (folder / MANIFEST).write_text(json.dumps(content))


@pytest.fixture()
def lent(run, at, made, tmp_path):
    """Pushed predictions of facts with a template, so that subjects can be swapped."""
    folder = tmp_path / "lama"
    (folder / "TREx").mkdir(parents=True)
    pairs = [("France", "Paris"), ("Germany", "Berlin"), ("Italy", "Rome")]
    (folder / "TREx" / "P36.jsonl").write_text(
        "".join(json.dumps({"sub_label": s, "obj_label": o}) + "\n" for s, o in pairs)
    )
    (folder / "relations.jsonl").write_text(
        json.dumps({"relation": "P36", "template": "The capital of [X] is [Y] ."}) + "\n"
    )
    at(tmp_path / "here")
    run("probe", "--model", made.model, "--head", "logit_lens", "--facts", folder)
    run("push", "predictions", "--model", "tiny-bert", "--to-folder", tmp_path / "lent", "--licence", "MIT")
    return tmp_path / "lent"


COUNTS = (
    "known-",
    "answer_clusters-",
    *(f"{name}_counts-" for name in ("layer", "total", "against", "inner", "swapped", "answer")),
)


def test_runs_that_an_earlier_version_pushed_without_counts_are_counted_by_the_pull(run, at, lent, tmp_path):
    content = json.loads((lent / MANIFEST).read_text())
    counts = {path.name: path.read_bytes() for path in (lent / "data").iterdir() if path.name.startswith(COUNTS)}
    for name in counts:
        (lent / "data" / name).unlink()
    content["files"] = [file for file in content["files"] if Path(file["path"]).name not in counts]
    (lent / MANIFEST).write_text(json.dumps(content))
    other = at(tmp_path / "other")
    run("pull", "--from-folder", lent)
    assert len(counts) == len(COUNTS) and {name: (other / "runs" / name).read_bytes() for name in counts} == counts


@pytest.mark.parametrize("table", ["known", "layer_counts", "total_counts", "answer_clusters"])
def test_counts_that_the_predictions_do_not_give_are_refused_though_their_sum_is_right(table, run, at, lent, tmp_path):
    (path,) = lent.rglob(f"{table}-*.parquet")
    first, *others = read_table(path, table).to_pylist()
    name = {"known": "known_layers", "layer_counts": "sum_reciprocal_rank", "total_counts": "answers"}.get(
        table, "hits_1_total"
    )
    write_table(
        table, [first | {name: first[name] + 0.5 if table == "layer_counts" else first[name] + 1}, *others], path
    )
    rewrite(lent, f"data/{path.name}")
    other = at(tmp_path / "other")
    with pytest.raises(HubError, match=f"{table}: other rows than its predictions give; .* nothing was taken"):
        run("pull", "--from-folder", lent)
    assert not (other / "runs").exists()


def test_lenders_come_with_their_run(run, at, lent, tmp_path):
    other = at(tmp_path / "other")
    run("pull", "--from-folder", lent)
    (path,) = (other / "runs").glob("lenders-*.parquet")
    assert path.read_bytes() == (tmp_path / "here" / "runs" / path.name).read_bytes()
    assert read_table(path, "lenders").num_rows == 3
    assert "ok  runs" in run("check").output


@pytest.mark.parametrize("fault", ["missing", "another run's"])
def test_lenders_that_cannot_lend_are_refused(fault, run, at, lent, tmp_path):
    (path,) = lent.rglob("lenders-*.parquet")
    rows = read_table(path, "lenders").to_pylist()
    content = json.loads((lent / MANIFEST).read_text())
    if fault == "missing":
        content["files"] = [file for file in content["files"] if not file["path"].endswith(path.name)]
        path.unlink()
    else:
        write_table("lenders", [rows[0] | {"run_id": "0" * 16}, *rows[1:]], path)
    (lent / MANIFEST).write_text(json.dumps(content))
    if path.is_file():
        rewrite(lent, f"data/{path.name}")
    words = {
        "missing": "is missing",
        "another run's": "holds rows that belong in 'lenders-0000",
    }
    other = at(tmp_path / "other")
    with pytest.raises(HubError, match=words[fault]):
        run("pull", "--from-folder", lent)
    assert not (other / "runs").exists()


def test_a_head_in_anothers_place_is_refused_though_its_sum_is_right(run, at, shared):
    other = at(shared / "other")
    folder = shared / "heads"
    first, second = sorted(folder.rglob("full-seed0/*.safetensors"))[:2]
    shutil.copyfile(first, second)
    rewrite(folder, second.relative_to(folder).as_posix())
    with pytest.raises(HubError, match=r"layer-01.*expected"):
        run("pull", "--from-folder", folder)
    assert not (other / "heads").exists()


def test_a_run_with_rows_left_out_is_refused_though_its_sum_is_right(run, at, shared):
    other = at(shared / "other")
    folder = shared / "predictions"
    path = sorted(folder.rglob("predictions-*.parquet"))[0]
    write_table("predictions", read_table(path, "predictions").slice(0, 4), path)
    rewrite(folder, path.relative_to(folder).as_posix())
    with pytest.raises(HubError, match="4 predictions, expected 9"):
        run("pull", "--from-folder", folder)
    assert not (other / "runs").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model": "bert-base-uncased"}, "is of 'bert-base-uncased', the manifest says tiny-bert"),
        ({"config": "{"}, "does not name its facts"),
    ],
)
def test_a_row_that_says_another_run_than_its_configuration_is_refused(change, said, run, at, shared):
    other = at(shared / "other")
    folder = shared / "predictions"
    path = sorted(folder.rglob("runs-*.parquet"))[0]
    write_table("runs", [read_table(path, "runs").to_pylist()[0] | change], path)
    rewrite(folder, path.relative_to(folder).as_posix())
    with pytest.raises(HubError, match=said):
        run("pull", "--from-folder", folder)
    assert not (other / "runs").exists()


def test_a_layer_that_the_model_does_not_have_is_refused(run, at, shared):
    other = at(shared / "other")
    folder = shared / "predictions"
    path = sorted(folder.rglob("predictions-*.parquet"))[0]
    rows = read_table(path, "predictions").to_pylist()
    write_table("predictions", [rows[0] | {"layer": 7}, *rows[1:]], path)
    rewrite(folder, path.relative_to(folder).as_posix())
    with pytest.raises(HubError, match=r"it has predictions of layer 7, its last is 2.*nothing was taken"):
        run("pull", "--from-folder", folder)
    assert not (other / "runs").exists()


def test_a_few_rows_with_endless_lists_are_refused_before_they_are_read(run, at, shared):
    at(shared / "other")
    folder = shared / "predictions"
    path = sorted(folder.rglob("predictions-*.parquet"))[0]
    rows = read_table(path, "predictions").to_pylist()
    write_table("predictions", [row | {"top_ids": [1] * 1001} for row in rows], path)
    rewrite(folder, path.relative_to(folder).as_posix())
    with pytest.raises(HubError, match="holds 9,009 values in a column of 9 rows"):
        run("pull", "--from-folder", folder)


def test_tokens_that_are_not_those_of_the_run_are_refused(run, at, shared):
    other = at(shared / "other")
    folder = shared / "predictions"
    (path,) = folder.rglob("vocabulary-*.parquet")
    rows = read_table(path, "vocabulary").to_pylist()
    write_table("vocabulary", [rows[0] | {"token": "gibberish"}, *rows[1:]], path)
    rewrite(folder, path.relative_to(folder).as_posix())
    with pytest.raises(HubError, match="holds tokens with the checksum"):
        run("pull", "--from-folder", folder)
    assert not (other / "runs").exists()


def changed_head(folder: Path, number: int, change=dict, **said: str) -> None:
    """Changes the weights of a head, or what it says of itself; all sums are right again."""
    path = sorted(folder.rglob("full-seed0/*.safetensors"))[number]
    tensors = change(load_file(path))
    own = {"crc32": sum_of({name: tensor.numpy() for name, tensor in tensors.items()})}
    identity = vars(read_identity(path)) | own | said
    path.unlink()
    save_file(tensors, path, metadata={IDENTITY: json.dumps(identity)})
    rewrite(folder, path.relative_to(folder).as_posix())


@pytest.mark.parametrize(
    ("field", "text", "said"),
    [("recipe", text, r"layer-00.*no recipe") for text in ("{", "[1]", "3", "{}")]
    + [("validation", text, r"layer-00.*no validation losses") for text in ("x", "[]", "[[0]]", "7")],
)
def test_a_head_without_a_readable_recipe_or_losses_is_refused_by_name(field, text, said, run, at, shared):
    other = at(shared / "other")
    changed_head(shared / "heads", 0, **{field: text})
    with pytest.raises(HubError, match=said):
        run("pull", "--from-folder", shared / "heads")
    assert not (other / "heads").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda tensors: {name: tensor * float("nan") for name, tensor in tensors.items()}, "layer-01.*not finite"),
        (
            lambda tensors: {name: tensor[: len(tensor) // 2].clone() for name, tensor in tensors.items()},
            "2 different shapes",
        ),
        (lambda tensors: dict(list(tensors.items())[1:]), "2 different shapes"),
        (
            lambda tensors: {name: tensor.int() for name, tensor in tensors.items()},
            "layer-01.*is in int32, expected float32 or float16",
        ),
    ],
)
def test_heads_that_no_training_made_are_refused_though_their_sums_are_right(change, said, run, at, shared):
    other = at(shared / "other")
    changed_head(shared / "heads", 1, change)
    with pytest.raises(HubError, match=said):
        run("pull", "--from-folder", shared / "heads")
    assert not (other / "heads").exists()


def test_a_set_of_heads_with_a_gap_is_refused(run, at, shared):
    other = at(shared / "other")
    folder = shared / "heads"
    gone = sorted(folder.rglob("full-seed0/*.safetensors"))[1]
    gone.unlink()
    content = json.loads((folder / MANIFEST).read_text())
    content["files"] = [file for file in content["files"] if file["path"] != gone.relative_to(folder).as_posix()]
    (folder / MANIFEST).write_text(json.dumps(content))
    with pytest.raises(HubError, match="none of layer 1; nothing was taken"):
        run("pull", "--from-folder", folder)
    assert not (other / "heads").exists()


def test_facts_with_other_answers_are_refused_and_never_stand_in_for_ones_own(run, at, made, shared):
    other = at(shared / "other")
    folder = shared / "predictions"
    path = sorted(folder.rglob("facts-*.parquet"))[0]
    true = read_table(path, "facts")
    write_table("facts", [row | {"object": "elsewhere"} for row in true.to_pylist()], path)
    rewrite(folder, path.relative_to(folder).as_posix())
    with pytest.raises(HubError, match="has another id; nothing was taken"):
        run("pull", "--from-folder", folder)
    assert not (other / "runs").exists()
    at(made.cache)
    own = made.cache / "runs" / path.name
    before = own.read_bytes()
    shutil.copyfile(path, own)
    run("probe", "--model", made.model, "--facts", made.facts, "--head", "logit_lens")
    assert own.read_bytes() == before


def test_a_manifest_that_lists_nothing_is_refused_in_one_line(run, at, shared):
    at(shared / "other")
    manifest = shared / "heads" / MANIFEST
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"files": []}))
    with pytest.raises(HubError, match="it lists no heads; nothing was taken") as refused:
        run("pull", "--from-folder", shared / "heads")
    assert "\n" not in str(refused.value) and "pydantic" not in str(refused.value)


def test_a_push_replaces_no_share_of_something_else(run, at, made, shared):
    at(made.cache)
    before = contents(shared / "heads")
    with pytest.raises(HubError, match="holds heads of tiny-bert, which predictions of tiny-bert would replace"):
        run("push", "predictions", "--model", "tiny-bert", "--to-folder", shared / "heads", "--licence", "MIT")
    with pytest.raises(HubError, match="is a file; name a folder"):
        run("push", "heads", "--model", made.model, "--to-folder", made.facts, "--licence", "MIT")
    assert contents(shared / "heads") == before


def test_results_of_ones_own_are_never_replaced(run, at, made, shared):
    other = at(shared / "other")
    mine = next((made.cache / "heads").rglob("layer-00.safetensors"))
    target = other / mine.relative_to(made.cache)
    target.parent.mkdir(parents=True)
    target.write_bytes(b"mine")
    with pytest.raises(HubError, match="holds different heads"):
        run("pull", "--from-folder", shared / "heads")
    assert [path.name for path in target.parent.iterdir()] == [
        "layer-00.safetensors"
    ] and target.read_bytes() == b"mine"
    run("probe", "--model", made.model, "--head", "logit_lens", "--facts", made.facts)
    (row_file,) = (other / "runs").glob("runs-*.parquet")
    row_of_mine = row_file.read_bytes()
    run("pull", "--from-folder", shared / "predictions")
    assert row_file.read_bytes() == row_of_mine, "the same run, made at another time, keeps its row"
    (vocabulary,) = (other / "runs").glob("vocabulary-*.parquet")
    write_table("vocabulary", token_rows(["else"], "tiny-bert-42"), vocabulary)
    with pytest.raises(HubError, match=r"vocabulary-.*holds different rows"):
        run("pull", "--from-folder", shared / "predictions")


def test_what_is_not_there_or_not_whole_is_not_pushed(run, at, made, tmp_path, shared):
    at(tmp_path / "empty")
    with pytest.raises(HeadError, match="train-heads"):
        run("push", "heads", "--model", made.model, "--to-folder", tmp_path / "x")
    with pytest.raises(StoreError, match="probing probe --model tiny-bert"):
        run("push", "predictions", "--model", "tiny-bert", "--to-folder", tmp_path / "x")
    copy = at(tmp_path / "copy")
    shutil.copytree(made.cache, copy)
    path = next((copy / "runs").glob("predictions-*"))
    write_table("predictions", read_table(path, "predictions").slice(0, 4), path)
    with pytest.raises(StoreError, match="4 predictions, expected 9"):
        run("push", "predictions", "--model", "tiny-bert", "--to-folder", tmp_path / "x")
    assert not (tmp_path / "x").exists()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("years of work")
    at(made.cache)
    with pytest.raises(HubError, match=r"thesis\.txt"):
        run("push", "heads", "--model", made.model, "--to-folder", tmp_path / "full")
