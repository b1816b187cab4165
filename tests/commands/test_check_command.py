"""``check`` reads every kind of stored file, and names what is damaged or in another's place."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from probing import __version__
from probing.core.changes.minimal_pairs import read_minimal_pairs
from probing.core.edges.published import PublishedEdges
from probing.core.files.checksums import file_sha256
from probing.models.edges.files import probes_folder as edge_folder
from probing.models.heads.files import HeadIdentity, head_path, save_head
from probing.models.sentences.files import probes_folder as sentence_folder
from probing.models.sentences.files import write_probes
from probing.workflows import check as module
from tests.models.edges.planted_probes import plant_probes
from tests.pages.test_ask_sentence import planted
from tests.store.planted import PlantedRun, plant_runs


@pytest.fixture()
def stored(cache, tiny_model):
    """A cache with a model, heads, probes of spans and of sentences, and a run of the model, all as they should be."""
    shutil.copytree(tiny_model, cache / "models" / "mine")
    encoder = plant_probes(cache / "models" / "mine", cache, ("pos", "srl"))
    write_probes(planted(encoder), sentence_folder(cache, encoder.weights_id, "order"))
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
