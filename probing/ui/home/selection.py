"""What is chosen on the home page: nothing of its own."""

from dataclasses import dataclass

from probing.ui.frame.selection import OVERVIEW, declared


@declared("home", *OVERVIEW, "k")
@dataclass(frozen=True)
class HomeSelection:
    """No field beside the shared ones."""
