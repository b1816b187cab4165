"""``ask``, ``runs``, ``check``, ``fetch``: what users see, and what bad input and damaged files get."""

import hashlib
import json
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from probing import __version__
from probing import check as module
from probing.changes.minimal_pairs import read_minimal_pairs
from probing.edges.ask import probes_folder as edge_folder
from probing.edges.published import PublishedEdges
from probing.heads.files import HeadIdentity, head_path, save_head
from probing.kernel.errors import IncompleteCopyError, RegistryError
from probing.kernel.fetch import fetch_data, fetch_or_stand_in
from probing.kernel.files import file_sha256
from probing.kernel.registry import DataEntry, DataFile, read_registry
from probing.main import main
from probing.sentences.probes import probes_folder as sentence_folder
from probing.sentences.probes import write_probes
from tests.edges.planted_probes import plant_probes
from tests.planted_store import PlantedRun, plant_runs
from tests.sentences.planted import untrained_probes


def test_ask_prints_json_in_the_documented_form(run, cache, tiny_model):
    words = ("ask", "Rocky was born in [MASK].", "--model", tiny_model, "--head", "logit_lens", "--top", 4, "--json")
    answer = json.loads(run(*words, "--watch", "Philadelphia").stdout)
    assert set(answer) == {"model", "head", "layers", "notes"} and answer["notes"] == []
    assert (answer["model"], answer["head"]) == ("tiny-bert", "logit_lens")
    assert [layer["layer"] for layer in answer["layers"]] == [0, 1, 2]
    for layer in answer["layers"]:
        assert set(layer) == {"layer", "tokens", "watched"}
        chances = [token["probability"] for token in layer["tokens"]]
        assert len(chances) == 4
        assert chances == sorted(chances, reverse=True)
        (watched,) = layer["watched"]
        assert set(watched) == {"token", "rank", "probability"}
        assert watched["token"] == "Philadelphia"
        assert 1 <= watched["rank"] <= 43
    phrases = json.loads(run(*words, "--watch", "red green", "--pieces", 3).stdout)["layers"]
    assert all(len(layer["tokens"]) == 4 and layer["watched"][0]["probability"] < 1 for layer in phrases)
    assert "red green: rank" in run(*words[:-1], "--watch", "red green").stdout


def test_runs_and_check_of_an_empty_and_a_full_store(run, cache, tiny_model, facts_file):
    assert "no runs yet" in run("runs").output
    run("probe", "--model", tiny_model, "--facts", facts_file, "--head", "logit_lens")
    assert "read 6 = probed 4 + left out" in run("runs").output
    (row,) = json.loads(run("runs", "--json").stdout)
    assert row["model"] == "tiny-bert"
    assert "ok  runs" in run("check").output
    (path,) = (cache / "runs").glob("predictions-*.parquet")
    path.write_bytes(path.read_bytes()[:200])
    assert "BAD runs" in run("check", code=1).output


def test_fetch_takes_local_copies_and_checks_their_sum(run, cache, tmp_path):
    (tmp_path / "copies" / "set").mkdir(parents=True)
    (tmp_path / "copies" / "set" / "a.txt").write_text("hello")
    right = DataFile(path="a.txt", sha256=hashlib.sha256(b"hello").hexdigest())
    entry = DataEntry(name="set", title="", folder="set", licence="", files=(right,))
    target = fetch_data(entry, tmp_path / "copies", tmp_path / "target")
    assert (target / "a.txt").read_text() == "hello"
    wrong = entry.model_copy(update={"files": (right.model_copy(update={"sha256": "0" * 64}),)})
    with pytest.raises(RegistryError, match="the registry records"):
        fetch_data(wrong, tmp_path / "copies", tmp_path / "target2")
    assert not list((tmp_path / "target2").iterdir())
    with pytest.raises(RegistryError, match="local copies"):
        fetch_data(entry, tmp_path / "nowhere", tmp_path / "target3")


