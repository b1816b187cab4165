"""The selection of the page of methods and data, which has no choices."""

from dataclasses import dataclass

from probing.ui.frame.selection import declared


@declared("methods")
@dataclass(frozen=True)
class MethodsSelection:
    """No field."""
