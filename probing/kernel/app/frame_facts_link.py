"""Links from a number to its facts."""

from typing import Any

from probing.kernel.app import selection_navigation as navigation
from probing.kernel.app.frame import View


def wanted(view: View, **changes: Any) -> dict[str, Any]:
    """The fields of a link to facts: the run and filters of this page, and the changes."""
    filters = {"exposures": view.chosen.exposures, "in_subject": view.chosen.in_subject}
    run = {"model": view.chosen.model, "head": view.chosen.head, "probe_set": view.chosen.probe_set}
    return {**run, **filters, **changes}


def link(view: View, label: str, **changes: Any) -> None:
    """Draws a link to the facts, which can be reached by keyboard. All other filters of the Facts page are off."""
    navigation.link("facts", label, afresh=True, **wanted(view, **changes))


def go(view: View, **changes: Any) -> None:
    """Opens the facts at the next run; for callbacks of clicks."""
    navigation.open_later("facts", afresh=True, **wanted(view, **changes))
