"""What the last layer lost against the base, which is shown with what an inner layer knows better than the last one."""

import pandas as pd

from probing.reports.knowledge.heads.losses import points_lost
from probing.reports.knowledge.precision import precision_by_relation
from probing.reports.runs import pairs
from probing.reports.wider import wider
from probing.ui.frame.page import View
from probing.ui.widgets.markdown import Markdown, count, filled, joined


def lost_points(view: View, runs: pd.DataFrame, k: int) -> pd.DataFrame:
    """What each fine-tuned model lost against its base, micro: the columns of ``points_lost``, one row per model.

    Args:
        view: the page.
        runs: runs of models and of their bases.
        k: the rank up to which a fact counts as known.
    """
    points = view.report(points_lost, pairs(runs), k)
    return points.drop_duplicates("model")


def with_base(view: View, table: pd.DataFrame, base: pd.Series | None) -> pd.DataFrame:
    """The relations with the base's last layer (``base_last``) and the model's minus the base's (``change``), both empty without a base.

    Args:
        view: the page.
        table: of ``relation_forgetting``.
        base: the base's run.
    """
    if base is None:
        return table
    theirs = view.report(precision_by_relation, (base["run_id"],), view.chosen.k)
    last = theirs.loc[theirs["layer"] == theirs["layer"].max(), ["relation", "value"]].rename(columns={"value": "base_last"})
    table = table.merge(last, on="relation", how="left")
    return table.assign(change=table["last"] - table["base_last"])


def fewer(view: View, points: pd.DataFrame, base: pd.Series | None) -> Markdown:
    """In how many relations the model's last layer knows fewer facts than the base's; ``""`` without a base.

    Args:
        view: the page.
        points: of the model, columns of ``precision_by_relation``.
        base: the base's run.
    """
    if base is None:
        return Markdown("")
    last = points.loc[points["layer"] == points["layer"].max(), ["relation", "value"]].rename(columns={"value": "last"})
    return filled("{said}.", said=_fewer(view, with_base(view, last, base), base))


def _fewer(view: View, table: pd.DataFrame, base: pd.Series) -> Markdown:
    compared = table.dropna(subset=["change"])
    return filled(
        "**Against {base}**, its last layer knows fewer facts in **{fewer}** of {relations}",
        base=view.called(base["model"]),
        fewer=int((compared["change"] < 0).sum()),
        relations=count(len(compared), "relation"),
    )


def sentence(view: View, table: pd.DataFrame, runs: pd.DataFrame, base: pd.Series | None) -> Markdown:
    """How much the model's last layer lost against the base's, over all facts and in how many relations; ``""`` without a base.

    Args:
        view: the page.
        table: of ``with_base``.
        runs: the chosen run and its base's.
        base: the base's run.
    """
    if base is None:
        return Markdown("")
    own = wider(lost_points(view, runs, view.chosen.k))
    said = _fewer(view, table, base)
    if own.empty:
        return joined("", [said, Markdown(".")])
    row = own.iloc[0]
    points = filled(
        "; P@{k} over all facts (micro) changed by {change:+.1f} points ({low:+.1f} to {high:+.1f}){swapped}.",
        k=view.chosen.k,
        **{name: -100 * row[column] for name, column in (("change", "lost"), ("low", "lost_high"), ("high", "lost_low"))},
        swapped=filled(", and minus the swapped subject by {change:+.1f} points", change=-100 * row["lost_above"])
        if pd.notna(row["lost_above"])
        else Markdown("; no swapped subject is stored to show how much of that is knowledge of the subject"),
    )
    return joined("", [said, points])
