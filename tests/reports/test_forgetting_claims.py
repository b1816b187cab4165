"""The two claims on forgetting: what decides them, and that nothing is said without results."""

import pandas as pd
import pytest

from probing.core.forgetting.excess import ABOVE, BELOW, UNKNOWN
from probing.core.stats.intervals import wilson
from probing.core.stats.paired_tests import newcombe
from probing.reports.reproduction.decisions import FAILS, HOLDS, UNSURE, UNTESTED
from probing.reports.reproduction.findings import judged_by
from probing.reports.reproduction.forgetting.claims import BACK, PREVENTED, RULES, ForgettingEvidence
from probing.reports.reproduction.forgetting.frozen_layers import prevented
from probing.reports.reproduction.forgetting.paper import bases_here, measure
from probing.store.database import open_database
from tests import forgetting_planted as planted
from tests.planted_relatives import BASE, COLA, SEED_2, SST_2
from tests.series_planted import FACTS, STEPS, plant_series
from tests.series_planted import PREVENTED as SERIES

RELEARNED, FROZEN = RULES


def back(*rows):
    """Evidence of (share, low, high, verdict) per model."""
    named = [(f"model-{n}", "CoLA", share, low, high, 0.2, 0.1, verdict) for n, (share, low, high, verdict) in enumerate(rows)]
    return ForgettingEvidence(pd.DataFrame(named, columns=list(BACK)))


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ([(0.7, 0.6, 0.8, ABOVE)], HOLDS),
        ([(0.7, 0.6, 0.8, ABOVE), (0.55, 0.45, 0.65, ABOVE)], UNSURE),
        ([(0.7, 0.6, 0.8, ABOVE), (0.7, 0.6, 0.8, UNKNOWN)], UNSURE),
        ([(0.7, 0.6, 0.8, ABOVE), (0.3, 0.2, 0.4, ABOVE)], FAILS),
        ([(0.7, 0.6, 0.8, BELOW)], FAILS),
        ([], UNTESTED),
    ],
)
def test_most_come_back_only_if_more_do_than_guesses(rows, verdict):
    assert judged_by(RULES[RELEARNED], back(*rows)).verdict == verdict


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ([("a", 0.5, 0.3, -0.25, -0.15)], HOLDS),
        ([("a", 0.5, 0.45, -0.1, 0.02)], UNSURE),
        ([("a", 0.3, 0.4, 0.05, 0.15)], FAILS),
        ([], UNTESTED),
    ],
)
def test_frozen_layers_are_judged_only_if_such_models_are_stored(rows, verdict):
    found = judged_by(RULES[FROZEN], ForgettingEvidence(prevented=pd.DataFrame(rows, columns=list(PREVENTED))))
    assert found.verdict == verdict and ("Not measured" in found.numbers) == (verdict == UNTESTED)


def test_ours_are_the_fine_tuned_models_of_a_base_without_its_control(tmp_path, databases):
    with open_database(databases.shared(planted.plant_forgetting(tmp_path / "runs"))) as db:
        assert list(bases_here(db)) == [BASE.name]
        table = measure(db, BASE.name).evidence.back.set_index("model")
    assert set(table.index) == {COLA.name, SST_2.name} and table["share"].eq(0.6).all()
    assert table["verdict"].eq(ABOVE).all() and table["never_share"].round(6).eq(0.2).all()


def test_frozen_layers_are_compared_with_the_same_seed_of_the_unprotected_training(tmp_path, databases):
    with open_database(databases.shared(plant_series(tmp_path / "series", SERIES))) as db:
        table = prevented(db, BASE.name)
        assert prevented(db, "other").empty
    (row,) = table.itertuples()
    assert row.model == f"{SEED_2.objective}, {STEPS[-1]} steps, freeze 2 layers"
    usual, frozen = (sum(1 for n in range(0, FACTS, 2) if n % 20 // 2 < lost and n) / (FACTS // 2) for lost in (5, 4))
    assert (row.usual, row.frozen) == pytest.approx((usual, frozen))
    low, high = (wilson(round(share * FACTS / 2), FACTS // 2) for share in (frozen, usual))
    assert (row.low, row.high) == pytest.approx(newcombe((frozen, *low), (usual, *high))[1:])
    assert judged_by(RULES[FROZEN], ForgettingEvidence(prevented=table)).verdict == UNSURE
