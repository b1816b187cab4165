"""The figure of the page "Forgetting"."""

from typing import TYPE_CHECKING

from probing.api.stored.looks import ModelLooks
from probing.core.errors import FigureError
from probing.figures.forgetting.outcome_bars import outcome_bars
from probing.reports.forgetting.declared import FORGETTING
from probing.reports.report import Choice
from probing.store.database import Database

if TYPE_CHECKING:
    from probing.figures.theme import go


def forgetting_figure(db: Database, choice: Choice, looks: ModelLooks) -> "go.Figure":
    """The bars of the known facts; see ``Plots.forgetting``.

    Raises:
        FigureError: for a report without a figure, or several probe sets or k.
    """
    if not choice.report.figure:
        raise FigureError(f"the pages have no figure of {choice.report.name}; use the table, forgetting({choice.report.name!r})")
    table = FORGETTING.table(db, choice)
    several = [name for name in ("probe_set", "k") if table[name].nunique() > 1]
    if several:
        raise FigureError(f"the figure shows only one {several[0]}; choose one")
    return outcome_bars(table, labels=looks.labels)
