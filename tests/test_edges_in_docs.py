"""The numbers of edge probing on the shipped model's card and in the documentation are those of the shipped results."""

import re
from pathlib import Path

import pytest

from probing.edges.report_summary import summary, tasks_in_order
from probing.edges.tasks import EDGE_TASKS

ROOT = Path(__file__).resolve().parents[1]
CARD = (ROOT / "data" / "models" / "nesia-mini" / "README.md").read_text(encoding="utf-8")
TITLES = {task.title.lower(): name for name, task in EDGE_TASKS.items()}


def rows(title: str) -> list[list[str]]:
    """The cells of the card's table under a heading, without its header; none if there is no such table."""
    section = CARD.partition(f"#### {title}\n")[2].split("\n#")[0]
    return [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")][1:]


def numbers(text: str) -> list[float]:
    return [float(one) for one in re.findall(r"-?\d+\.\d+", text)]


@pytest.fixture(scope="module")
def found(database):
    return {
        unseen: summary(database, parts=("dev",), unseen=unseen).set_index(["model", "encoder", "task"])
        for unseen in (False, True)
    }


@pytest.fixture(scope="module")
def ours(found):
    """Task -> the base's numbers, of every word and of words that do not occur in training."""
    return {unseen: table.xs(("nesia-mini", "trained"), level=("model", "encoder")) for unseen, table in found.items()}


OF_BASE, TUNED = "Edge probing: micro F1 in per cent on development data", "Edge probing after fine-tuning"


def test_the_card_has_every_task_that_ships(ours):
    shipped = set(ours[False].index)
    assert shipped and [TITLES[task] for task, *_ in rows(OF_BASE)] == [name for name in EDGE_TASKS if name in shipped]


def test_the_card_says_what_the_results_say(ours):
    for task, seeds, *cells, said in rows(OF_BASE):
        one, unseen = ours[False].loc[TITLES[task]], ours[True].loc[TITLES[task]]
        assert int(seeds) == one["seeds"]
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


def test_what_fine_tuning_changes_is_said_with_its_numbers(found):
    table = found[False].xs("trained", level="encoder")
    compared = [
        (model, task) for model, task in table.index if (table.index.get_level_values("task") == task).sum() > 1
    ]
    stated = {
        (f"nesia-mini-{model}".removesuffix("-base"), TITLES[task]): numbers(cell) for task, model, cell in rows(TUNED)
    }
    assert set(stated) == set(compared)
    for key, cell in stated.items():
        assert cell == pytest.approx(
            [100 * table.loc[key][name] for name in ("f1_last", "f1_last_low", "f1_last_high")], abs=0.0501
        ), key
