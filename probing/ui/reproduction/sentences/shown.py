"""What the page shows of fine-tuning and sentence-level probing: the published numbers, and those of the base compared with them."""

from dataclasses import dataclass

import streamlit as st

from probing.core.sentences.published import PublishedSentences
from probing.figures import theme
from probing.reports.reproduction.evidence import BASE
from probing.reports.reproduction.sentences.laid import SentenceReproduction
from probing.ui.frame.page import View
from probing.ui.widgets.export import Stamp


@st.cache_data(max_entries=1, show_spinner=False)
def published() -> PublishedSentences:
    """The paper's numbers; they change only with the program."""
    return PublishedSentences.read()


@dataclass(frozen=True)
class Shown:
    """The page's content.

    Attributes:
        view: the page.
        laid: everything that is known about the paper, and about one base with its fine-tuned models.
    """

    view: View
    laid: SentenceReproduction

    @property
    def models(self) -> dict[str, str]:
        """Objective -> model of the base that is compared with the paper, including the base itself."""
        return {BASE: self.laid.family.base, **self.laid.family.members} if self.laid.family else {}

    def label(self, objective: str) -> str:
        """The name of an objective's model in tables and figures, marked by whether it learned its task."""
        return self.view.label(self.models[objective]) if objective in self.models else objective

    def colour(self, objective: str) -> str:
        """The model's colour on every page; if it has none, one of its objective."""
        known = self.view.all_colours.get(self.models.get(objective, ""))
        of_objective = theme.OBJECTIVE_COLOURS.get(objective)
        others = ("CoLA", "CoLA (mean)", "SST-2", "RTE")
        place = others.index(objective) if objective in others else 4
        return known or (of_objective[0] if of_objective else theme.OTHER_COLOURS[place])

    def stamp(self, what: str) -> Stamp:
        """The origin of a table or figure."""
        family = self.laid.family
        beside = f", {family.base} by the protocol {family.protocol} with the published numbers" if family else ", published numbers"
        return self.view.stamp(f"{what}{beside}", self.laid.run_ids)
