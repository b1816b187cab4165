"""Whether the model goes by what its layers show: shares by layer with their nulls, and of facts that were lost."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from probing.facts.runs import NAMES, choose, pair_identities, pairs
from probing.facts.store_carried import carried_facts, carried_runs, lost_facts
from probing.facts.tables import MEASURED
from probing.kernel.columns import Columns, floats, integers
from probing.kernel.models.names import LOGIT_LENS
from probing.kernel.report import Choice, refuse_unstored, whole_runs
from probing.kernel.stats.intervals import pigeonhole, wilson_mean
from probing.kernel.stats.paired_tests import PairedCounts, paired_interval
from probing.kernel.store.database import Database

MEASURES = ("read", "alone", "against", "settled")
_ENDS = (("value", "low", "high"), ("null", "null_low", "null_high"), ("above_null", "above_low", "above_high"))
#: The difference that the figure shades, over the facts that the sentence without subject does not answer.
READ_NOT_CARRIED = "read minus alone"
#: What the state of a fact that only an inner layer reads brings: shares of those that this layer reads.
BROUGHT = {"right": "alone", "as before": "as_before"}
_RUN = Columns("run_id", NAMES)
COLUMNS = Columns(
    _RUN,
    "part measure layer",
    integers("n null_n"),
    floats("value low high null null_low null_high above_null above_low above_high"),
)
LOST_COLUMNS = Columns(
    _RUN,
    "base layer",
    integers("lost read measured carried"),
    floats("read_share carried_share carried_low carried_high"),
)


def chosen(db: Database, choice: Choice) -> pd.DataFrame:
    """The runs of a report's filters, the newest of each model and probe set."""
    runs = carried_runs(db)
    runs = runs[runs["template_set"] == choice["templates"]]
    for name in ("model", "probe_set"):
        if choice[name]:
            runs = runs[runs[name].isin(list(choice[name]))]
    return newest(runs)


def newest(runs: pd.DataFrame) -> pd.DataFrame:
    """One run of each model and probe set, from all of ``carried_runs``."""
    return whole_runs(runs.reset_index(drop=True), (*NAMES, "template_set"), [frozenset()] * len(runs))


def refuse(db: Database, choice: Choice) -> None:
    """Raises an ``OptionError`` for a model or probe set of which nothing is stored."""
    runs = carried_runs(db)
    refuse_unstored("runs of --measure carried", choice, {name: runs[name] for name in ("model", "probe_set")})


def by_layer(db: Database, run_ids: Sequence[str]) -> pd.DataFrame:
    """The shares of ``MEASURES`` at every layer, with 95 % intervals, their nulls, and what is above them.

    ``n`` facts; ``null_n`` of them have a null, and ``above_null`` is the paired difference over these. ``part`` inner:
    of the facts that this layer reads and the last one does not, what their state brings, see ``BROUGHT``.
    """
    facts, runs = carried_facts(db, run_ids), carried_runs(db).set_index("run_id")
    rows = [
        {"run_id": run_id, "part": part} | numbers
        for (run_id, part), some in facts.groupby(["run_id", "part"], sort=False)
        for numbers in _rows(some, part == "known")
    ]
    named = runs.loc[list(facts["run_id"].unique()), list(NAMES)].reset_index()
    found = named.merge(pd.DataFrame(rows, columns=["run_id", *COLUMNS.without(_RUN)]), on="run_id")
    return COLUMNS.frame(found.sort_values(["part", *NAMES], ascending=[False, *[True] * len(NAMES)], kind="stable"))


def _rows(facts: pd.DataFrame, known: bool) -> Iterator[dict[str, Any]]:
    """The rows of one part of a run's facts, with a row for each layer."""
    depth = int(facts["layer"].max()) + 1
    flags = {
        name: facts[name].to_numpy(dtype=np.float64, na_value=np.nan).reshape(-1, depth)
        for name in ("read", "as_before", *MEASURED)
    }
    flags["read_null"] = np.full_like(flags["read"], np.nan)
    one = facts.iloc[::depth]
    answers = [one["relation"] + "\n" + one[name].fillna("").str.casefold() for name in ("object", "host_object")]
    clusters, _ = pd.factorize(pd.concat(answers))
    own, host = clusters[: len(one)], clusters[len(one) :]
    if not known:
        for measure, name in BROUGHT.items():
            yield from _shares(measure, np.where(flags["read"] == 1, flags[name], np.nan), flags["read_null"], own)
        return
    flags["alone"][one["guessed"].to_numpy(bool)] = np.nan
    for measure in MEASURES:
        value, null = flags[measure], flags[f"{measure}_null"]
        yield from _shares(measure, value, null + 0 * value, own, host if measure == "against" else None)
    yield from _shares(READ_NOT_CARRIED, flags["read"], flags["alone"], own)


def _shares(
    measure: str, value: np.ndarray, null: np.ndarray, own: np.ndarray, host: np.ndarray | None = None
) -> Iterator[dict[str, Any]]:
    """Rows of (facts, layers) values and their null; an interval is never narrower than that of independent facts."""
    sides = (value, null, value - null)
    ends = [pigeonhole(each, own, host) for each in sides]
    for layer in range(value.shape[1]):
        columns = [each[:, layer][~np.isnan(each[:, layer])] for each in sides]
        row: dict[str, Any] = {"measure": measure, "layer": layer, "n": len(columns[0]), "null_n": len(columns[2])}
        for names, each, (low, high) in zip(_ENDS, columns, ends, strict=True):
            if not len(each) or (measure == READ_NOT_CARRIED and names is not _ENDS[2]):
                continue
            if names is _ENDS[2]:
                pairs = PairedCounts(0, int((each > 0).sum()), int((each < 0).sum()), int((each == 0).sum()))
                _, least, most = paired_interval(pairs)
            else:
                least, most = wilson_mean(float(each.mean()), len(each))
            row |= dict(zip(names, (each.mean(), min(low[layer], least), max(high[layer], most)), strict=True))
        yield row


def lost(db: Database, run_ids: Sequence[str]) -> pd.DataFrame:
    """Of the facts that only the base answers at its last layer, how many each layer of the fine-tuned model reads.

    Both are read by their own heads (the logit lens). Of the facts that a layer reads, ``measured`` are in the sample
    of facts that only an inner layer reads, and of these ``carried`` alone bring the right answer.
    """
    runs = carried_runs(db).set_index("run_id").loc[list(run_ids)].reset_index()
    read = pair_identities(db, pairs(choose(db, heads=[LOGIT_LENS]))).rename(columns={"run_id": "tuned"})
    runs = runs[["run_id", *NAMES, "layers"]].merge(read[["model", "probe_set", "base", "base_run_id", "tuned"]])
    counts = lost_facts(db, runs)
    shares = [
        wilson_mean(carried / n, n) if n else (np.nan, np.nan)
        for carried, n in zip(counts["carried"], counts["measured"], strict=True)
    ]
    counts = counts.assign(
        read_share=counts["read"] / counts["lost"],
        carried_share=counts["carried"] / counts["measured"].where(counts["measured"] > 0),
        carried_low=[low for low, _ in shares],
        carried_high=[high for _, high in shares],
    )
    return LOST_COLUMNS.frame(runs.merge(counts, on="run_id"))
