"""``push`` and ``pull``: every kind of run, and heads, make the round trip; no share of somebody else is trusted."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

from probing.heads.files import IDENTITY, read_identity
from probing.kernel.errors import HeadError, HubError, StoreError
from probing.kernel.fact import Fact
from probing.kernel.files import cache_folder, file_sha256, pulled_folders, result_folders
from probing.kernel.models.arrays import sum_of
from probing.kernel.registry import REPOSITORY
from probing.kernel.store.check import check_store
from probing.kernel.store.columns import TABLES
from probing.kernel.store.parquet import files_of, read_table, table_of, write_table
from probing.kernel.store.seals import sums
from probing.main import app
from probing.sharing.card import MADE_BY
from probing.sharing.share import MANIFEST, _strange_ids, described, read_manifest
from probing.subjects import SHARED_AS, kinds_of
from tests.kernel.test_every_kind import CHANGES, EDGES, FORGETTING, PLANT, SENTENCES, SERIES
from tests.planted_relatives import BASE, COLA
from tests.sentences_planted import BIGRAM, ODD, PlantedSentenceRun, PlantedTask, plant_sentence_runs

MODELS = {EDGES: "nesia-mini", SENTENCES: BASE.name, CHANGES: COLA.name, FORGETTING: COLA.name, SERIES: COLA.name}
OWN = PlantedTask("my-reviews", "own", ("bad", "good"), True, (100, 130, 140, 150, 130), (104, 140, 150, 180, 140))
SNAPSHOT = REPOSITORY / "data" / "snapshot"


def called(*words: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def probed(tiny_model: Path, folder: Path) -> None:
    """Heads, and runs on LAMA's layout, so that subjects can be swapped."""
    text = folder / "text.txt"
    text.write_text("The capital of France is Paris and the sun is red and the moon is blue in the city .\n" * 1800)
    (folder / "lama" / "TREx").mkdir(parents=True)
    pairs = [("France", "Paris"), ("Germany", "Berlin"), ("Italy", "Rome")]
    lines = [json.dumps({"sub_label": subject, "obj_label": answer}) for subject, answer in pairs]
    (folder / "lama" / "TREx" / "P36.jsonl").write_text("\n".join(lines) + "\n")
    relation = {"relation": "P36", "template": "The capital of [X] is [Y] ."}
    (folder / "lama" / "relations.jsonl").write_text(json.dumps(relation) + "\n")
    learning = ["--text", text, "--valid", text, "--positions", 200, "--epochs", 1, "--batch", 64]
    called("train-heads", "--model", tiny_model, "--head", "full", *learning)
    called("train-heads", "--model", tiny_model, "--head", "full", "--seed", 3, *learning)
    for head in ("full", "logit_lens"):
        called("probe", "--model", tiny_model, "--head", head, "--facts", folder / "lama")


@pytest.fixture(scope="module")
def shares(tiny_model, tmp_path_factory) -> Path:
    """A share in a folder for every kind, ``predictions`` and ``heads``, whose owner is ``owner-KIND``."""
    return make_shares(tmp_path_factory.mktemp("shares"), tiny_model)


def make_shares(folder: Path, tiny_model: Path) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        for kind in (*MODELS, "predictions"):
            owner = folder / f"owner-{kind}"
            patch.setenv("PROBING_CACHE", str(owner / "cache"))
            patch.setenv("PROBING_SNAPSHOT", str(owner / "snapshot"))
            if kind == "predictions":
                owner.mkdir()
                probed(tiny_model, owner)
                called("push", "heads", "--model", tiny_model, "--to-folder", folder / "heads", "--licence", "MIT")
            else:
                PLANT[kind](owner / "snapshot")
            what, model = (SHARED_AS[kind], MODELS[kind]) if kind in MODELS else (kind, "tiny-bert")
            called("push", what, "--model", model, "--to-folder", folder / kind, "--licence", "MIT")
    return folder


