"""``reproduce`` of each paper from tiny stand-ins to the tables, killed in the middle and not, and what it refuses."""

import json
import shutil
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
import torch

from probing.heads import train as training
from probing.kernel.errors import ModelError
from probing.kernel.registry import read_registry
from probing.kernel.store.parquet import read_table
from probing.papers import reproduce as stages
from probing.papers.reproduce import reproduce
from probing.papers.requests import ReproduceRequest, Stage
from tests.edges.planted_tasks import QUICK
from tests.finetuning.task_files import write_conll, write_msmarco, write_squad
from tests.fixtures.commands import Killed
from tests.sentences_planted import BASE, COLA, CONTROL, PlantedSentenceRun, plant_changes, plant_sentence_runs
from tests.sentences_planted import TASKS as PLANTED_TASKS

TRIPLES = {
    "P36": [("France", "Paris"), ("Germany", "Berlin"), ("Italy", "Rome")],
    "P19": [("Rocky", "Philadelphia"), ("Berlin", "Boston"), ("Moon", "Rome")],
}
TEMPLATES = {"P36": "The capital of [X] is [Y] .", "P19": "[X] was born in [Y] ."}
REGISTRY = """
models = [
  {{ name = "tiny", source = "somewhere/tiny", licence = "none" }},
  {{ name = "tiny-squad", source = "somewhere/tiny-squad", base = "tiny", objective = "QA-SQuAD-1", licence = "none" }},
]
families = [
  {{ name = "tiny", title = "A tiny family", base = "tiny", members = [
    {{ objective = "QA-SQuAD-1", model = "tiny-squad", how = "hub" }},
    {{ objective = "NER-CoNLL", model = "tiny-ner-conll", how = "finetune" }},
    {{ objective = "RANK-MSMARCO", model = "tiny-rank-msmarco", how = "finetune" }},
  ] }},
]
data = [
  {{ name = "conll2003", title = "", folder = "conll", licence = "none", files = [
    {{ path = "eng.train" }}, {{ path = "eng.testb" }}] }},
  {{ name = "squad", title = "", folder = "squad", licence = "none", files = [
    {{ path = "train-v1.1.json", sha256 = "{none}" }}] }},
  {{ name = "parts", title = "", folder = "squad", stands_in_for = "squad", licence = "none", files = [
    {{ path = "some-v1.1.json" }}] }},
  {{ name = "msmarco", title = "", folder = "msmarco", licence = "none", files = [
    {{ path = "lists.json" }}, {{ path = "qrels.txt" }}] }},
]
"""


@pytest.fixture(scope="module")
def copies(tmp_path_factory) -> Path:
    """Local copies as they would lie beside a machine without a network: models, data sets, facts, text, and their
    registry.
    """
    from transformers import BertConfig, BertForMaskedLM, BertTokenizer

    from tests.fixtures.commands import WORDS

    folder = tmp_path_factory.mktemp("copies")
    size = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    for seed, name in enumerate(("tiny", "tiny-squad")):
        torch.manual_seed(seed)
        model = BertForMaskedLM(BertConfig(vocab_size=len(WORDS), **size))
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter, std=0.3)
        assert model.num_parameters() < 20_000, "tiny is tiny"
        # A question-answering checkpoint has no head of its own: the body alone is saved.
        (model if name == "tiny" else model.bert).save_pretrained(folder / name)
        BertTokenizer(vocab={word: n for n, word in enumerate(WORDS)}, do_lower_case=True).save_pretrained(
            folder / name
        )
    write_conll(folder / "conll")
    write_squad(folder / "squad")
    write_msmarco(folder / "msmarco")
    (folder / "lama" / "TREx").mkdir(parents=True)
    for relation, triples in TRIPLES.items():
        rows = [json.dumps({"sub_label": subject, "obj_label": answer}) + "\n" for subject, answer in triples]
        (folder / "lama" / "TREx" / f"{relation}.jsonl").write_text("".join(rows))
    templates = [
        json.dumps({"relation": relation, "template": template}) + "\n" for relation, template in TEMPLATES.items()
    ]
    (folder / "lama" / "relations.jsonl").write_text("".join(templates))
    (folder / "text.txt").write_text(
        "The capital of France is Paris and the sun is red and the moon is blue in the city .\n" * 1800
    )
    (folder / "registry.toml").write_text(REGISTRY.format(none="0" * 64))
    return folder