def test_a_partial_copy_is_taken_as_far_as_it_goes_and_what_it_lacks_is_named(tmp_path):
    (tmp_path / "copies" / "set").mkdir(parents=True)
    (tmp_path / "copies" / "set" / "a.txt").write_text("hello")
    entry = DataEntry(
        name="set", title="", folder="set", licence="", files=(DataFile(path="a.txt"), DataFile(path="b.txt"))
    )
    with pytest.raises(IncompleteCopyError, match=r"lacks 1 file \(b\.txt\) of set; the files that exist were copied"):
        fetch_data(entry, tmp_path / "copies", tmp_path / "target")
    assert (tmp_path / "target" / "a.txt").read_text() == "hello"
    (tmp_path / "copies" / "set" / "b.txt").write_text("there")
    fetch_data(entry, tmp_path / "copies", tmp_path / "target")


def test_a_model_whose_copy_lacks_weights_or_tokenizer_is_named(run, cache, tiny_model, tmp_path):
    copy = tmp_path / "copies" / "bert-base-uncased"
    shutil.copytree(tiny_model, copy)
    run("fetch", "bert-base-uncased", "--from", tmp_path / "copies")
    (copy / "model.safetensors").unlink()
    for name in ("tokenizer.json", "vocab.txt"):
        (copy / name).unlink(missing_ok=True)
    with pytest.raises(
        IncompleteCopyError,
        match="lacks its weights, its tokenizer of bert-base-uncased; the files that exist were copied",
    ):
        run("fetch", "bert-base-uncased", "--from", tmp_path / "copies")
    assert (cache / "models" / "bert-base-uncased" / "config.json").is_file()
    index = {"weight_map": {"a": "model-1-of-2.safetensors", "b": "model-2-of-2.safetensors"}}
    (copy / "model.safetensors.index.json").write_text(json.dumps(index))
    (copy / "model-1-of-2.safetensors").write_bytes(b"")
    with pytest.raises(IncompleteCopyError, match=r"lacks its tokenizer, model-2-of-2\.safetensors of"):
        run("fetch", "bert-base-uncased", "--from", tmp_path / "copies")


