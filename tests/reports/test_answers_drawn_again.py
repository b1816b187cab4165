"""The intervals over right answers in reports, against the rows of planted runs; and the wider of two."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from probing.core.stats.answer_clusters import answer_interval
from probing.reports.knowledge.heads.losses import points_lost
from probing.reports.knowledge.pairs.yardsticks import paired_with_yardsticks
from probing.reports.knowledge.precision import by_layer, precision_by_relation
from probing.reports.knowledge.transitions import transitions, transitions_by_relation
from probing.reports.runs import choose, pairs
from probing.reports.wider import wider
from probing.store.opening import open_database
from tests.core.test_fact_numbers import sums_of
from tests.reports.test_from_raw_rows import PLANTS, Raw

ENDS = ["low_answers", "high_answers"]


@pytest.fixture(scope="module", params=["several", "forgetting"])
def stored(request, tmp_path_factory):
    folder: Path = tmp_path_factory.mktemp("answers")
    target = PLANTS[request.param](folder)
    return open_database(target), Raw(folder)


def expected(raw, run_id, layer, value, average="micro", least=0.0, keep=lambda fact: True):
    rows = [
        (raw.facts[fact]["relation"], raw.facts[fact]["object"], value(fact, of[layer]))
        for fact, of in raw.rows[run_id].items()
        if keep(fact)
    ]
    rows = [row for row in rows if row[2] is not None]
    return answer_interval(sums_of(rows), average, least) if rows else (np.nan, np.nan)


def above(_, row):
    return None if row["other_rank"] is None else float(row["gold_rank"] <= 10) - float(row["other_rank"] <= 10)


@pytest.mark.parametrize("average", ["micro", "macro"])
def test_by_layer_and_by_relation(stored, average):
    db, raw = stored
    for filters, keep in (
        ({}, lambda fact: True),
        ({"answer_in_subject": False}, lambda fact: not raw.facts[fact]["answer_in_subject"]),
    ):
        points = by_layer(db, list(raw.runs), "p_at_10", average, **filters)
        for row in points.itertuples():
            kept = {"average": average, "keep": keep}
            own = expected(raw, row.run_id, row.layer, lambda _, one: float(one["gold_rank"] <= 10), **kept)
            assert (row.low_answers, row.high_answers) == pytest.approx(own, abs=1e-5, nan_ok=True)
            # The database empties swapped ranks that do not fit their facts.
            measured = pd.notna(row.above_swapped)
            swapped = expected(raw, row.run_id, row.layer, above, least=-1, **kept) if measured else (np.nan, np.nan)
            assert (row.above_swapped_low_answers, row.above_swapped_high_answers) == pytest.approx(
                swapped, abs=1e-5, nan_ok=True
            )
    for row in precision_by_relation(db, list(raw.runs), 10).itertuples():
        of = {"keep": lambda fact, relation=row.relation: raw.facts[fact]["relation"] == relation}
        own = expected(raw, row.run_id, row.layer, lambda _, one: float(one["gold_rank"] <= 10), **of)
        assert (row.low_answers, row.high_answers) == pytest.approx(own, abs=1e-5)


def test_pairs(stored):
    db, raw = stored
    found = pairs(choose(db))
    table = transitions(db, found, (10,))
    assert len(table)
    for row in table.itertuples():
        shared, last = (
            raw.rows[row.base_run_id],
            max(one["layer"] for of in raw.rows[row.run_id].values() for one in of),
        )

        def more(fact, one, shared=shared):
            return (
                float(one["gold_rank"] <= 10) - float(shared[fact][-1]["gold_rank"] <= 10) if fact in shared else None
            )

        ends = expected(raw, row.run_id, -1, more, least=-1)
        assert (row.low_answers, row.high_answers) == pytest.approx(ends, abs=1e-5, nan_ok=True)
        lost = points_lost(db, found[found["run_id"] == row.run_id], 10).set_index("base_run_id").loc[row.base_run_id]
        assert (-lost["lost_high_answers"], -lost["lost_low_answers"]) == pytest.approx(ends, abs=1e-5, nan_ok=True)
        layers = paired_with_yardsticks(db, row.base_run_id, row.run_id, 10).set_index("layer")
        if last in layers.index:
            at_last = (
                layers[[f"{name}_{end}" for name in ("difference", "more") for end in ENDS]].astype(float).loc[last]
            )
            assert tuple(at_last[f"difference_{end}"] for end in ENDS) == pytest.approx(ends, abs=1e-5, nan_ok=True)
            mirrored = [-at_last["more_high_answers"], -at_last["more_low_answers"]]
            of_lost = lost[[f"lost_above_{end}" for end in ENDS]].astype(float)
            assert mirrored == pytest.approx(of_lost.tolist(), abs=1e-5, nan_ok=True)
    assert len(transitions_by_relation(db, found, 10)) >= len(table)


def test_the_wider_has_the_outer_ends_of_both():
    table = pd.DataFrame(
        {"low": [0.2, 0.2], "low_answers": [0.1, np.nan], "x_high": [0.3, 0.3], "x_high_answers": [0.2, 0.4]}
    )
    assert wider(table)[["low", "x_high"]].to_numpy().tolist() == [[0.1, 0.3], [0.2, 0.4]]
