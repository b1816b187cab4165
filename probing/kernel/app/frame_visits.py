"""Who opens pages: what the server does beforehand waits while somebody is looking around."""

from time import monotonic


class Visits:
    """The pages opened so far, by anybody; ``opened`` counts them."""

    def __init__(self) -> None:
        self.opened = 0
        self._last = float("-inf")

    def note(self) -> None:
        self.opened += 1
        self._last = monotonic()

    @property
    def seconds(self) -> float:
        """Since a page was last opened; infinite before the first."""
        return monotonic() - self._last


VISITS = Visits()
