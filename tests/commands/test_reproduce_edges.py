"""``reproduce --paper edge-probing`` from local copies to the tables: published numbers beside those of a tiny
model.
"""

import json
import shutil
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from probing.workflows.reproduction import edge_probing
from tests.commands.edge_tasks import QUICK

REGISTRY = """
models = [{ name = "tiny", source = "somewhere/tiny", licence = "none" }]
families = [{ name = "tiny", title = "A tiny family", base = "tiny", members = [] }]
data = []
"""
TAGS = {"the": "DT", "sun": "NN", "moon": "NN", "red": "JJ", "blue": "JJ", "is": "VBZ", ".": "."}
SENTENCES = [f"the {noun} is {colour} ." for noun in ("sun", "moon") for colour in ("red", "blue")]


def write_task(folder: Path, spans: int) -> Path:
    """A task in jiant's format: the tag of each word, or of the verb's arguments their place."""
    folder.mkdir(parents=True)
    for part, times in (("train", 6), ("dev", 2)):
        lines = []
        for text in SENTENCES * times:
            words = text.split()
            targets = [{"span1": [place, place + 1], "label": TAGS[word]} for place, word in enumerate(words)]
            if spans == 2:
                targets = [
                    {"span1": [2, 3], "span2": span, "label": role}
                    for span, role in (([0, 2], "ARG1"), ([3, 4], "ARG2"))
                ]
            lines.append(json.dumps({"text": text, "targets": targets}) + "\n")
        (folder / f"{part}.jsonl").write_text("".join(lines))
    return folder


@pytest.fixture(scope="module")
def copies(tiny_model, tmp_path_factory) -> Path:
    """A model, two tasks under the names of the authors' code, and their registry."""
    folder = tmp_path_factory.mktemp("copies")
    shutil.copytree(tiny_model, folder / "tiny")
    write_task(folder / "edges-pos-ontonotes", 1)
    write_task(folder / "edges-srl-ontonotes", 2)
    (folder / "registry.toml").write_text(REGISTRY)
    return folder


def arguments(copies: Path, out: Path) -> list[str]:
    tasks = f"{copies / 'edges-pos-ontonotes'},{copies / 'edges-srl-ontonotes'}"
    given = {
        "--paper": "edge-probing",
        "--family": "tiny",
        "--tasks": tasks,
        "--from": copies,
        "--out": out,
        "--device": "cpu",
    }
    return ["reproduce", *(str(part) for pair in given.items() for part in pair)]


@pytest.fixture
def registry(copies, monkeypatch) -> None:
    monkeypatch.setenv("PROBING_REGISTRY", str(copies / "registry.toml"))
    # The usual recipe takes a thousand steps.
    monkeypatch.setattr(edge_probing, "EdgesRequest", partial(edge_probing.EdgesRequest, recipe=QUICK))


def test_from_a_familys_base_to_tables_beside_the_papers_and_the_second_time_nothing_is_trained(
    run, cache, copies, registry, tmp_path
):
    said = run(*arguments(copies, tmp_path / "tables")).output
    for number, stage in enumerate(("fetch", "train", "tables"), 1):
        assert f"== Edge probing, tiny, stage {number} of 3: {stage}" in said
    scores = pd.read_csv(tmp_path / "tables" / "scores.csv").set_index(["task", "encoder"])
    # Two of our tasks, and eight of each of the paper's two encoders.
    assert len(scores) == 2 + 2 * 8
    ours = scores.loc[("pos", "tiny")].dropna()
    assert list(ours.index) == ["P(0)", "P(1)", "P(2)"] and ours.between(0, 100).all()
    assert scores.loc[("coreference", "BERT-large"), "P(24)"] == pytest.approx(91.94)
    summary = pd.read_json(tmp_path / "tables" / "summary.json").set_index(["row", "model"])
    assert summary.loc[("srl", "tiny"), "random"] == summary.loc[("srl", "tiny"), "random"]
    assert summary.loc[("coreference", "BERT-large"), "expected_layer"] == pytest.approx(9.47, abs=0.005)
    data = pd.read_csv(tmp_path / "tables" / "data.csv").set_index("task")
    assert data.loc["pos", "targets"] == 24 * 5 and data.loc["srl", "targets"] == 24 * 2

    runs = {path: path.stat().st_mtime_ns for path in cache.rglob("edge_scores-*.parquet")}
    tables = {path.name: path.read_bytes() for path in (tmp_path / "tables").iterdir()}
    assert len(runs) == 2 * 2
    run(*arguments(copies, tmp_path / "tables"))
    assert {path: path.stat().st_mtime_ns for path in cache.rglob("edge_scores-*.parquet")} == runs
    assert {path.name: path.read_bytes() for path in (tmp_path / "tables").iterdir()} == tables
