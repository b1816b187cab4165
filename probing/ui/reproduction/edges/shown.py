"""What the page shows of edge probing: the published numbers, and those of the encoder that is laid beside them."""

from dataclasses import dataclass

import pandas as pd
import streamlit as st

from probing.core.edges.published import PublishedEdges, published_edges
from probing.figures import theme
from probing.reports.reproduction.edges.evidence import CALLED, EdgeEvidence
from probing.reports.reproduction.edges.laid import EdgeReproduction
from probing.ui.frame.page import View
from probing.ui.widgets.export import Stamp


@st.cache_data(max_entries=1, show_spinner=False)
def published() -> PublishedEdges:
    """The paper's numbers; they change with the program only."""
    return published_edges()


@dataclass(frozen=True)
class Shown:
    """The page's content.

    Attributes:
        view: the page.
        laid: everything that is known of the paper and of one encoder.
    """

    view: View
    laid: EdgeReproduction

    @property
    def encoders(self) -> list[EdgeEvidence]:
        """Ours, where there is one, then those of the paper."""
        return self.laid.encoders

    @property
    def labels(self) -> dict[str, str]:
        """Encoder -> what tables and figures call it."""
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
        """Task -> what tables and figures call it."""
        return {task: CALLED.get(task, task) for task in self.laid.tasks}

    def stamp(self, what: str) -> Stamp:
        """The origin of a table or figure."""
        beside = f", {self.laid.ours.name} beside the published numbers, dev" if self.laid.ours else ", published numbers"
        return self.view.stamp(f"{what}{beside}", self.laid.run_ids)

    def named(self, table: pd.DataFrame, encoder: str = "encoder", task: str = "task") -> pd.DataFrame:
        """A table with the names of tasks and encoders for readers."""
        return table.assign(**{task: table[task].map(self.titles), encoder: table[encoder].map(self.labels)})
