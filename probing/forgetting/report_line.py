"""What is kept, lost and gained on the line between the weights of a base and a fine-tuned model, at which score."""

from collections.abc import Sequence

import pandas as pd

from probing.forgetting.report_series import OF, chosen, line_runs
from probing.forgetting.series import ALL, CHOSEN, HALVES, LINE_COUNTS, REPORTED
from probing.forgetting.store import series_line
from probing.kernel.columns import Columns, floats
from probing.kernel.stats.paired_tests import PairedCounts, paired_difference
from probing.kernel.store.database import Database

_OF = tuple(name for name in OF if name != "protection")
_MORE = floats("kept_share difference low high own_minus_swapped own_low own_high score")
COLUMNS = Columns(*_OF, "k half a", LINE_COUNTS, _MORE, "metric examples", Columns("offered", dtype="bool"))
#: How far below the fine-tuned model's a score may be.
_POINT = 0.01


def line(
    db: Database, models: Sequence[str] | None = None, probe_sets: Sequence[str] | None = None, k: int = 1
) -> pd.DataFrame:
    """One row per point of a line and half of its facts and examples.

    a: share of the fine-tuned weights. kept_share: of the facts that the base knows; difference: minus that of the
    fine-tuned model, paired. own_minus_swapped: of them those that have a swapped subject, the share known minus the
    share answered rightly with it, paired. All intervals are 95 %. offered: the a that keeps the most facts among those
    whose score is at most a point below the fine-tuned model's, both on the choosing half; none without a score.
    """
    runs = chosen(line_runs(db), models, probe_sets)
    rows = series_line(db, list(runs["run_id"]), k).merge(runs[["run_id", *_OF]], on="run_id")
    shares = [
        (row.kept, row.back, row.gone, row.kept + row.lost, row.own, row.swapped, row.both, row.paired)
        for row in rows.itertuples()
    ]
    kept = [paired_difference(PairedCounts(n - back, back, gone, of - n - gone)) for n, back, gone, of, *_ in shares]
    own = [
        paired_difference(PairedCounts(both, n - both, other - both, of - n - other + both))
        for *_, n, other, both, of in shares
    ]
    columns = {"a": rows["step"] / 100, "kept_share": rows["kept"] / (rows["kept"] + rows["lost"])}
    for found, names in ((kept, ("difference", "low", "high")), (own, ("own_minus_swapped", "own_low", "own_high"))):
        columns |= {
            name: pd.Series([getattr(one, end) for one in found], rows.index, dtype="float64")
            for name, end in zip(names, ("value", "low", "high"), strict=True)
        }
    rows = rows.assign(**columns, metric=rows["metric"].fillna(""))
    offers = {run_id: _offered(of_run) for run_id, of_run in rows.groupby("run_id")}
    rows["offered"] = rows["step"] == rows["run_id"].map(offers)
    rows["half"] = pd.Categorical(rows["half"], HALVES)
    rows = rows.sort_values([*_OF, "half", "a"], ignore_index=True)
    return COLUMNS.frame(rows.astype({"half": str})[list(COLUMNS)])


def _offered(rows: pd.DataFrame) -> float | None:
    """Per cent of the fine-tuned weights at the offered point of a line; None without a score."""
    half = rows[rows["half"] == CHOSEN]
    enough = half[half["score"] >= half.loc[half["step"] == 100, "score"].max() - _POINT]
    return None if enough.empty else float(enough.sort_values(["kept", "step"])["step"].iloc[-1])


def in_words(rows: pd.DataFrame) -> list[str]:
    """What a line shows; ``rows``: ``line`` of one model, probe set and k."""
    every = rows[rows["half"] == ALL].set_index("a")
    base, tuned, middle = every.loc[0.0], every.loc[1.0], every.loc[0.5]
    words = [
        f"Of {base.kept:,} facts that {base.base} knows, {base.model} keeps {tuned.kept:,}; half of each's weights keep"
        f" {middle.kept:,}."
    ]
    offers = rows[rows["offered"] & (rows["half"] == REPORTED)]
    if offers.empty:
        return [*words, "Without a score no point is best: by facts alone it is always the base."]
    (at,), of = offers.itertuples(), rows[(rows["half"] == REPORTED) & (rows["a"] == 1)].iloc[0]
    if at.a == 1:
        return [*words, "No mean keeps more at a score within one point: the fine-tuned model is offered itself."]
    return [
        *words,
        f"Offered: {at.a:g} of the fine-tuned weights, chosen on one half of facts and examples. On the other half it"
        f" keeps {at.kept:,} of {at.kept + at.lost:,} facts, the fine-tuned model {of.kept:,}:"
        f" {100 * at.difference:+.1f} points (95 % interval {100 * at.low:+.1f} to {100 * at.high:+.1f}); {at.metric}"
        f" {at.score:.3f}, fine-tuned {of.score:.3f} ({at.examples:,} examples).",
    ]
