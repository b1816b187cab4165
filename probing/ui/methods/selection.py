"""What is chosen on the page of methods and data: nothing."""

from dataclasses import dataclass

from probing.ui.frame.selection import declared


@declared("methods")
@dataclass(frozen=True)
class MethodsSelection:
    """No field."""
