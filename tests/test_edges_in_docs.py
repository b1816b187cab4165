"""The numbers of edge probing on the shipped model's card and in the documentation are those of the shipped results."""

import re
from pathlib import Path

import pytest

from probing.core.edges.tasks import EDGE_TASKS
from probing.reports.edges.order import tasks_in_order
from probing.reports.edges.summary import summary
from probing.store.build import build_database
from probing.store.database import open_database

ROOT = Path(__file__).resolve().parents[1]
CARD = (ROOT / "data" / "models" / "nesia-mini" / "README.md").read_text(encoding="utf-8")
SECTION = CARD[CARD.index("## Edge probing") :].split("\n## ")[0]
TITLES = {
    "part of speech": "pos", "constituents": "constituents", "dependencies": "dependencies", "entities": "entities",
    "semantic roles": "srl", "coreference": "coreference", "proto-roles": "proto-roles", "relations": "relations",
}  # fmt: skip


def rows() -> dict[str, list[str]]:
    lines = [line.strip("| ").split(" | ") for line in SECTION.splitlines() if line.startswith("| ")][1:]
    return {TITLES[line[0].split(" (")[0]]: line[1:] for line in lines}


def numbers(text: str) -> list[float]:
    return [float(one) for one in re.findall(r"-?\d+\.\d+", text)]


@pytest.fixture(scope="module")
def shipped_database(tmp_path_factory):
    folder, alone = tmp_path_factory.mktemp("database"), tmp_path_factory.mktemp("edges")
    for path in (ROOT / "data" / "snapshot").glob("edge_*.parquet"):
        (alone / path.name).symlink_to(path)
    build_database([alone], folder)
    with open_database(folder) as db:
        yield db


@pytest.fixture(scope="module")
def found(shipped_database):
    return {
        unseen: summary(shipped_database, parts=("dev",), unseen=unseen).set_index(["model", "encoder", "task"]) for unseen in (False, True)
    }


def test_the_card_has_every_task():
    assert list(rows()) == [name for name in EDGE_TASKS if name in TITLES.values()]


@pytest.mark.parametrize("task", TITLES.values())
def test_the_card_says_what_the_results_say(found, task):
    first, last, gain, memory, random, unseen, place = map(numbers, rows()[task])
    ours, beside = found[False].loc[("nesia-mini", "trained", task)], found[True].loc[("nesia-mini", "trained", task)]
    names = ("f1_first", "f1_last", "gain", "gain_low", "gain_high", "memory", "random")
    expected = [100 * ours[name] for name in names] + [100 * beside["f1_last"], 100 * beside["random"]]
    assert [*first, *last, *gain, *memory, *random, *unseen] == pytest.approx(expected, abs=0.0501)
    assert place == pytest.approx(ours[["expected_layer", "expected_layer_low", "expected_layer_high"]].tolist(), abs=0.0501)


def test_two_of_28_pairs_of_tasks_are_in_a_clear_order(shipped_database):
    pairs = tasks_in_order(shipped_database, "nesia-mini")
    clear = {(row.first, row.second, row.verdict) for row in pairs.itertuples() if row.verdict != "order not resolved"}
    assert clear == {("constituents", "dependencies", "earlier"), ("dependencies", "srl", "later")} and len(pairs) == 28


def test_what_fine_tuning_changes_is_said_with_its_numbers(found):
    text = " ".join(SECTION[SECTION.index("**After fine-tuning**") :].split())
    for task, models in {"entities": ("", "-ner-conll", "-qa-squad-1"), "relations": ("", "-ner-conll", "-qa-squad-1")}.items():
        for model in models:
            row = found[False].loc[(f"nesia-mini{model}", "trained", task)]
            value, low, high = (f"{100 * row[name]:.1f}" for name in ("f1_last", "f1_last_low", "f1_last_high"))
            assert f"{value} ({low} to {high})" in text, (task, model)
