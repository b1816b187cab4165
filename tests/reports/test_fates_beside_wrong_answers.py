"""Of the two fates at an inner layer: the planted share of the lost facts and that of wrong answers of the same
confidence.
"""

import pytest

from probing.core.facts.fact import Fact, fill
from probing.reports.knowledge.transitions import BESIDE, transitions_beside_wrong
from probing.reports.runs import choose, pairs
from probing.store.database import Database
from probing.store.opening import open_database
from tests.store.planted import TOKENS, PlantedRun, plant_store

LAST = 4
#: Facts, whether the answer is right, the layers at which base and fine-tuned model say it first, and whether it is
#: that of a fact.
CASES = (
    (30, True, {2, LAST}, {2}, True),
    (12, True, {2, LAST}, {3}, True),
    (18, True, {0, LAST}, {0}, True),
    (6, False, {2, LAST}, {2, 3}, True),
    (9, False, {LAST}, {1}, True),
    (45, False, {LAST}, set(), True),
    # Neither lost nor wrong answers of the same kind: still given, kept, and right for no fact.
    (20, False, {2, LAST}, {2, LAST}, True),
    (20, True, {2, LAST}, {2, LAST}, True),
    (20, False, {2, LAST}, {2}, False),
)
ASKED = [case[1:] for case in CASES for _ in range(case[0])]


def _said(number: int) -> str:
    return ("paris", "rome")[number % 2] if ASKED[number][3] else "music"


def _run(model: int) -> PlantedRun:
    """The base (0) or the fine-tuned model (1)."""

    def first(number: int, layer: int) -> bool:
        return layer in ASKED[number][1 + model]

    template = "The capital of [X] is [Y] ."
    names = [f"Subject {number}" for number in range(len(ASKED))]
    answers = [_said(number) if right else "berlin" for number, (right, *_) in enumerate(ASKED)]
    return PlantedRun(
        model=("nesia-mini", "nesia-mini-sst-2")[model],
        base=("", "nesia-mini")[model],
        layers=LAST + 1,
        facts=tuple(
            Fact("trex", "P36", name, answer, template, fill(template, name))
            for name, answer in zip(names, answers, strict=True)
        ),
        rank=lambda number, layer: 1 if ASKED[number][0] and first(number, layer) else 300,
        top=lambda number, layer: TOKENS.index(_said(number) if first(number, layer) else "water"),
    )


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory):
    runs = (_run(0), _run(1))
    stated = {f"P36\t{fact.subject}\t{fact.object}": "stated" for fact in runs[0].asked[::3]}
    with open_database(plant_store(tmp_path_factory.mktemp("store"), runs, stated)) as database:
        yield database


def test_the_shares_of_both_groups_are_the_planted_ones(db: Database):
    one, ten = transitions_beside_wrong(db, pairs(choose(db)), (1, 10)).to_dict("records")
    assert (one["lost"], one["still_inside"], one["moved"]) == (60, 30, 12)
    assert [one[name] for name in ("still_inside_share", "moved_share")] == pytest.approx([30 / 60, 12 / 60], abs=1e-4)
    assert [one[name] for name in ("still_inside_wrong", "moved_wrong")] == pytest.approx([6 / 60, 9 / 60], abs=1e-4)
    assert all(
        one[f"{fate}_low"] < one[f"{fate}_share"] - one[f"{fate}_wrong"] < one[f"{fate}_high"]
        for fate in ("still_inside", "moved")
    )
    assert all(ten[name] != ten[name] for name in BESIDE), "a first answer is one"


def test_too_few_facts_have_no_yardstick(db: Database):
    (row,) = transitions_beside_wrong(db, pairs(choose(db)), (1,), exposures=("stated",)).to_dict("records")
    assert row["lost"] == 20 and all(row[name] != row[name] for name in BESIDE)
