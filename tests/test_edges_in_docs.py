"""The numbers of edge probing on the shipped model's card and in the documentation are those of the shipped results."""

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


@pytest.fixture(scope="module")
def ours(found):
    """Task -> the base's numbers, of every word and of words that do not occur in training."""
    return {unseen: table.xs(("nesia-mini", "trained"), level=("model", "encoder")) for unseen, table in found.items()}


def test_the_card_has_every_task_that_ships(ours):
    shipped = set(ours[False].index)
    assert shipped and list(rows()) == [name for name in EDGE_TASKS if name in shipped]


def test_the_card_says_what_the_results_say(ours):
    for task, (*cells, said) in rows().items():
        one, unseen = ours[False].loc[task], ours[True].loc[task]
        names = ("f1_first", "f1_last", "gain", "gain_low", "gain_high", "memory", "random")
        expected = [100 * one[name] for name in names] + [100 * unseen["f1_last"], 100 * unseen["random"]]
        stated = [number for cell in cells for number in numbers(cell)]
        assert stated == pytest.approx([number for number in expected if number == number], abs=0.0501), task
        place = one[["expected_layer", "expected_layer_low", "expected_layer_high"]].tolist()
        assert numbers(said) == pytest.approx([number for number in place if number == number], abs=0.0501), task
        assert (said == "not resolved") == isinstance(one["expected_layer_reason"], str), task


def test_two_tasks_are_in_order_only_if_the_interval_of_their_difference_says_so(database, ours):
    pairs = tasks_in_order(database, "nesia-mini")
    tasks = len(ours[False])
    assert len(pairs) == tasks * (tasks - 1) // 2
    for pair in pairs.itertuples():
        clear = {"earlier": pair.high < 0, "later": pair.low > 0}.get(pair.verdict)
        assert clear is True or (clear is None and pair.verdict == "order not resolved" and pair.reason), pair


def test_selectivity_and_patience_are_those_of_the_results(ours):
    text = " ".join(SECTION.split())
    selective = ours[False]["selectivity_seen"].dropna()
    assert [task for task, value in selective.items() if f"{100 * value:.1f}" not in text] == []
    assert f"{ours[False]['probes_stopped'].sum()} of the {ours[False]['probes'].sum()}" in text


def test_what_fine_tuning_changes_is_said_with_its_numbers(found):
    table = found[False].xs("trained", level="encoder")
    tuned = [key for key in table.index if key[0] != "nesia-mini"]
    text = " ".join(SECTION.partition("**After fine-tuning**")[2].split())
    for model, task in {*tuned, *(("nesia-mini", task) for _, task in tuned)}:
        value, low, high = (f"{100 * table.loc[(model, task)][name]:.1f}" for name in ("f1_last", "f1_last_low", "f1_last_high"))
        assert f"{value} ({low} to {high})" in text, (task, model)
