"""The fine-tuned models with the clearest findings, which pages show first."""

from typing import NamedTuple

import pandas as pd

from probing.facts.report_pairs import transitions
from probing.facts.runs import pairs
from probing.kernel.app.frame import View, derived
from probing.kernel.objectives import CONTROL
from probing.kernel.store.database import Database


class Lost(NamedTuple):
    """Lost facts per fact that the base knows, of a fine-tuned model and of its base's control; NaN without one."""

    model: str
    share: float
    control: float


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


@derived
def findings(view: View) -> list[Lost]:
    """The fine-tuned models of which single facts are stored, that with the clearest finding first; own ones last."""
    if view.database is None or view.runs.empty:
        return []
    lost = view.read(lost_by_fine_tuning, view.runs, view.chosen.heads[0], view.chosen.probe_sets[0])
    found = clear_ones(lost, frozenset(model for model, verdict in view.verdicts.items() if verdict == "learned"))
    return sorted(found, key=lambda finding: finding.model not in view.demonstration)


def clearest(view: View) -> str:
    """The fine-tuned model with the clearest finding, shown first; empty if no single facts of one are stored."""
    return next((finding.model for finding in findings(view)), "")