@pytest.mark.parametrize("words", [("report", "total"), ("fetch", "set"), ("runs",)])
def test_a_cache_that_cannot_be_written_is_one_line_with_what_to_do(tmp_path, words, monkeypatch, capsys):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "file" / "cache"))
    monkeypatch.setenv("PROBING_SNAPSHOT", str(tmp_path / "none"))
    if words[0] == "fetch":
        (tmp_path / "copies" / "set").mkdir(parents=True)
        (tmp_path / "copies" / "set" / "a.txt").write_text("hello")
        (tmp_path / "registry.toml").write_text(
            '[[models]]\nname="m"\nsource="m"\nlicence="x"\n'
            '[[data]]\nname="set"\ntitle="t"\nfolder="set"\nlicence="x"\nfiles=[{path="a.txt"}]\n'
        )
        monkeypatch.setenv("PROBING_REGISTRY", str(tmp_path / "registry.toml"))
        words = (*words, "--from", str(tmp_path / "copies"))
    monkeypatch.setattr("sys.argv", ["probing", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err
    if words[0] != "fetch":
        assert ended.value.code == 0
        return
    assert ended.value.code == 1
    assert said.startswith("error: cannot write ") and said.count("\n") == 1
    assert "set PROBING_CACHE to a folder that is" in said


def test_fetch_downloads_single_files_and_archives_by_address(tmp_path):
    (tmp_path / "a.txt").write_text("hello")
    url = (tmp_path / "a.txt").as_uri()
    single = DataEntry(name="s", title="", folder="s", licence="", files=(DataFile(path="b/a.txt", url=url),))
    assert (fetch_data(single, None, tmp_path / "one") / "b" / "a.txt").read_text() == "hello"
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("data/TREx/P1.jsonl", "{}")
    packed = DataEntry(
        name="p", title="", folder="p", licence="", url=(tmp_path / "all.zip").as_uri(), archive_root="data"
    )
    assert (fetch_data(packed, None, tmp_path / "two") / "TREx" / "P1.jsonl").is_file()
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        archive.writestr("../evil.txt", "x")
    unsafe = packed.model_copy(update={"url": (tmp_path / "bad.zip").as_uri()})
    with pytest.raises(RegistryError, match="unsafe"):
        fetch_data(unsafe, None, tmp_path / "three")


def test_a_file_is_taken_out_of_its_archive_and_then_left_alone(tmp_path):
    (tmp_path / "triples.tsv").write_text("query\tright\twrong\n")
    with tarfile.open(tmp_path / "triples.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "triples.tsv", arcname="./triples.tsv")
    url = (tmp_path / "triples.tar.gz").as_uri()
    entry = DataEntry(name="m", title="", folder="m", licence="", files=(DataFile(path="triples.tsv", url=url),))
    assert (fetch_data(entry, None, tmp_path / "one") / "triples.tsv").read_text() == "query\tright\twrong\n"
    (tmp_path / "triples.tar.gz").unlink()
    fetch_data(entry, None, tmp_path / "one")
    lacks = entry.model_copy(update={"files": (DataFile(path="other.tsv", url=url),)})
    with tarfile.open(tmp_path / "triples.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "triples.tsv", arcname="./triples.tsv")
    with pytest.raises(RegistryError, match=r"no member other\.tsv"):
        fetch_data(lacks, None, tmp_path / "two")
    assert not list((tmp_path / "two").iterdir())


def test_local_copies_of_the_training_data_are_taken_or_their_stand_ins(cache, shared_data):
    registry = read_registry()
    assert fetch_or_stand_in(registry, "conll2003", shared_data) == cache / "downloads" / "conll2003"
    assert fetch_or_stand_in(registry, "squad", shared_data) == cache / "downloads" / "squad-parts"
    assert fetch_or_stand_in(registry, "msmarco", shared_data) == cache / "downloads" / "msmarco-trec"
    with pytest.raises(RegistryError, match="no folder"):
        fetch_or_stand_in(registry, "conll2003", shared_data / "lama")


def test_every_shipped_data_set_can_be_fetched_from_the_local_copies(run, cache, shared_data):
    run("fetch", "trex-triples", "lama", "--from", shared_data)
    with pytest.raises(
        IncompleteCopyError, match=r"lacks 1 file \(train\.txt\) of wikitext-2; the files that exist were copied"
    ):
        run("fetch", "wikitext-2", "--from", shared_data)
    assert (cache / "downloads" / "wikitext-2" / "valid.txt").is_file()
    assert (cache / "downloads" / "lama" / "TREx" / "P19.jsonl").is_file()
    assert "ok  fetched data" in run("check").output


@pytest.fixture()
def stored(cache, tiny_model):
    """A cache with a model, heads, probes of spans and of sentences, and a run of the model, all as they should be."""
    shutil.copytree(tiny_model, cache / "models" / "mine")
    encoder = plant_probes(cache / "models" / "mine", cache, ("pos", "srl"))
    write_probes(untrained_probes(encoder), sentence_folder(cache, encoder.weights_id, "order"))
    for layer in range(2):
        identity = HeadIdentity(
            encoder.name, encoder.weights_id, layer, "full", "{}", "[[0, 1.0]]", configuration=encoder.configuration
        )
        save_head(encoder.head, identity, cache / "heads" / encoder.weights_id[:16] / "full-seed0")
    plant_runs(cache / "runs", [PlantedRun(model="mine", made=(("weights", encoder.weights_id),))])
    return encoder


def flip(path: Path) -> Path:
    """Changes one bit of the last tensor."""
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    return path


def problems_of() -> dict[str, list[str]]:
    return dict(module.check(say=lambda title: None))


def test_what_is_as_it_should_be_has_no_problem(stored):
    found = problems_of()
    assert list(found) == [
        "shipped files",
        "registry and shipped facts",
        "published tables and minimal pairs",
        "fetched data",
        "models",
        "heads",
        "edge and sentence probes",
        "runs",
    ]
    assert not any(found.values())


def test_what_is_damaged_is_named(stored, cache, tmp_path, monkeypatch):
    heads, edges = cache / "heads" / stored.weights_id[:16] / "full-seed0", edge_folder(cache, stored.weights_id, "pos")
    damaged = [flip(head_path(heads, 1)), flip(edges / "probes.safetensors")]
    damaged.append(flip(sentence_folder(cache, stored.weights_id, "order") / "probes.safetensors"))
    shutil.copytree(cache / "models" / "mine", cache / "models" / "cut")
    weights = cache / "models" / "cut" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    flip(cache / "models" / "mine" / "model.safetensors")
    pairs, published = tmp_path / "pairs", tmp_path / "published"
    for path in (pairs, published):
        path.write_text("{no")
        damaged.append(path)
    read = PublishedEdges.read
    monkeypatch.setattr(module, "read_minimal_pairs", lambda: read_minimal_pairs(pairs))
    monkeypatch.setattr(PublishedEdges, "read", lambda: read(published))
    found = problems_of()
    assert {title for title, problems in found.items() if problems} == {
        "published tables and minimal pairs",
        "models",
        "heads",
        "edge and sentence probes",
    }
    text = "\n".join(problem for problems in found.values() for problem in problems)
    assert all(str(path) in text for path in [*damaged, weights])
    (other,) = (problem for problem in found["models"] if "cut" not in problem)
    assert (
        f"{cache / 'models' / 'mine'}: the stored runs of mine are of other weights ({stored.weights_id[:12]})" in other
    )
    assert sum(map(len, found.values())) == 7


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json"])
def test_a_model_that_answers_otherwise_than_its_runs_is_named(stored, cache, name):
    for version, configuration in (("0.1.0", "as older versions computed it"), (__version__, stored.configuration)):
        made = (("weights", stored.weights_id), ("configuration", configuration), ("code_version", version))
        plant_runs(cache / "runs", [PlantedRun(model="mine", made=made)])
        assert problems_of()["models"] == []
    path = cache / "models" / "mine" / name
    changed = {"hidden_act": "relu"} if name == "config.json" else {"do_lower_case": False}
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))
    (problem,) = problems_of()["models"]
    assert f"{path.parent}: the configuration or tokenizer of mine is other than that of its stored runs" in problem


def test_every_shipped_file_is_listed_and_compared(tmp_path, monkeypatch):
    listed = [line.split("  ")[1] for line in module.SHIPPED.read_text().splitlines()]
    known = subprocess.run(["git", "ls-files"], capture_output=True, text=True, cwd=module.SHIPPED.parent)
    if not known.returncode:
        names = [
            name for name in known.stdout.split() if not name.startswith("making/") and Path(name).name != "README.md"
        ]
        assert listed == [name for name in names if name != module.SHIPPED.name], "run `make sums`"
    assert module._shipped_problems() == []
    for name, content in {"one/a.json": b"1\n", "one/b.json": b"2\n", "c.toml": b"3\n"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    sums = [f"{file_sha256(tmp_path / name)}  {name}" for name in ("one/a.json", "one/b.json", "c.toml")]
    (tmp_path / "sums").write_text("\n".join(sums))
    monkeypatch.setattr(module, "SHIPPED", tmp_path / "sums")
    assert module._shipped_problems() == []
    (tmp_path / "one" / "a.json").write_bytes(b"1\r\n")
    (tmp_path / "c.toml").unlink()
    (tmp_path / "one" / "d.json").touch()
    found = [problem.partition("; ")[0] for problem in module._shipped_problems()]
    assert found == [
        f"{tmp_path}/{end}"
        for end in ("one/a.json is changed", "c.toml is missing", "one/d.json is not part of what ships")
    ]


def test_what_lies_in_anothers_place_is_named(stored, cache):
    heads = cache / "heads" / stored.weights_id[:16]
    shutil.copytree(heads / "full-seed0", cache / "heads" / ("0" * 16) / "full-seed0")
    shutil.copytree(heads / "full-seed0", heads / "tied-seed0")
    shutil.copytree(edge_folder(cache, stored.weights_id, "pos"), edge_folder(cache, stored.weights_id, "entities"))
    shutil.copytree(edge_folder(cache, stored.weights_id, "srl"), edge_folder(cache, "0" * 64, "srl"))
    found = problems_of()
    assert [len(found[title]) for title in ("models", "heads", "edge and sentence probes")] == [0, 4, 2]
    assert all("move or delete it" in problem for problems in found.values() for problem in problems)
