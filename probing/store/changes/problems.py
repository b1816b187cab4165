"""What is wrong with stored measurements of what fine-tuning changed: every problem in words, none repaired."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from probing.core.changes.measures import MEASURES
from probing.core.provenance import stored_configuration
from probing.store.changes.tables import ALL_HEADS, CHANGE_KEYS, CHANGE_SCHEMAS

_AGAIN = "delete its files and run `changes measure` again"
_CONFIGURED = ("model", "seed")
#: Which layers can be replaced by the base's.
REPLACED = ("none", "last", "first", "single")
#: How far float32 sums by block may be from the sum.
_ROUNDING = 1e-4


def change_problems(tables: Mapping[str, pa.Table]) -> list[str]:
    """Problems of runs, and of perplexities while models were fine-tuned.

    Args:
        tables: table -> its rows; of rows with one key the first counts. Tables that are not there are empty.
    """
    frames = {name: _frame(name, tables.get(name)) for name in CHANGE_SCHEMAS}
    runs, problems = frames["change_runs"], []
    of_run = {name: dict(iter(frames[name].groupby("run_id"))) for name in ("change_values", "perplexity")}
    for name, found in of_run.items():
        strays = sorted(set(found) - set(runs["run_id"]))
        unrowed = f"has rows of {name} but no row in any change_runs file; run `changes measure` again"
        problems += [f"run {run_id}: {unrowed}" for run_id in strays]
    for run in runs.to_dict("records"):
        mine = {name: found.get(run["run_id"], frames[name].iloc[:0]) for name, found in of_run.items()}
        problems += [f"run {run['run_id']}: {problem}; {_AGAIN}" for problem in _run_problems(run, mine)]
    return problems + list(_epoch_problems(frames["epoch_perplexity"]))


def _frame(name: str, table: pa.Table | None) -> pd.DataFrame:
    found = CHANGE_SCHEMAS[name].empty_table() if table is None else table
    frame = found.to_pandas().drop_duplicates(list(CHANGE_KEYS[name]), ignore_index=True)
    # The value of pandas for an empty text is true.
    return frame.fillna({"base": "", "left_out": ""}) if name == "change_runs" else frame


def _run_problems(run: dict[str, Any], mine: Mapping[str, pd.DataFrame]) -> Iterator[str]:
    said = stored_configuration(run["config"])
    for name in _CONFIGURED:
        if name in said and said[name] != run[name]:
            yield f"its row says {name} {run[name]!r}, its configuration {said[name]!r}"
            return
    values, perplexity = mine["change_values"], mine["perplexity"]
    if values.empty and perplexity.empty:
        yield "it has no values"
        return
    for problem in (_value_problem(run, values), _perplexity_problem(run, perplexity)):
        if problem:
            yield problem


def _value_problem(run: dict[str, Any], values: pd.DataFrame) -> str | None:
    last, heads = int(run["layers"]) - 1, int(run["heads"])
    for row in values.to_dict("records"):
        where = f"{row['measure']} at layer {row['layer']}"
        if (measure := MEASURES.get(row["measure"])) is None:
            return f"the measure {row['measure']!r} is not known; expected one of {', '.join(MEASURES)}"
        if measure.change_of and run["base"] in ("", run["model"]):
            return f"{where} compares with a base, and the run names none"
        if row["layer"] > last:
            return f"{where} is above the last layer {last}"
        if row["head"] != ALL_HEADS and row["head"] >= heads:
            return f"{where} is of head {row['head']}, the model has {heads}"
        if not np.isnan([row["low"], row["high"]]).any() and not row["low"] <= row["high"]:
            return f"the interval of {where} reaches from {row['low']:g} to {row['high']:g}"
    by_measure = values[values["head"] == ALL_HEADS].groupby("measure")["layer"].apply(sorted)
    for measure, layers in by_measure.items():
        expected = list(range(0 if MEASURES[str(measure)].layer0 else 1, last + 1))
        # At layer 0 all vectors of first tokens are the same, and some measures are undefined there.
        if layers not in (expected, expected[1:] if expected[0] == 0 else expected):
            return f"{measure} has values of the layers {layers}, expected {expected}"
    return None


def _perplexity_problem(run: dict[str, Any], rows: pd.DataFrame) -> str | None:
    last = int(run["layers"]) - 1
    if len(rows) and int((rows["replaced"] == "none").sum()) != 1:
        return f"{int((rows['replaced'] == 'none').sum())} perplexities are of the unchanged model, expected 1"
    first: list[int] | None = None
    for row in rows.to_dict("records"):
        where = f"the perplexity with {row['replaced']} {row['n']} replaced"
        if row["replaced"] not in REPLACED or row["n"] > last or (row["n"] == 0) != (row["replaced"] == "none"):
            return f"{where} is impossible: expected one of {', '.join(REPLACED)} and up to {last} layers"
        if row["by_block"] is None or row["masked_by_block"] is None:
            continue
        masked, sums = [int(n) for n in row["masked_by_block"]], np.asarray(row["by_block"], dtype=np.float64)
        if len(masked) != run["blocks"] or len(sums) != run["blocks"]:
            return f"{where} is of {len(sums):,} blocks, the run of {run['blocks']:,}"
        if sum(masked) != row["masked"] or (first is not None and masked != first):
            return f"{where} is of other masked pieces than the run's other perplexities"
        first = masked
        if abs(sums.sum() - row["cross_entropy"]) > _ROUNDING * max(1.0, row["cross_entropy"]):
            return f"{where} has blocks that sum to {sums.sum():.4f}, its cross-entropy is {row['cross_entropy']:.4f}"
    return None


def _epoch_problems(rows: pd.DataFrame) -> Iterator[str]:
    for model, mine in rows.groupby("model"):
        if mine["masked"].nunique() > 1 or mine["blocks"].nunique() > 1:
            yield f"epoch_perplexity of {model}: its epochs are of different blocks; fine-tune it again"
        elif (mine["masked"] == 0).any():
            yield f"epoch_perplexity of {model}: no piece is masked; fine-tune it again"
