"""The way from a number to its facts."""

from typing import Any

from probing.ui.frame import navigation
from probing.ui.frame.page import View

#: Fields that would hide a fact that a link leads to.
NO_FILTERS: dict[str, Any] = {
    "relation": "", "text": "", "known": "any", "known_at": None, "first_known": None, "last_known": None, "at_layer": None, "at_rank": 1,
    "exposures": (), "in_subject": "any", "order": "layers known", "sheet": 1, "versus": "", "part": "", "part_k": 1,
}  # fmt: skip


def wanted(view: View, **changes: Any) -> dict[str, Any]:
    """The Facts page's fields for some facts: no filter but this page's exposures and "answer in subject", and the changes."""
    kept = {"exposures": view.chosen.exposures, "in_subject": view.chosen.in_subject}
    run = {"model": view.chosen.model, "head": view.chosen.head, "probe_set": view.chosen.probe_set}
    return {**NO_FILTERS, "fact": "", **run, **kept, **changes}


def link(view: View, label: str, **changes: Any) -> None:
    """A link to the facts, which a keyboard reaches."""
    navigation.link("facts", label, **wanted(view, **changes))


def go(view: View, **changes: Any) -> None:
    """Opens the facts at the next run: for the callback of a click."""
    navigation.open_later("facts", **wanted(view, **changes))
