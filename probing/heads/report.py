"""Losses of fine-tuned models at the last layer, by kind of head: P@k, and P@k minus the swapped subject."""

from collections.abc import Sequence

import pandas as pd

from probing.facts.report_layers import by_layer
from probing.facts.report_pairs import joined, transitions
from probing.facts.runs import PAIR
from probing.facts.store import sums_of
from probing.facts.store_pairs import transition_counts
from probing.kernel.stats.paired_tests import each_interval
from probing.kernel.store.database import Database

_ENDS = ("", "_low", "_high")
#: The ends if answers are drawn again, too.
_ANSWERS = ("_low_answers", "_high_answers")
_OF_RUN = (
    *(f"value{end}" for end in (*_ENDS, *_ANSWERS)),
    "swapped_n",
    "matched",
    "swapped",
    *(f"above_swapped{end}" for end in (*_ENDS, *_ANSWERS)),
)
_LOST = tuple(f"{name}{end}" for name in ("lost", "lost_above") for end in (*_ENDS, *_ANSWERS))
COLUMNS = (*PAIR, "k", "n", "by_fact", "majority", *(f"base_{name}" for name in _OF_RUN), *_OF_RUN, *_LOST)
#: Quantity that is compared between kinds of heads -> its column.
_SAID = {"lost": "lost_above", "kept": "above_swapped"}
_SIDE = ("head", "value", "low", "high")
READ_OUT_COLUMNS = (
    "model",
    "what",
    "heads",
    *(f"{side}_{name}" for side in ("least", "most") for name in _SIDE),
    "apart",
    "changed",
)


def points_lost(
    db: Database,
    pairs: pd.DataFrame,
    k: int = 1,
    exposures: Sequence[str] | None = None,
    answer_in_subject: bool | None = None,
) -> pd.DataFrame:
    """Base minus fine-tuned model at the last layers, for ``pairs`` of runs; micro. Pairs without facts have no row.

    ``lost`` is base_value minus value, ``lost_above`` the base's above_swapped minus the model's; the yardsticks are
    those of ``precision.by_layer``, ``majority`` for P@1 only. by_fact: ``lost`` is paired fact by fact, as in
    ``transitions``; a run with counts only cannot be paired, so its interval combines the two as for independent
    shares. The interval of ``lost_above`` always does so. Ends with ``_answers`` are those if answers are drawn again,
    too, paired fact by fact and empty for counts only.
    """
    if pairs.empty:
        return pd.DataFrame(columns=list(COLUMNS))
    run_ids = tuple(dict.fromkeys((*pairs["base_run_id"], *pairs["run_id"])))
    last = by_layer(db, run_ids, f"p_at_{k}", "micro", exposures, answer_in_subject, last_only=True)
    last = last.rename(columns={end: f"value_{end}" for end in ("low", "high", "low_answers", "high_answers")})
    table = pairs[list(PAIR)].merge(last[["run_id", "n", "majority", *_OF_RUN]], on="run_id")
    of_base = last[["run_id", *_OF_RUN]].rename(
        columns={"run_id": "base_run_id", **{name: f"base_{name}" for name in _OF_RUN}}
    )
    table = table.merge(of_base, on="base_run_id").assign(k=int(k))
    for name, column in (("lost", "value"), ("lost_above", "above_swapped")):
        base, own = ([table[f"{prefix}{column}{end}"] for end in _ENDS] for prefix in ("base_", ""))
        table[name], table[f"{name}_low"], table[f"{name}_high"] = joined(base, own)
    clusters = transition_counts(db, table["base_run_id"], table["run_id"], k, exposures, answer_in_subject)
    clusters = clusters.groupby(["base_run_id", "run_id"], as_index=False).sum(numeric_only=True)
    clusters = table[["base_run_id", "run_id"]].merge(clusters, how="left")
    for name, value in (("lost", "more"), ("lost_above", "above_more")):
        low, high = each_interval(sums_of(clusters, value), -1, "overall")
        table[f"{name}_low_answers"], table[f"{name}_high_answers"] = -high, -low
    return _by_fact(table, transitions(db, pairs, (k,), exposures, answer_in_subject))[list(COLUMNS)]


def _by_fact(table: pd.DataFrame, counts: pd.DataFrame) -> pd.DataFrame:
    """The shares and their difference on the facts that both were probed on, if both store predictions fact by fact."""
    paired = counts[counts["n"] > 0].set_index(["base_run_id", "run_id"])
    keys = pd.MultiIndex.from_frame(table[["base_run_id", "run_id"]])
    there = keys.isin(paired.index)
    aligned = paired.reindex(keys).set_axis(table.index)
    table = table.assign(by_fact=there)
    signed = {"lost": -aligned["difference"], "lost_low": -aligned["high"], "lost_high": -aligned["low"]}
    for name, values in {
        "n": aligned["n"],
        "base_value": aligned["base_value"],
        "value": aligned["value"],
        **signed,
    }.items():
        table[name] = values.where(there, table[name])
    return table.astype({"n": "int64"})


def read_out(table: pd.DataFrame) -> pd.DataFrame:
    """Whether the kind of head changes the conclusion on a model: the two kinds that are furthest apart.

    Two sizes differ (``apart``) if the 95 % intervals of two kinds do not touch, which is stricter than a test of the
    difference. Only if the two also lie differently to 0 (above, below, or 0 is inside), the conclusion changes. what
    is ``lost`` (of the base's P@k minus swapped subject) or ``kept`` (the model's own P@k minus swapped subject); a
    model with fewer than two kinds has no row.
    """
    rows = []
    for model, group in table.groupby("model", sort=False):
        for what, column in _SAID.items():
            known = group.dropna(subset=[column])
            if known["head"].nunique() < 2:
                continue
            least, most = known.loc[known[f"{column}_high"].idxmin()], known.loc[known[f"{column}_low"].idxmax()]
            if least["head"] == most["head"] or least[column] > most[column]:
                # One narrow interval lies within the others: compare the values instead.
                ordered = known.sort_values(column, kind="stable")
                least, most = ordered.iloc[0], ordered.iloc[-1]
            sides = [(row["head"], *(row[f"{column}{end}"] for end in _ENDS)) for row in (least, most)]
            apart, signs = bool(sides[1][2] > sides[0][3]), {int(low > 0) - int(high < 0) for _, _, low, high in sides}
            rows.append((model, what, known["head"].nunique(), *sides[0], *sides[1], apart, apart and len(signs) > 1))
    return pd.DataFrame(rows, columns=list(READ_OUT_COLUMNS))
