"""What the page shows of a paper."""

from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from probing.kernel.app.figure_cache import Stamp
from probing.kernel.app.frame import View
from probing.papers.claims_paper import Ours, Paper, Reproduction


@dataclass(frozen=True)
class PaperView:
    view: View
    paper: Paper
    found: Reproduction

    @property
    def numbers(self) -> Any:
        return self.paper.numbers

    @property
    def ours(self) -> Ours | None:
        """The numbers of ours; None if nothing is stored."""
        return self.found.ours

    @property
    def about(self) -> Any:
        """``Ours.about``; None if nothing is stored."""
        return self.ours.about if self.ours else None

    def stamp(self, what: str, rows: pd.DataFrame | None = None, panel: str = "") -> Stamp:
        """The origin of a table or figure: its runs (``rows``) if not all, and the one ``panel`` that is shown."""
        # Rows that were not probed have no run.
        ids = (
            tuple(rows["run_id"].dropna().drop_duplicates())
            if rows is not None
            else self.ours.run_ids
            if self.ours
            else ()
        )
        return replace(
            self.view.stamp(f"{what}, {self.ours.origin if self.ours else 'published numbers'}", ids), panel=panel
        )


def titled(number: str, panel: str) -> str:
    """The name of a figure, and of its panel if only one is shown."""
    return f"Figure {number}" + (f", {panel}" if panel else "")
