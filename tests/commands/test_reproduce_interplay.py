"""``reproduce --paper interplay``: the plan, what each stage asks for, refusals, and tables beside the paper's from
planted results.
"""

from pathlib import Path

import pandas as pd
import pytest

from probing.workflows.reproduction import interplay, steps
from tests.sentences_planted import BASE, COLA, CONTROL, TASKS, PlantedSentenceRun, plant_changes, plant_sentence_runs

REGISTRY = """
models = [
  { name = "planted", source = "somewhere/planted", licence = "none" },
  { name = "planted-squad", source = "somewhere/squad", licence = "none", base = "planted", objective = "QA-SQuAD-1" },
]
families = [{ name = "planted", title = "A family", base = "planted", members = [
  { objective = "QA-SQuAD-1", model = "planted-squad", how = "hub" },
] }]
data = []
"""
TUNED = ["planted-cola", "planted-sst-2", "planted-rte", "planted-squad", "planted-cola-mean"]


@pytest.fixture(autouse=True)
def registry(tmp_path, monkeypatch) -> None:
    (tmp_path / "registry.toml").write_text(REGISTRY)
    monkeypatch.setenv("PROBING_REGISTRY", str(tmp_path / "registry.toml"))


@pytest.fixture
def asked(monkeypatch) -> list:
    """What the stages ask other workflows for, instead of doing it."""
    found: list = []
    monkeypatch.setattr(steps, "fetch_model", lambda entry, source: found.append(("model", entry.name)))
    for module in (steps, interplay):
        monkeypatch.setattr(
            module, "fetch_or_stand_in", lambda registry, name, source, say: found.append(("data", name)) or Path(name)
        )
    for module, name in ((steps, "finetune"), (interplay, "train_sentences"), (interplay, "measure_changes")):
        monkeypatch.setattr(module, name, lambda request, say, name=name: found.append((name, request)))
    return found


WORDS = ("reproduce", "--paper", "interplay", "--family", "planted", "--device", "cpu")


def test_the_plan_comes_first_and_every_stage_asks_for_the_papers_models_and_tasks(run, cache, asked):
    said = run(*WORDS, "--only", "fetch").output
    assert said.startswith("planted, probed for bigram-shift, coordination-inversion, odd-man-out by the protocol ours")
    assert (
        "CoLA: planted-cola, fine-tuned here" in said
        and "QA-SQuAD-1: planted-squad, from the hub, with its own settings" in said
    )
    assert asked[:4] == [("model", "planted"), ("model", "planted-squad"), ("data", "glue"), ("data", "wikitext-2-raw")]
    asked.clear()
    run(*WORDS, "--only", "finetune", "--steps", "7")
    tuned = [one for name, one in asked if name == "finetune"]
    assert [one.out.name for one in tuned] == [name for name in TUNED if name != "planted-squad"]
    assert [one.pooling for one in tuned] == [None, None, None, "mean"] and {one.length.steps for one in tuned} == {7}
    asked.clear()
    run(*WORDS, "--only", "train", "--protocol", "quick", "--tasks", "bigram-shift")
    trained = [one for name, one in asked if name == "train_sentences"]
    # The base comes first: probes of a fine-tuned model need its.
    assert [one.model for one in trained] == ["planted", *TUNED]
    assert {(one.protocol, one.tasks) for one in trained} == {("quick", ("bigram-shift",))}
    asked.clear()
    run(*WORDS, "--only", "measure", "--blocks", "5", "--sentences", "9")
    measured = [one for name, one in asked if name == "measure_changes"]
    assert [one.model for one in measured] == ["planted", *TUNED]
    assert {(one.blocks, one.sentences) for one in measured} == {(5, 9)}


def test_tables_beside_the_papers(run, cache, tmp_path):
    runs = [PlantedSentenceRun(model, task) for model in (BASE, COLA, CONTROL) for task in TASKS]
    plant_changes(plant_sentence_runs(cache / "runs", runs), (BASE, COLA, CONTROL))
    said = run(*WORDS, "--only", "tables", "--out", str(tmp_path / "tables")).output
    assert f"tables in {tmp_path / 'tables'}" in said
    changes = pd.read_csv(tmp_path / "tables" / "changes.csv").set_index(["tuned", "task", "pooling", "group"])
    assert changes.loc[("CoLA", "bigram-shift", "mean", "upper"), "ours"] == pytest.approx(-10)
    assert changes.loc[("CoLA", "bigram-shift", "first", "upper"), "RoBERTa"] == 5.35
    assert {path.name for path in (tmp_path / "tables").iterdir()} == {
        f"{name}.{ending}" for name in ("scores", "changes", "settings", "data", "claims") for ending in ("csv", "json")
    }
