"""Output of a workflow: lines, which a command prints, and progress bars."""

from collections.abc import Callable

from tqdm import tqdm

Say = Callable[[str], None]


class ProgressBar:
    """A progress bar with the remaining time, called with the progress of the work."""

    def __init__(self, title: str, unit: str = "step"):
        self._bar = tqdm(desc=title, unit=unit, unit_scale=True)

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def moved(self, done: int, total: int) -> None:
        """Shows how much is done, of how much at most."""
        self._bar.total = total
        self._bar.update(done - self._bar.n)
