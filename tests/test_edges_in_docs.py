"""The numbers of edge probing on the shipped model's card and in the documentation are those of the shipped results."""

import math
import re
from pathlib import Path

import pytest

from probing.core.edges.tasks import EDGE_TASKS
from probing.reports.edges.order import tasks_in_order
from probing.reports.edges.summary import summary
from probing.store.database import open_database

ROOT = Path(__file__).resolve().parents[1]
CARD = (ROOT / "data" / "models" / "nesia-mini" / "README.md").read_text(encoding="utf-8")
SECTION = CARD[CARD.index("## Edge probing") :].split("\n## ")[0]
TITLES = {
    "part of speech": "pos",
    "constituents": "constituents",
    "dependencies": "dependencies",
    "entities": "entities",
    "semantic roles": "srl",
    "coreference": "coreference",
    "proto-roles": "proto-roles",
    "relations": "relations",
}


def rows() -> dict[str, list[str]]:
    lines = [line.strip("| ").split(" | ") for line in SECTION.splitlines() if line.startswith("| ")][1:]
    return {TITLES[line[0].split(" (")[0]]: line[1:] for line in lines}


def numbers(text: str) -> list[float]:
    return [float(one) for one in re.findall(r"-?\d+\.\d+", text)]


@pytest.fixture(scope="module")
def database(shipped_database):
    with open_database(shipped_database) as db:
        yield db


@pytest.fixture(scope="module")
def found(database):
    return {unseen: summary(database, parts=("dev",), unseen=unseen).set_index(["model", "encoder", "task"]) for unseen in (False, True)}


def test_the_card_has_every_task():
    assert list(rows()) == [name for name in EDGE_TASKS if name in TITLES.values()]


@pytest.mark.parametrize("task", TITLES.values())
def test_the_card_says_what_the_results_say(found, task):
    *cells, said = rows()[task]
    first, last, gain, memory, random, unseen = map(numbers, cells)
    ours, beside = found[False].loc[("nesia-mini", "trained", task)], found[True].loc[("nesia-mini", "trained", task)]
    names = ("f1_first", "f1_last", "gain", "gain_low", "gain_high", "memory", "random")
    expected = [100 * ours[name] for name in names] + [100 * beside["f1_last"], 100 * beside["random"]]
    assert [*first, *last, *gain, *memory, *random, *unseen] == pytest.approx(expected, abs=0.0501)
    place = ours[["expected_layer", "expected_layer_low", "expected_layer_high"]].tolist()
    assert (numbers(said) or [math.nan] * 3) == pytest.approx(place, abs=0.0501, nan_ok=True)
    assert (said == "not resolved") == isinstance(ours["expected_layer_reason"], str) == (task == "coreference")


def test_no_pair_of_tasks_is_in_a_clear_order(database):
    pairs = tasks_in_order(database, "nesia-mini")
    assert set(pairs["verdict"]) == {"order not resolved"} and len(pairs) == 28
    assert pairs["reason"].value_counts().to_dict() == {"the interval contains 0": 21, "an expected layer is not resolved": 7}


def test_selectivity_and_patience_are_those_of_the_results(found):
    ours = found[False].sort_index().loc[("nesia-mini", "trained")]
    for task, words in {"pos": "{:.1f} points for part of speech", "entities": "{:.1f} for entities"}.items():
        assert words.format(100 * ours.loc[task, "selectivity_seen"]) in " ".join(SECTION.split())
    assert ours.loc["relations", "selectivity_seen"] == pytest.approx(0.712, abs=0.0005)
    ended = f"{ours['probes_stopped'].sum()} of the {ours['probes'].sum()}"
    assert ended == "38 of the 144" and ended in SECTION


def test_what_fine_tuning_changes_is_said_with_its_numbers(found):
    text = " ".join(SECTION[SECTION.index("**After fine-tuning**") :].split())
    for task, models in {"entities": ("", "-ner-conll", "-qa-squad-1"), "relations": ("", "-ner-conll", "-qa-squad-1")}.items():
        for model in models:
            row = found[False].loc[(f"nesia-mini{model}", "trained", task)]
            value, low, high = (f"{100 * row[name]:.1f}" for name in ("f1_last", "f1_last_low", "f1_last_high"))
            assert f"{value} ({low} to {high})" in text, (task, model)
