"""What the page shows of edge probing: the published numbers, and those of the encoder that is compared with them."""

from dataclasses import dataclass

import pandas as pd
import streamlit as st

from probing.core.edges.published import PublishedEdges
from probing.figures import theme
from probing.reports.reproduction.edges.evidence import CALLED, EdgeEvidence
from probing.reports.reproduction.edges.laid import EdgeReproduction
from probing.ui.frame.page import View
from probing.ui.widgets.export import Stamp


@st.cache_data(max_entries=1, show_spinner=False)
def published() -> PublishedEdges:
    """The paper's numbers; they change only with the program."""
    return PublishedEdges.read()


@dataclass(frozen=True)
class Shown:
    """The page's content.

    Attributes:
        view: the page.
        laid: everything that is known about the paper and one encoder.
    """

    view: View
    laid: EdgeReproduction

    @property
    def encoders(self) -> list[EdgeEvidence]:
        """Ours, if there is one, then those of the paper."""
        return self.laid.encoders

    @property
    def labels(self) -> dict[str, str]:
        """Encoder -> its name in tables and figures."""
        theirs = {name: f"{name} (published)" for name in self.laid.papers}
        return theirs | ({self.laid.ours.name: self.view.label(self.laid.ours.name)} if self.laid.ours else {})

    @property
    def colours(self) -> dict[str, str]:
        """Our encoder -> colour; those of the paper have none."""
        if self.laid.ours is None:
            return {}
        name = self.laid.ours.name
        return {name: self.view.all_colours.get(name, theme.NEUTRAL)}

    @property
    def titles(self) -> dict[str, str]:
        """Task -> its name in tables and figures."""
        return {task: CALLED.get(task, task) for task in self.laid.tasks}

    def stamp(self, what: str) -> Stamp:
        """The origin of a table or figure."""
        beside = f", {self.laid.ours.name} with the published numbers, dev" if self.laid.ours else ", published numbers"
        return self.view.stamp(f"{what}{beside}", self.laid.run_ids)

    def named(self, table: pd.DataFrame, encoder: str = "encoder", task: str = "task") -> pd.DataFrame:
        """A table with readable names of tasks and encoders."""
        return table.assign(**{task: table[task].map(self.titles), encoder: table[encoder].map(self.labels)})
