"""The three numbers that the first page begins with."""

from typing import NamedTuple

from probing.facts.report_layers import precision
from probing.forgetting.report_series import prevention
from probing.kernel.store.database import Database


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