def arguments(copies: Path, out: Path) -> list[str]:
    given = {
        "--family": "tiny",
        "--heads": "tied,logit_lens",
        "--facts": copies / "lama",
        "--from": copies,
        "--text": copies / "text.txt",
        "--valid": copies / "text.txt",
        "--steps": 3,
        "--tokens": 300,
        "--pieces": 48,
        "--positions": 200,
        "--epochs": 1,
        "--device": "cpu",
        "--out": out,
    }
    return ["reproduce", *(str(part) for pair in given.items() for part in pair)]


@pytest.fixture(scope="module")
def undisturbed(copies, tmp_path_factory) -> tuple[Path, Path]:
    """Cache and tables of a run that nobody killed."""
    from typer.testing import CliRunner

    from probing.main import app

    folder = tmp_path_factory.mktemp("undisturbed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROBING_CACHE", str(folder / "cache"))
        patch.setenv("PROBING_SNAPSHOT", str(folder / "snapshot"))
        patch.setenv("PROBING_REGISTRY", str(copies / "registry.toml"))
        got = CliRunner().invoke(app, arguments(copies, folder / "tables"))
        assert got.exit_code == 0, (got.output, got.exception)
    return folder / "cache", folder / "tables"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_one_command_makes_every_table_of_the_family(undisturbed):
    cache, tables = undisturbed
    assert sorted(contents(tables)) == sorted(
        f"{what}.{ending}"
        for what in ("precision", "right_any", "total", "forgotten", "transitions", "tasks", "claims")
        for ending in ("csv", "json")
    )
    runs = [row for path in (cache / "runs").glob("runs-*.parquet") for row in read_table(path, "runs").to_pylist()]
    made = {(row["model"], row["base"], row["objective"], row["head"], row["probe_set"]) for row in runs}
    models = {
        ("tiny", "", "pre-training"),
        ("tiny-squad", "tiny", "QA-SQuAD-1"),
        ("tiny-ner-conll", "tiny", "NER-CoNLL"),
        ("tiny-rank-msmarco", "tiny", "RANK-MSMARCO"),
    }
    assert made == {(*model, head, "trex") for model in models for head in ("tied", "logit_lens")}
    totals = json.loads((tables / "total.json").read_text())
    # 4 models x 2 heads x 3 ranks x 2 averages
    assert len(totals) == 4 * 2 * 3 * 2 and all(0 <= row["last_layer"] <= row["total"] <= 1 for row in totals)
    pairs = json.loads((tables / "transitions.json").read_text())
    assert {(row["base"], row["model"]) for row in pairs} == {("tiny", model) for model, base, _ in models if base}
    assert all(row["kept"] + row["gained"] + row["lost"] + row["never"] == 6 for row in pairs)


def test_only_what_no_hub_model_serves_is_fine_tuned_and_only_its_data_fetched(undisturbed):
    cache, _ = undisturbed
    assert {path.parent.name for path in (cache / "models").glob("*/finetuning.json")} == {
        "tiny-ner-conll",
        "tiny-rank-msmarco",
    }
    assert {path.name for path in (cache / "downloads").iterdir()} == {"conll2003", "msmarco"}


@pytest.fixture()
def copy_of_it(undisturbed, copies, tmp_path, monkeypatch):
    """A cache in which everything is done already, for a test to go on with."""
    shutil.copytree(undisturbed[0], tmp_path / "cache")
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PROBING_SNAPSHOT", str(tmp_path / "snapshot"))
    monkeypatch.setenv("PROBING_REGISTRY", str(copies / "registry.toml"))
    return tmp_path / "cache"


