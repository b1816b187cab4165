"""``edges trace`` and ``edges tasks``."""

import csv
import io
import json
import re

import pytest
from typer.testing import CliRunner

from probing.commands.main import app
from probing.core.edges.tasks import ALL, EDGE_TASKS
from probing.core.errors import ProbingError
from tests.models.edges.planted_probes import plant_probes
from tests.models.tiny_models import LAYERS, save

SENTENCE = "Paris isn't the capital of Italy."


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    root = tmp_path_factory.mktemp("trace")
    plant_probes(save("bert", root / "tiny"), root / "cache")
    return root


@pytest.fixture
def trace(planted, monkeypatch):
    """Calls the command on the tiny model."""
    monkeypatch.setenv("PROBING_CACHE", str(planted / "cache"))

    def called(*words: str, sentence: str = SENTENCE):
        return CliRunner().invoke(
            app, ["edges", "trace", "--model", str(planted / "tiny"), "--sentence", sentence, *words]
        )

    return called


def test_a_table_has_a_line_for_every_task_and_layer(trace):
    found = trace("--span1", "0:1", "--span2", "3:5")
    assert found.exit_code == 0, found.output
    assert found.output.startswith("Paris is n't the capital of Italy .\ntiny\n")
    heads = [line for line in found.output.splitlines() if "; F1 on dev " in line]
    assert [head.split(" of '")[0] for head in heads] == [
        "Part of speech",
        "Entities",
        "Entities",
        "Semantic roles",
        "Coreference",
    ]
    assert "Semantic roles of 'Paris' (0:1) and 'the capital' (3:5): " in found.output
    assert found.output.count("embeddings") == len(heads) and found.output.count("layer 3  ") == len(heads)


def test_csv_and_json_hold_every_label_and_the_same_numbers(trace):
    words = ("--span1", "0:1", "--span2", "6:7", "--tasks", "srl, pos")
    rows = list(csv.DictReader(io.StringIO(trace(*words, "--as", "csv").output)))
    found = json.loads(trace(*words, "--as", "json").output)
    assert {row["task"] for row in rows} == {"srl", "pos"} and found["words"][2] == "n't"
    flat = {
        (one["task"], tuple(one["span1"]), layer["layer"], label["label"]): label
        for one in found["traces"]
        for layer in one["layers"]
        for label in layer["labels"]
    }
    assert len(flat) == len(rows) == (LAYERS + 1) * (2 * 4 + 3)
    for row in rows:
        start, end = row["span1"].split(":")
        label = flat[row["task"], (int(start), int(end)), int(row["layer"]), row["label"]]
        assert float(row["p"]) == pytest.approx(label["p"]) and float(row["share"]) == pytest.approx(label["share"])
    srl = next(one for one in found["traces"] if one["task"] == "srl")
    assert srl["span2"] == [6, 7] and len(srl["f1"]) == LAYERS + 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "no span is given; .*0 Paris  1 is  2 n't"),
        (("--span1", "0:9"), "got --span1 0:9 in a sentence of 8 words"),
        (("--span1", "two"), "got --span1 'two'; expected two numbers"),
        (("--span1", "0:1", "--span2", "4:4"), "got --span2 4:4"),
        (
            ("--span1", "0:1", "--tasks", "constituents"),
            "no probes of 'constituents'.*those of pos, entities, srl, coreference, proto-roles",
        ),
    ],
)
def test_bad_input_is_answered_in_words(trace, words, says):
    found = trace(*words)
    assert found.exit_code != 0
    assert found.exit_code == 2 or isinstance(found.exception, ProbingError)
    assert re.search(says, found.output if found.exit_code == 2 else str(found.exception))


def test_an_empty_sentence_is_refused(trace):
    assert "the sentence is empty" in trace("--span1", "0:1", sentence="  ").output


@pytest.fixture
def tasks(tmp_path, monkeypatch):
    """Calls ``edges tasks`` on an empty cache; gives its rows."""
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))

    def called(*words: str) -> list[dict]:
        found = CliRunner().invoke(app, ["edges", "tasks", *words, "--as", "json"])
        assert found.exit_code == 0, found.output
        return json.loads(found.output)

    return called


def test_every_task_is_listed_with_its_spans_licence_and_whether_its_data_are_here(tasks, tmp_path):
    rows = tasks()
    assert [row["task"] for row in rows] == list(EDGE_TASKS) and [row["task"] for row in rows][:8] == list(ALL)
    assert {row["fetched"] for row in rows} == {"no"} and all(row["licence"] for row in rows)
    (tmp_path / "cache" / "downloads" / "semeval2010-task8").mkdir(parents=True)
    assert [row["task"] for row in tasks() if row["fetched"] == "yes"] == ["relations"]


def test_counts_are_those_of_the_data_and_empty_where_there_are_none(tasks, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    lines = {
        "train": [("a b", [((0, 1), "X"), ((1, 2), "Y")]), ("a c", [((0, 1), "X")])],
        "dev": [("a d", [((0, 1), "X"), ((1, 2), "Y")]), ("e", [((0, 1), "Z")])],
    }
    for part, records in lines.items():
        (folder / f"{part}.jsonl").write_text(
            "".join(
                json.dumps(
                    {"text": text, "targets": [{"span1": list(span), "label": label} for span, label in targets]}
                )
                + "\n"
                for text, targets in records
            )
        )
    train, dev = tasks(str(folder), "--counts")
    assert (train["part"], train["targets"], train["labels"], train["memory_f1"]) == ("train", 3, 2, None)
    # "a" is remembered as X; "d" and "e" get X, the commonest label: one of three is right.
    assert (dev["records"], dev["targets"], dev["unseen_labels"], dev["ceiling"]) == (2, 3, 1, 1.0)
    assert dev["memory_f1"] == pytest.approx(1 / 3)
    assert tasks("relations", "--counts") == [{**tasks("relations")[0], **dict.fromkeys(list(train)[7:])}]


def test_an_unknown_task_is_refused():
    found = CliRunner().invoke(app, ["edges", "tasks", "nonsense"])
    assert found.exit_code == 2 and "got the task 'nonsense'" in found.output
