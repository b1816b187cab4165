"""The tables of docs/heads.md have the numbers of the shipped results."""

from collections import defaultdict

import pyarrow.compute as pc
import pytest

from probing.kernel.registry import REPOSITORY, read_registry
from probing.kernel.store.parquet import read_table
from probing.kernel.store.stored import fact_runs
from tests import written_heads
from tests.shipped import SNAPSHOT

DOCS = (REPOSITORY / "docs" / "heads.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def reports(database):
    return written_heads.reports(database)


def test_the_tables_are_those_that_make_docs_writes(database):
    assert written_heads.with_tables(DOCS, database) == DOCS, "make docs writes them again"


def test_every_shipped_run_on_t_rex_has_its_row(database, reports):
    runs = fact_runs(database).query("probe_set == 'trex' and template_set == 'default' and seed == 0")
    wanted = {
        (row.model, row.head)
        for row in runs.itertuples()
        if row.model not in read_registry().family("nesia-mini").results_only
    }
    assert set(written_heads.runs(reports)) == wanted
    for table in (written_heads.last_layer(reports), written_heads.inner_layers(reports)):
        assert len(table.splitlines()) == 2 + len(wanted)
        assert sum(line.startswith("| base |") for line in table.splitlines()) == sum(
            model == "nesia-mini" for model, _ in wanted
        )


def test_shares_at_the_last_layer_are_those_of_the_raw_rows(database, reports):
    runs = fact_runs(database).query("probe_set == 'trex' and template_set == 'default' and seed == 0 and not counted")
    relation = {
        row["fact_id"]: row["relation"]
        for path in SNAPSHOT.glob("facts-*.parquet")
        for row in read_table(path, "facts").to_pylist()
    }
    rows = {
        (model, head.strip("`")): cells
        for model, head, *cells in (
            line.strip("| ").split(" | ") for line in written_heads.last_layer(reports).splitlines()[2:]
        )
    }
    assert len(runs)
    for run in runs.itertuples():
        known = defaultdict(list)
        path = SNAPSHOT / f"predictions-{run.run_id}.parquet"
        table = read_table(path, "predictions", ["fact_id", "layer", "gold_rank", "other_rank"])
        for row in table.filter(pc.equal(table["layer"], run.layers - 1)).to_pylist():
            if row["other_rank"] is not None:
                known[relation[row["fact_id"]]].append((row["gold_rank"] == 1, row["other_rank"] == 1))
        every = [pair for pairs in known.values() for pair in pairs]
        cells = rows["base" if run.model == "nesia-mini" else run.model.removeprefix("nesia-mini-"), run.head]
        for side, place in ((0, 0), (1, 1)):
            micro = sum(pair[side] for pair in every) / len(every)
            macro = sum(sum(pair[side] for pair in pairs) / len(pairs) for pairs in known.values()) / len(known)
            assert float(cells[place]) == pytest.approx(100 * micro, abs=0.051)
            assert float(cells[place + 3]) == pytest.approx(100 * macro, abs=0.051)