@pytest.fixture()
def share(shares, at, tmp_path) -> Callable[[str], Path]:
    """A copy of the share of a kind; its taker has no results."""

    def copied(kind: str) -> Path:
        at(tmp_path / "taker")
        return shutil.copytree(shares / kind, tmp_path / kind)

    return copied


def every_row(table: str, folders: list[Path], model: str) -> list[str]:
    """The rows of a model's runs in a table, in some order; its runs' times and devices are those of the first."""
    kind = next(kind for what in everything() for kind in kinds_of(what) if table in {one.name for one in kind.tables})
    runs = [row for folder in folders for path in files_of(kind.runs, folder) for row in rows_in(path, kind.runs)]
    mine = {row["run_id"] for row in runs if row["model"] == model}
    found = [row for folder in folders for path in files_of(table, folder) for row in rows_in(path, table)]
    return sorted(str(row) for row in found if row["run_id"] in mine)


def everything() -> set[str]:
    return set(SHARED_AS.values())


def rows_in(path: Path, table: str) -> list[dict]:
    return read_table(path, table).to_pylist()


def of_runs(what: str) -> list[str]:
    return [table.name for kind in kinds_of(what) for table in kind.tables if table.per == "run_id"]


def seen(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("kind", [*MODELS, "predictions"])
def test_runs_come_back_row_by_row_with_a_short_card(kind, shares, share, run):
    folder = share(kind)
    manifest = read_manifest(folder, "")
    run("pull", "--from-folder", folder)
    (pulled,) = pulled_folders()
    assert check_store(result_folders()) == []
    owner = [
        path
        for path in (shares / f"owner-{kind}" / "cache" / "runs", shares / f"owner-{kind}" / "snapshot")
        if path.is_dir()
    ]
    compared = [table for table in of_runs(manifest.what) if every_row(table, owner, manifest.model)]
    for table in compared:
        assert every_row(table, [pulled], manifest.model) == every_row(table, owner, manifest.model)
    assert len(compared) > 2
    card = (folder / "README.md").read_text(encoding="utf-8")
    said = yaml.safe_load(card.split("---\n")[1])
    assert card.count("\n") <= 60 and said["license"] == "mit" and f"of {manifest.model}\n" in card
    assert all(list(folder.glob(one["data_files"])) for one in said["configs"])
    before = seen(pulled)
    run("pull", "--from-folder", folder)
    assert seen(pulled) == before and not list((cache_folder() / "hub" / "incoming").glob("*/"))
    first(pulled, f"{compared[0]}-*").unlink()
    first(pulled, f"{compared[1]}-*").write_bytes(b"damaged")
    run("pull", "--from-folder", folder)
    assert seen(pulled).keys() == before.keys() and check_store(result_folders()) == []


@pytest.mark.parametrize(
    ("what", "model"),
    [
        ("edges", "nesia-mini-control"),
        ("sentences", "nesia-mini-cola"),
        ("forgetting", "nesia-mini-control"),
        # Of this one only a part ships.
        ("forgetting", "nesia-mini-ner-conll-freeze-4-seed-1"),
    ],
)
def test_what_ships_is_shared_though_many_runs_have_one_file(what, model, at, run, tmp_path):
    at(tmp_path)
    run("push", what, "--model", model, "--runs", SNAPSHOT, "--to-folder", tmp_path / "shared", "--licence", "MIT")
    run("pull", "--from-folder", tmp_path / "shared")
    for table in of_runs(what):
        assert every_row(table, pulled_folders(), model) == every_row(table, [SNAPSHOT], model), table


def test_pulled_heads_and_runs_are_used_and_not_made_again(share, shares, run, tiny_model):
    heads = share("heads")
    run("pull", "--from-folder", heads)
    owner = shares / "owner-predictions"
    for path in heads.rglob("*.safetensors"):
        assert (cache_folder() / path.relative_to(heads)).read_bytes() == path.read_bytes()
    words = ("probe", "--model", tiny_model, "--head", "full", "--facts", owner / "lama")
    assert "exists already" not in run(*words, "--out", owner.parent / "again").output
    run("pull", "--from-folder", share("predictions"))
    assert "exists already" in run(*words).output
    assert {row["head"] for row in json.loads(run("runs", "--json").stdout)} == {"full", "logit_lens"}
    assert check_store(result_folders()) == []
    (first, *_) = json.loads(run("runs", "--json").stdout)
    run("delete", "run", first["run_id"], "--yes")
    assert len(json.loads(run("runs", "--json").stdout)) == 1


def test_ones_own_runs_are_pushed_and_pulled_ones_if_their_folder_is_named(share, shares, run, tmp_path):
    folder = share("predictions")
    run("pull", "--from-folder", folder)
    words = ("push", "predictions", "--model", "tiny-bert", "--licence", "MIT", "--to-folder")
    with pytest.raises(
        StoreError, match="no runs and no ranks among candidates and no runs on what is carried of tiny-bert"
    ):
        run(*words, tmp_path / "own")
    run(*words, tmp_path / "again", "--runs", *pulled_folders())
    assert {path.name: path.read_bytes() for path in (tmp_path / "again" / "data").iterdir()} == {
        path.name: path.read_bytes() for path in (folder / "data").iterdir()
    }
    (foreign,) = (row["run_id"] for row in json.loads(run("runs", "--json").stdout) if row["head"] == "full")
    of_another = shutil.ignore_patterns(f"*{foreign}*")
    shutil.copytree(shares / "owner-predictions" / "cache" / "runs", cache_folder() / "runs", ignore=of_another)
    run(*words, tmp_path / "own")
    (path,) = files_of("runs", tmp_path / "own")
    assert foreign not in path.name


def test_the_revision_of_a_folder_is_pinned(share, run):
    folder = share(FORGETTING)
    run("pull", "--from-folder", folder)
    (note,) = (cache_folder() / "hub" / "pulled").glob("*.json")
    first = json.loads(note.read_text())["commit"]
    change(folder, "forgetting_runs", device="another")
    with pytest.raises(HubError, match=rf"expected {first}.*pull that with --revision main"):
        run("pull", "--from-folder", folder)
    run("pull", "--from-folder", folder, "--revision", "main")
    (pulled,) = pulled_folders()
    (path,) = pulled.rglob("forgetting_runs-*")
    assert (
        json.loads(note.read_text())["commit"] != first and rows_in(path, "forgetting_runs")[0]["device"] == "another"
    )


def test_shares_whose_names_differ_in_a_sign_are_kept_apart(share, run, tmp_path):
    folders = [share(kind).rename(tmp_path / name) for kind, name in ((FORGETTING, "Ä"), (SERIES, "Ö"))]
    for folder in folders:
        run("pull", "--from-folder", folder)
        run("pull", "--from-folder", folder, "--what", "forgetting")
    assert len(pulled_folders()) == len(list((cache_folder() / "hub" / "pulled").iterdir())) == 2


def test_runs_that_were_pushed_without_counts_are_counted(share, run):
    folder = share("predictions")
    counts = [
        path for path in (folder / "data").iterdir() if "counts" in path.name or path.name.startswith(("known", "ans"))
    ]
    before = {path.name: path.read_bytes() for path in counts}
    for path in counts:
        path.unlink()
    seal(folder)
    run("pull", "--from-folder", folder)
    (pulled,) = pulled_folders()
    assert len(before) > 8 and all((pulled / "data" / name).read_bytes() == rows for name, rows in before.items())


def test_words_are_shared_only_where_the_licence_of_a_built_in_task_allows_it(at, run, tmp_path):
    at(tmp_path)
    plant_sentence_runs(tmp_path / "snapshot", [PlantedSentenceRun(COLA, task) for task in (BIGRAM, ODD, OWN)])
    words = ("push", "sentences", "--model", COLA.name, "--to-folder", tmp_path / "shared")
    with pytest.raises(HubError, match=r"my-reviews, whose data are not this project's.*--licence"):
        run(*words)
    run(*words, "--licence", "MIT")
    texts = {
        task: {row["text"] for row in rows_in(path, "sentence_examples")}
        for task in (BIGRAM, ODD, OWN)
        for path in (tmp_path / "shared").rglob(f"sentence_examples-{task.name}-*")
    }
    assert texts[BIGRAM] == texts[OWN] == {None} and None not in texts[ODD]
    assert "bigram-shift: not to be shown" in (tmp_path / "shared" / "README.md").read_text()
    at(tmp_path / "taker")
    plant_sentence_runs(tmp_path / "taker" / "snapshot", [PlantedSentenceRun(BASE, OWN)])
    run("pull", "--from-folder", tmp_path / "shared")
    assert check_store(result_folders()) == [], "whose own words stay"


def test_what_is_not_there_or_not_whole_is_not_pushed(shares, at, run, tiny_model, tmp_path):
    at(tmp_path)
    out = ("--to-folder", tmp_path / "shared")
    with pytest.raises(HeadError, match="train-heads"):
        run("push", "heads", "--model", tiny_model, *out)
    with pytest.raises(StoreError, match="no recoveries of lost facts and no series of tiny-bert"):
        run("push", "forgetting", "--model", "tiny-bert", *out)
    for lost, said in (
        ("edge_targets-srl*", "lacks edge_targets-srl"),
        ("edge_mix-*", r"edge_mix has the layers \[\]"),
    ):
        shutil.rmtree(tmp_path / "snapshot", ignore_errors=True)
        shutil.copytree(shares / f"owner-{EDGES}" / "snapshot", tmp_path / "snapshot")
        for path in (tmp_path / "snapshot").rglob(lost):
            path.unlink()
        with pytest.raises(StoreError, match=said):
            run("push", "edges", "--model", "nesia-mini", *out, "--licence", "MIT")
    shutil.copytree(shares / "owner-predictions" / "cache", tmp_path / "cache", dirs_exist_ok=True)
    with pytest.raises(HubError, match=r"trex with the prompts .*--licence"):
        run("push", "predictions", "--model", "tiny-bert", *out)
    assert not (tmp_path / "shared").exists() and not list((tmp_path / "cache" / "hub" / "outgoing").glob("*/"))


def test_a_push_replaces_its_own_share_only(shares, at, share, run, tmp_path):
    heads = share("heads")
    at(shares / f"owner-{FORGETTING}")
    words = ("push", "forgetting", "--model", COLA.name, "--licence", "MIT", "--to-folder")
    with pytest.raises(HubError, match="holds heads of tiny-bert, which forgetting of planted-cola would replace"):
        run(*words, heads)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("years of work")
    with pytest.raises(HubError, match=r"thesis\.txt"):
        run(*words, tmp_path / "full")
    for card, name in (("My notes", "data/runs.parquet"), (None, "data/runs.parquet"), (MADE_BY, "data/notes.txt")):
        other = tmp_path / f"{card}-{Path(name).stem}"
        (other / "data").mkdir(parents=True)
        (other / name).write_text("years of work")
        if card:
            (other / "README.md").write_text(card)
        with pytest.raises(HubError, match=r"holds .* and no manifest\.json"):
            run(*words, other)
        assert (other / name).read_text() == "years of work"
    mine = shutil.copytree(shares / FORGETTING, tmp_path / "mine")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("probing.kernel.files.rename_folder", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        run(*words, mine, code=130)
    assert [path.name for path in mine.iterdir()] == ["README.md"]
    run(*words, mine)
    (mine / "notes.txt").write_text("kept")
    (mine / "data" / "forgetting_runs-0000.parquet").write_text("of an earlier push")
    run(*words, mine)
    before = (mine / MANIFEST).read_bytes()
    run(*words, mine)
    assert (mine / "notes.txt").is_file() and not (mine / "data" / "forgetting_runs-0000.parquet").exists()
    assert (mine / MANIFEST).read_bytes() == before


def test_heads_of_ones_own_are_never_replaced(share, run):
    heads = share("heads")
    path = next(heads.rglob("layer-00.safetensors"))
    mine = cache_folder() / path.relative_to(heads)
    mine.parent.mkdir(parents=True)
    mine.write_bytes(b"mine")
    with pytest.raises(HubError, match="holds different heads"):
        run("pull", "--from-folder", heads)
    assert [one.read_bytes() for one in mine.parent.iterdir()] == [b"mine"]


def seal(folder: Path) -> None:
    """Writes the manifest again, as somebody would who means to deceive."""
    old = read_manifest(folder, "")
    (folder / MANIFEST).write_text(described(folder, old.what, old.model, old.weights).model_dump_json())


def first(folder: Path, name: str) -> Path:
    return sorted(folder.rglob(name))[0]


def change(folder: Path, table: str, rows: Callable[[list[dict]], list[dict]] | None = None, **values) -> None:
    """Other rows, or other values in the first one, of the first file of a table."""
    path = first(folder, f"{table}-*.parquet")
    old = rows_in(path, table)
    write_table(table, rows(old) if rows else [old[0] | values, *old[1:]], path)
    seal(folder)


def rewrite(folder: Path, table: str, change: Callable[[pa.Table], pa.Table], **marks: str) -> None:
    """Another table or other marks in the first file of a table."""
    path = first(folder, f"{table}-*.parquet")
    found = pq.ParquetFile(path)
    kept = {**found.metadata.metadata, **{f"probing.{name}".encode(): text.encode() for name, text in marks.items()}}
    rows = change(found.read())
    with pq.ParquetWriter(path, rows.schema, store_schema=False, write_page_checksum=True) as writer:
        writer.write_table(rows)
        writer.add_key_value_metadata(kept)
    seal(folder)


def repeated_text(rows: pa.Table) -> pa.Table:
    """600,000 rows, with a text of 2,000 letters in each that the file has once."""
    rows = rows.take(pa.array([0] * 600_000))
    long = pa.DictionaryArray.from_arrays(pa.array([0] * len(rows), pa.int32()), ["x" * 2000])
    return rows.set_column(rows.column_names.index("run_id"), pa.field("run_id", long.type, nullable=False), long)


def ends_the_reader(folder: Path) -> None:
    """A column has another type in the description of its bytes than in the schema."""
    rewrite(folder, "edge_mix", change=lambda rows: rows)
    path = first(folder, "edge_mix-*.parquet")
    content = path.read_bytes()
    at = content.rindex(b"\x15\x02\x19")
    path.write_bytes(content[:at] + b"\x15\x12\x19" + content[at + 3 :])
    seal(folder)


def no_text(rows: pa.Table) -> pa.Table:
    names = pa.array([b"\xff\xfe"] * len(rows)).cast(pa.string(), safe=False)
    return rows.set_column(0, rows.schema.field(0), names)


def parts(rows: pa.Table) -> pa.Table:
    """A text that is a structure."""
    texts = pa.array([{"part": text} for text in rows.column(0).to_pylist()])
    return rows.set_column(0, pa.field(rows.column_names[0], texts.type, nullable=False), texts)


def lose(folder: Path, name: str) -> None:
    first(folder, name).unlink()
    seal(folder)


def manifest(folder: Path, **values: object) -> None:
    old = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps(old | values))


def flip(folder: Path, name: str) -> None:
    path = first(folder, name)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def head(folder: Path, tensors: Callable[[dict], dict] = dict, **said: str) -> None:
    """Other weights of a head, or other words of it about itself; its checksum is right again."""
    path = first(folder, "full-seed0/layer-01.safetensors")
    new = tensors(load_file(path))
    own = {"crc32": sum_of({name: tensor.numpy() for name, tensor in new.items()})}
    identity = vars(read_identity(path)) | own | said
    path.unlink()
    save_file(new, path, metadata={IDENTITY: json.dumps(identity)})
    seal(folder)


def deep_identity(folder: Path) -> None:
    path = first(folder, "full-seed0/layer-01.safetensors")
    tensors = load_file(path)
    path.unlink()
    save_file(tensors, path, metadata={IDENTITY: "[" * 100_000})
    seal(folder)


def contradict(folder: Path, table: str, **values: object) -> None:
    """The taker has other rows with the same keys."""
    path = first(folder, f"{table}-*.parquet")
    rows = [row | values for row in rows_in(path, table)]
    write_table(table, rows, cache_folder() / "runs" / ("relations.parquet" if table == "relations" else path.name))


P, SUMS = "predictions", "0" * 64
ATTACKS: dict[str, tuple[str, Callable[[Path], None], str]] = {
    "a text bomb": (
        FORGETTING,
        partial(change, table="forgetting_shares", asked="a" * 200_000),
        "200,000 bytes in one text",
    ),
    "a text that a file has once": (
        EDGES,
        partial(rewrite, table="edge_scores", change=repeated_text),
        "1,0..,...,... bytes of text",
    ),
    "a list bomb": (
        P,
        partial(change, table=P, rows=lambda rows: [row | {"top_ids": [1] * 1001} for row in rows]),
        "holds 9,009 values in a column of 9 rows",
    ),
    "more labels than any task": (
        EDGES,
        partial(
            change,
            table="edge_labels",
            rows=lambda rows: rows + [rows[0] | {"label": n, "name": str(n)} for n in range(len(rows), 1001)],
        ),
        "1,001 rows, expected at most 1,000",
    ),
    "an impossible value": (FORGETTING, partial(change, table="forgetting_shares", n=4_000_000_000), "n is 4000000000"),
    "bytes that are no text": (
        EDGES,
        partial(rewrite, table="edge_mix", change=no_text),
        "cannot read edge_mix-.*utf-8",
    ),
    "a footer that ends its reader": (EDGES, ends_the_reader, "edge_mix-.*ends the process that reads it .SIGABRT"),
    "another prompt": (P, partial(change, table="facts", prompt="[MASK] is mine."), "not as its template says"),
    "a text with parts": (EDGES, partial(rewrite, table="edge_mix", change=parts), "cannot read .*edge_mix"),
    "a newer table": (
        EDGES,
        partial(rewrite, table="edge_mix", change=lambda rows: rows, schema_version="99"),
        "schema version 99.*update",
    ),
    "a lost column": (
        EDGES,
        partial(rewrite, table="edge_mix", change=lambda rows: rows.drop_columns(["gamma"])),
        "has the columns",
    ),
    "another table": (
        EDGES,
        lambda folder: (
            shutil.copy(first(folder, "edge_mix-*"), folder / "data" / "edge_codes-x.parquet"),
            seal(folder),
        ),
        "holds the table 'edge_mix'",
    ),
    "a foreign table": (
        EDGES,
        lambda folder: (shutil.copy(first(folder, "edge_mix-*"), folder / "data" / "other-x.parquet"), seal(folder)),
        "named after no shared table",
    ),
    "a row twice": (EDGES, partial(change, table="edge_mix", rows=lambda rows: rows + rows[:1]), "repeat the key"),
    "a layer too few": (EDGES, lambda folder: lose(folder, "edge_mix-*"), "edge_mix has the layers"),
    "another run's rows": (SERIES, partial(change, table="series_counts", run_id="0" * 16), "rows that belong in"),
    "steering signs": (SERIES, partial(change, table="series_counts", run_id="\x1b[2J" + "b" * 1900), "belong in"),
    "another model": (SENTENCES, partial(change, table="sentence_runs", model="another"), "is of 'another'"),
    "an unknown label": (
        SENTENCES,
        partial(change, table="sentence_predictions", predicted=[7] * 200),
        "label number 7",
    ),
    "no configuration": (P, partial(change, table="runs", config="{"), "does not name its facts"),
    "predictions left out": (P, partial(change, table=P, rows=lambda rows: rows[:4]), "4 predictions, expected 9"),
    "other counts": (P, partial(change, table="layer_counts", sum_reciprocal_rank=0.01), "than its predictions give"),
    "other answers": (P, partial(change, table="facts", object="elsewhere"), "which has another id"),
    "other tokens": (P, partial(change, table="vocabulary", token="gibberish"), "tokens with the checksum"),
    "no facts": (P, lambda folder: lose(folder, "facts-*"), "facts-.* is missing"),
    "other labels here": (P, partial(contradict, table="relations", label="<b>"), "relations-.*rows differ from"),
    "other vocabulary here": (P, partial(contradict, table="vocabulary", text="berlin"), "vocabulary-.*rows differ"),
    "other task here": (EDGES, partial(contradict, table="edge_tasks", licence="other"), "edge_tasks-.*rows differ"),
    "a missing file": (P, lambda folder: first(folder, "facts-*").unlink(), "lacks data/facts-.*ask its owner"),
    "one bit": (P, partial(flip, name="predictions-*"), r"predictions-.*has sha256 .* 1 of \d+ files are damaged"),
    "a path outside": (
        P,
        partial(manifest, files=[{"path": "data/../x.parquet", "sha256": SUMS, "size": 1}]),
        "is none of",
    ),
    "no files": (P, partial(manifest, files=[]), "it lists no predictions"),
    "a newer format": (P, partial(manifest, format=2), "this version of .* writes: format"),
    "an impossible name": (P, partial(manifest, model="`b`\x1b[2J"), "got the model .* expected up to 200 letters"),
    "deep JSON": (P, lambda folder: (folder / MANIFEST).write_text("[" * 100_000), "is not what"),
    "another layer's head": (
        "heads",
        lambda folder: (
            shutil.copy(first(folder, "full-seed0/layer-00*"), first(folder, "full-seed0/layer-01*")),
            seal(folder),
        ),
        "layer-01.*expected",
    ),
    "a gap": ("heads", lambda folder: lose(folder, "full-seed0/layer-01*"), "none of layer 1"),
    "no recipe": ("heads", partial(head, recipe="{"), "layer-01.*no recipe"),
    "no losses": ("heads", partial(head, validation="[[0]]"), "layer-01.*no validation losses"),
    "a deep recipe": ("heads", partial(head, recipe="[" * 100_000), "layer-01.*no recipe"),
    "an infinite number": ("heads", partial(head, starts='{"positions": 1e999}'), "layer-01.*no validation losses"),
    "a deep identity": ("heads", deep_identity, "no identity of a head"),
    "no numbers": (
        "heads",
        partial(head, tensors=lambda old: {name: one * float("nan") for name, one in old.items()}),
        "layer-01.*not finite",
    ),
    "other numbers": ("heads", partial(head, tensors=lambda old: {n: one.int() for n, one in old.items()}), "int32"),
    "other shapes": ("heads", partial(head, tensors=lambda old: dict(list(old.items())[1:])), "2 different shapes"),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_a_share_that_no_push_made_is_refused_in_one_line_and_nothing_is_taken(name, share, run):
    kind, attack, said = ATTACKS[name]
    folder = share(kind)
    attack(folder)
    own = seen(cache_folder())
    with pytest.raises(HubError, match=said) as refused:
        run("pull", "--from-folder", folder)
    message = str(refused.value)
    assert "nothing was taken" in message and "\n" not in message and "\x1b" not in message and len(message) < 700
    assert pulled_folders() == [] and not (cache_folder() / "heads").exists()
    assert {name: time for name, time in seen(cache_folder()).items() if name.endswith(".parquet")} == own


def test_texts_are_refused_by_their_sum_over_all_files(share, run, monkeypatch):
    monkeypatch.setattr("probing.sharing.share.MAX_TEXT", 5_000)
    with pytest.raises(HubError, match="bytes of text, with the files before it, expected at most 5,000"):
        run("pull", "--from-folder", share(FORGETTING))


def test_the_tables_of_a_pulled_share_are_written_again_with_their_sums_in_its_manifest(share, run):
    folder = share(EDGES)
    rewrite(folder, "edge_mix", change=lambda rows: rows)
    run("pull", "--from-folder", folder)
    (pulled,) = pulled_folders()
    listed = {file["path"]: file["sha256"] for file in json.loads((pulled / MANIFEST).read_text())["files"]}
    for path in pulled.rglob("*.parquet"):
        now, sealed = sums(path)
        assert now == sealed and listed[path.relative_to(pulled).as_posix()] == file_sha256(path)
        assert rows_in(path, str(table_of(path))) == rows_in(first(folder, path.name), str(table_of(path)))
    before = seen(pulled)
    run("pull", "--from-folder", folder)
    assert seen(pulled) == before and check_store(result_folders()) == []


def test_the_id_of_a_fact_among_candidates_follows_from_a_template_of_its_prompt(tmp_path):
    templated = Fact("cities", "river", "Spree", "Berlin", "[X] is in [Y], says [X]", "Spree is in [MASK], says Spree")
    facts = [
        replace(templated, template="[X] is in [Y].", prompt="Spree is in [MASK]."),
        Fact("cities", "river", "", "Rome", "It is in [MASK].", "It is in [MASK]."),
        Fact("cities", "river", "Po", "Rome", "Po flows to [Y]; [X].", "Po flows to [MASK]; Po."),
    ]
    numbers = {"pieces": 1, "candidates": 2, "filtered": 0, "fewer_pieces": 0, "equal_pieces": 2}
    told = ("fact_id", "relation", "subject", "object", "prompt", "answer_in_subject")
    listed = [{"run_id": "0" * 16, **numbers} | {name: getattr(fact, name) for name in told} for fact in facts]
    run_row = {"run_id": "0" * 16, "probe_set": "cities"}
    path = tmp_path / f"candidate_facts-{'0' * 16}.parquet"
    write_table("candidate_facts", listed, path)
    assert not list(_strange_ids(run_row, tmp_path))
    for name in ("subject", "object", "prompt", "relation"):
        write_table("candidate_facts", [listed[0] | {name: "else"}, *listed[1:]], path)
        (problem,) = _strange_ids(run_row, tmp_path)
        assert listed[0]["fact_id"] in problem and "which has another id" in problem


def test_a_pull_that_is_killed_leaves_nothing_under_a_final_name(share, run, monkeypatch):
    folder = share(FORGETTING)
    for step in ("first_problem", "rename_folder"):
        with monkeypatch.context() as patch:
            patch.setattr(f"probing.sharing.pull.{step}", lambda *given: (_ for _ in ()).throw(KeyboardInterrupt))
            run("pull", "--from-folder", folder, code=130)
        assert pulled_folders() == []
    run("pull", "--from-folder", folder)
    assert len(pulled_folders()) == 1 and check_store(result_folders()) == []


def test_a_newer_share_replaces_the_older_by_any_name_of_its_folder_also_after_a_kill(share, run, monkeypatch):
    folder = share("predictions")
    run("pull", "--from-folder", folder)
    change(folder, "relations", label="another")
    monkeypatch.chdir(cache_folder().parent)
    again = ("pull", "--from-folder", folder, "--revision", "main", "--out", "cache/shared")
    with monkeypatch.context() as patch:
        patch.setattr("probing.sharing.pull.rename_folder", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        run(*again, code=130)
    assert pulled_folders() == []
    with pytest.raises(HubError, match="holds predictions, expected edges"):
        run(*again, "--what", "edges")
    assert len(pulled_folders()) == 1 and check_store(result_folders()) == []
    run(*again)
    assert rows_in(first(*pulled_folders(), "relations-*"), "relations")[0]["label"] == "another"


def test_out_names_the_folder_of_the_share(share, run, tmp_path):
    run("pull", "--from-folder", share(FORGETTING), "--out", tmp_path / "out")
    (folder,) = (tmp_path / "out").iterdir()
    tables = {str(table_of(path)) for path in folder.rglob("*.parquet")}
    assert tables <= set(TABLES) and "forgetting_runs" in tables and pulled_folders() == []
