"""The way from a number to its facts."""

from typing import Any

from probing.ui.frame import navigation
from probing.ui.frame.page import View


def wanted(view: View, **changes: Any) -> dict[str, Any]:
    """The fields that some facts need: the run and filters of this page, and the changes."""
    kept = {"exposures": view.chosen.exposures, "in_subject": view.chosen.in_subject}
    run = {"model": view.chosen.model, "head": view.chosen.head, "probe_set": view.chosen.probe_set}
    return {**run, **kept, **changes}


def link(view: View, label: str, **changes: Any) -> None:
    """A link to the facts, which a keyboard reaches. No other filter of the Facts page is on there."""
    navigation.link("facts", label, afresh=True, **wanted(view, **changes))


def go(view: View, **changes: Any) -> None:
    """Opens the facts at the next run: for the callback of a click."""
    navigation.open_later("facts", afresh=True, **wanted(view, **changes))