def test_the_second_call_does_nothing_anew_and_gives_the_same_tables(run, copies, copy_of_it, undisturbed, tmp_path):
    def state():
        # The vocabulary of relations and the copied side files are small and always written.
        kept = [
            *copy_of_it.glob("runs/predictions-*"),
            *copy_of_it.rglob("*.safetensors"),
            *copy_of_it.glob("runs/*_counts-*"),
        ]
        return {path: path.stat().st_mtime_ns for path in kept}

    before = state()
    output = run(*arguments(copies, tmp_path / "tables")).output
    assert state() == before
    assert output.count("exists already") >= 4 + 8 and "heads exist already" in output
    assert contents(tmp_path / "tables") == contents(undisturbed[1])


def test_closed_form_heads_are_made_for_every_model_and_asked_for_no_epochs(run, copies, copy_of_it, tmp_path):
    words = [*arguments(copies, tmp_path / "tables"), "--only", "heads", "--heads", "least_squares,logit_lens"]
    assert run(*words).output.count("by logit lens") > 0
    again = run(*words, "--epochs", 9).output
    assert again.count("heads exist already") == 4 and "trained on" not in again


def test_own_fine_tunes_what_the_hub_serves_too_on_what_stands_in_for_its_data(run, copies, copy_of_it, tmp_path):
    for stage in ("fetch", "finetune"):
        run(*arguments(copies, tmp_path / "tables"), "--own", "--only", stage)
    record = json.loads((copy_of_it / "models" / "tiny-qa-squad-1" / "finetuning.json").read_text())
    assert (record["base"], record["objective"], record["steps"]) == ("tiny", "QA-SQuAD-1", 3)
    assert (copy_of_it / "downloads" / "parts").is_dir() and not (copy_of_it / "downloads" / "squad").is_dir()


def test_a_checkpoint_that_was_torn_by_a_kill_is_left_aside(run, copies, copy_of_it, undisturbed, tmp_path):
    name = "tiny-ner-conll"
    torn = copy_of_it / "finetune" / name / "checkpoint-1"
    torn.mkdir(parents=True)
    (torn / "trainer_state.json").write_text("{")
    shutil.rmtree(copy_of_it / "models" / name)
    run(*arguments(copies, tmp_path / "tables"), "--only", "finetune")
    again, before = (cache / "models" / name / "model.safetensors" for cache in (copy_of_it, undisturbed[0]))
    assert again.read_bytes() == before.read_bytes()


def test_killed_in_two_stages_it_ends_with_the_tables_of_an_undisturbed_run(
    run, copies, undisturbed, cache, tmp_path, dies, monkeypatch
):
    monkeypatch.setenv("PROBING_REGISTRY", str(copies / "registry.toml"))
    words = arguments(copies, tmp_path / "tables")
    # First between the fine-tuning of one model and the next, then with some heads trained and others not.
    for place, name, calls in ((stages, "finetune", 1), (training, "save_head", 4)):
        lives = dies(place, name, calls)
        with pytest.raises(Killed):
            run(*words)
        lives()
    assert len(list(cache.glob("heads/*/tied-seed0/layer-*.safetensors"))) == 4 and not (cache / "runs").is_dir()
    run(*words)
    assert contents(tmp_path / "tables") == contents(undisturbed[1])
    assert sorted(path.name for path in cache.glob("runs/predictions-*")) == sorted(
        path.name for path in undisturbed[0].glob("runs/predictions-*")
    )


def test_a_model_that_an_earlier_stage_makes_is_missing_with_the_name_of_that_stage(cache, monkeypatch):
    probed = []
    monkeypatch.setattr(stages, "probe", lambda request, say: probed.append(request.model))
    request = ReproduceRequest(family="bert-base", facts="questions", heads=("logit_lens",), only=Stage.probe)
    with pytest.raises(ModelError, match="--only finetune"):
        reproduce(request, lambda line: None)
    family = read_registry().family("bert-base")
    first = next(member.model for member in family.members if member.how == "finetune")
    assert first not in probed and family.base in probed


EDGES = """
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
def edge_copies(tiny_model, tmp_path_factory) -> Path:
    """A model, two tasks under the names of the authors' code, and their edges_registry."""
    folder = tmp_path_factory.mktemp("copies")
    shutil.copytree(tiny_model, folder / "tiny")
    write_task(folder / "edges-pos-ontonotes", 1)
    write_task(folder / "edges-srl-ontonotes", 2)
    (folder / "registry.toml").write_text(EDGES)
    return folder


