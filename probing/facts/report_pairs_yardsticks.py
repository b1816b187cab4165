"""Two models by layer, with baselines that do not know the subject: the majority answer and the swapped subject."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from probing.facts.report_layers import by_layer
from probing.facts.report_pairs_paired_layers import paired_by_layer
from probing.facts.store import runs
from probing.facts.store_pairs_pair_queries import paired_majority
from probing.finetuning.objectives import SHUFFLED
from probing.kernel.store.database import Database

_ENDS = ("", "_low", "_high")
#: The ends if answers are drawn again, too.
_ANSWERS = ("_low_answers", "_high_answers")
#: Columns of each run; those of the base begin with "base_".
_OF_RUN = ("swapped_n", "matched", "swapped", *(f"above_swapped{end}" for end in (*_ENDS, *_ANSWERS)))


#: What a run has in common with those that it is a yardstick of.
_ALIKE = ("base", "head", "probe_set", "template_set", "role")
#: Middle of the columns on other models of the same base and objective, and what they are the ends of.
_SPREAD = {"": "value", "_swapped": "above_swapped"}


def paired_with_yardsticks(
    db: Database,
    base_run: str,
    run: str,
    k: int,
    exposures: Sequence[str] | None = None,
    answer_in_subject: bool | None = None,
) -> pd.DataFrame:
    """``paired_by_layer`` with its yardsticks; micro.

    Majority answers (P@1 only) are on the facts in common. Swapped subjects are each run's own, on all its facts that
    have one: a run may store only their counts, which cannot be paired with another run fact by fact. They are named as
    in ``precision.by_layer``, with ``base_`` before them for the base. more: above_swapped minus the base's, how much
    more the run gains from the subject; its ends combine the two intervals as for independent shares (Newcombe), so
    rather too wide; the ends with ``_answers`` are paired fact by fact. shuffled: of the control with shuffled labels
    of the run's model, on all its facts. again: smallest and largest share of the other models of the same base and
    objective that were asked in the same way.
    """
    table = paired_by_layer(db, base_run, run, k, exposures, answer_in_subject)
    n, hits = paired_majority(db, base_run, run, exposures, answer_in_subject)
    table["majority"] = hits / n if n and k == 1 else float("nan")
    control, again = _trained_alike(db, run)
    compared = tuple(dict.fromkeys((base_run, run, *([control] if control else ()), *again)))
    points = by_layer(db, compared, f"p_at_{k}", "micro", exposures, answer_in_subject)
    for prefix, run_id in (("base_", base_run), ("", run)):
        for value, end in zip(("value", "low", "high"), _ENDS, strict=True):
            table[f"{prefix}above_majority{end}"] = table[f"{prefix}{value}"] - table["majority"]
        run_points = points.loc[points["run_id"] == run_id, ["layer", *_OF_RUN]]
        table = table.merge(
            run_points.rename(columns={name: f"{prefix}{name}" for name in _OF_RUN}), on="layer", how="left"
        )
    own, base = ([table[f"{prefix}above_swapped{end}"] for end in _ENDS] for prefix in ("", "base_"))
    table["more"], table["more_low"], table["more_high"] = joined(own, base)
    named = {"value": "shuffled", "above_swapped": "shuffled_above_swapped"}
    shuffled = points.loc[points["run_id"] == control, ["layer", *named]]
    table = table.merge(shuffled.rename(columns=named), on="layer", how="left")
    others = points[points["run_id"].isin(again)].groupby("layer", as_index=False)
    ends = {
        f"again{name}_{end}": (of, end_of)
        for name, of in _SPREAD.items()
        for end, end_of in (("low", "min"), ("high", "max"))
    }
    return table.merge(others.agg(**ends), on="layer", how="left").assign(again_n=len(again))


def _trained_alike(db: Database, run: str) -> tuple[str | None, list[str]]:
    """The runs, asked in the same way, of models that were trained like this run's: of its control with shuffled
    labels, None if there is none; and of other models of the same base and objective.
    """
    known = runs(db).set_index("run_id")
    own_run = known.loc[run]
    alike = known[(known[list(_ALIKE)] == own_run[list(_ALIKE)]).all(axis=1) & known["model"].ne(own_run["model"])]
    control = alike[alike["objective"].eq(f"{own_run['objective']}{SHUFFLED}")].sort_values("model").index
    again = alike[alike["objective"].eq(own_run["objective"])].index if own_run["base"] else ()
    return next(iter(control), None), sorted(again)


def joined(first: Sequence[Any], second: Sequence[Any]) -> tuple[Any, Any, Any]:
    """First minus second, with the combined interval for independent shares (Newcombe 1998, method 10 without
    correlation).

    Each is value, lower and upper end, as numbers or row by row.
    """
    (value, low, high), (base, base_low, base_high) = first, second
    more = value - base
    return more, more - np.hypot(value - low, base_high - base), more + np.hypot(high - value, base - base_low)
