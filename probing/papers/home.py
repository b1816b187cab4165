"""The three numbers that the first page begins with."""

from typing import NamedTuple

import pandas as pd

from probing.facts.report_layers import precision
from probing.facts.report_pairs import transitions
from probing.facts.runs import pairs
from probing.finetuning.objectives import CONTROL
from probing.forgetting.report_series import prevention
from probing.kernel.store.database import Database


class Lost(NamedTuple):
    """Lost facts per fact that the base knows, of a fine-tuned model and of its base's control; NaN without one."""

    model: str
    share: float
    control: float


class Kept(NamedTuple):
    """The share of known facts that a protection kept, minus blind guesses, and its score; the same without it."""

    recipe: str
    share: float
    metric: str
    score: float
    plain_share: float
    plain_score: float


def beyond_guessing(db: Database, run_id: str, average: str = "macro") -> float:
    """The last layer's share of right answers minus that of the relation's commonest answer; NaN for too few facts."""
    rows = precision(db, (run_id,), (1,), average, last_only=True)
    return float(rows["above_majority"].iloc[0]) if len(rows) else float("nan")


def lost_by_fine_tuning(db: Database, runs: pd.DataFrame, head: str, probe_set: str) -> pd.DataFrame:
    """What every fine-tuned model lost whose single facts are stored, the largest share first.

    The columns of ``transitions`` and share (lost facts per fact that the base knows), is_control; without models whose
    base knows nothing.
    """
    alike = runs[(runs["head"] == head) & (runs["probe_set"] == probe_set)]
    table = transitions(db, pairs(alike), (1,))
    table = table[table["kept"] + table["lost"] > 0]
    controls = set(runs.loc[runs["objective"] == CONTROL, "model"])
    return table.assign(
        share=table["lost"] / (table["kept"] + table["lost"]), is_control=table["model"].isin(controls)
    ).sort_values("share", ascending=False, kind="stable")


def clear_ones(lost: pd.DataFrame, learned: frozenset[str]) -> list[Lost]:
    """The models of ``lost_by_fine_tuning`` by how clear their finding is: first those that learned their task, of both
    kinds the one that lost most first.
    """
    controls = lost[lost["is_control"]].drop_duplicates("base").set_index("base")["share"]
    tuned = lost[~lost["is_control"]].assign(unlearned=lambda rows: ~rows["model"].isin(learned))
    ordered = tuned.sort_values("unlearned", kind="stable")
    return [
        Lost(str(row.model), float(row.share), float(controls.get(row.base, float("nan"))))
        for row in ordered.itertuples()
    ]


def best_recipe(db: Database) -> Kept | None:
    """The protection that keeps most facts and no other recipe of its task beats in both; None without plain ones."""
    points = prevention(db)
    points = points[~points["control"] & points["score"].notna() & points["kept"].notna()]
    recipes_kept = []
    for _, recipes in points.groupby(["base", "objective", "probe_set", "asked"]):
        plain, protected = (recipes[recipes["protection"].eq("unprotected") == is_plain] for is_plain in (True, False))
        best = protected[~protected["dominated"]].sort_values("kept", ascending=False).head(1)
        if len(plain) and len(best):
            best_row, other = best.iloc[0], plain.iloc[0]
            numbers = (best_row["kept"], best_row["metric"], best_row["score"], other["kept"], other["score"])
            recipes_kept.append(Kept(str(best_row["protection"]), *numbers))
    return max(recipes_kept, key=lambda kept: kept.share, default=None)