def edge_arguments(edge_copies: Path, out: Path) -> list[str]:
    tasks = f"{edge_copies / 'edges-pos-ontonotes'},{edge_copies / 'edges-srl-ontonotes'}"
    given = {
        "--paper": "edge-probing",
        "--family": "tiny",
        "--tasks": tasks,
        "--from": edge_copies,
        "--out": out,
        "--device": "cpu",
    }
    return ["reproduce", *(str(part) for pair in given.items() for part in pair)]


@pytest.fixture
def edges_registry(edge_copies, monkeypatch) -> None:
    monkeypatch.setenv("PROBING_REGISTRY", str(edge_copies / "registry.toml"))
    # The usual recipe takes a thousand steps.
    monkeypatch.setattr(stages, "EdgesRequest", partial(stages.EdgesRequest, recipe=QUICK))


def test_from_a_familys_base_to_tables_beside_the_papers_and_the_second_time_nothing_is_trained(
    run, cache, edge_copies, edges_registry, tmp_path
):
    said = run(*edge_arguments(edge_copies, tmp_path / "tables")).output
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
    run(*edge_arguments(edge_copies, tmp_path / "tables"))
    assert {path: path.stat().st_mtime_ns for path in cache.rglob("edge_scores-*.parquet")} == runs
    assert {path.name: path.read_bytes() for path in (tmp_path / "tables").iterdir()} == tables


INTERPLAY = """
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


@pytest.fixture
def interplay_family(tmp_path, monkeypatch) -> None:
    (tmp_path / "registry.toml").write_text(INTERPLAY)
    monkeypatch.setenv("PROBING_REGISTRY", str(tmp_path / "registry.toml"))


@pytest.fixture
def asked(monkeypatch) -> list:
    """What the stages ask other workflows for, instead of doing it."""
    found: list = []
    monkeypatch.setattr(stages, "fetch_model", lambda entry, source: found.append(("model", entry.name)))
    monkeypatch.setattr(
        stages, "fetch_or_stand_in", lambda registry, name, source, say: found.append(("data", name)) or Path(name)
    )
    for name in ("finetune", "train_sentences", "measure_changes"):
        monkeypatch.setattr(stages, name, lambda request, say, name=name: found.append((name, request)))
    return found


WORDS = ("reproduce", "--paper", "interplay", "--family", "planted", "--device", "cpu")


def test_the_plan_comes_first_and_every_stage_asks_for_the_papers_models_and_tasks(run, cache, interplay_family, asked):
    said = run(*WORDS, "--only", "fetch").output
    assert said.startswith("planted, probed for bigram-shift, coordination-inversion, odd-man-out by the protocol ours")
    assert (
        "CoLA: planted-cola, fine-tuned here" in said
        and "QA-SQuAD-1: planted-squad, from the hub, with its own settings" in said
    )
    # Two models are to be fetched.
    assert "\n  hours: about 0 (fetch 0.0)\n  memory: 0.5 GB\n  disk: 0.9 GB\n" in said
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


def test_tables_beside_the_papers(run, cache, interplay_family, tmp_path):
    runs = [PlantedSentenceRun(model, task) for model in (BASE, COLA, CONTROL) for task in PLANTED_TASKS]
    plant_changes(plant_sentence_runs(cache / "runs", runs), (BASE, COLA, CONTROL))
    said = run(*WORDS, "--only", "tables", "--out", str(tmp_path / "tables")).output
    assert f"tables in {tmp_path / 'tables'}" in said
    changes = pd.read_csv(tmp_path / "tables" / "changes.csv").set_index(["tuned", "task", "pooling", "group"])
    assert changes.loc[("CoLA", "bigram-shift", "mean", "upper"), "ours"] == pytest.approx(-10)
    assert changes.loc[("CoLA", "bigram-shift", "first", "upper"), "RoBERTa"] == 5.35
    assert {path.name for path in (tmp_path / "tables").iterdir()} == {
        f"{name}.{ending}" for name in ("scores", "changes", "settings", "data", "claims") for ending in ("csv", "json")
    }
