"""What the page of the pipeline shows: the stored probes that match the page's choices."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd
import streamlit as st

from probing.reports.edges.panels import MAX_MODELS, EdgePanels, usual_models
from probing.store.edges.queries import edge_runs, edge_tasks
from probing.ui.choices.grammar import PARTS, GrammarSelection
from probing.ui.frame import selection
from probing.ui.frame.page import View, require
from probing.ui.frame.run_choice import Offer, ShownRuns
from probing.ui.widgets.export import Stamp
from probing.ui.widgets.markdown import Markdown
from probing.ui.widgets.paper.calls import plot

TRAIN_COMMAND = "python -m probing edges train --model nesia-mini --tasks all"


@dataclass(frozen=True)
class Shown(ShownRuns):
    """The stored probes that the page shows."""

    @property
    def own(self) -> GrammarSelection:
        """What is chosen on the page."""
        return selection.of(GrammarSelection)

    @cached_property
    def panels(self) -> EdgePanels:
        """The numbers of the page's sections."""
        return EdgePanels(self.report, self.models, self.tasks, self.own.edge_part, self.own.unseen, self.own.published)

    def has_traces(self, model: str, task: str = "") -> bool:
        """Whether a model's answers to single targets are stored, for one task or for any."""
        traced = self.runs[(self.runs["model"] == model) & self.runs["traced"].astype(bool)]
        return bool(len(traced) if not task else (traced["task"] == task).any())

    def call(self, what: str, **more: object) -> str:
        """The call of the Python API that draws a figure of these models and tasks; ``more`` replaces its arguments."""
        chosen: dict[str, Any] = {
            "model": list(self.models),
            "task": list(self.tasks),
            "part": self.own.edge_part,
            "unseen": self.own.unseen,
        }
        return plot("edges", what, **chosen | more)

    def stamp(self, what: str) -> Stamp:
        """Filters and fingerprint of a figure."""
        seen = ", span text not in training" if self.own.unseen else ""
        return self.stamp_of(f"{what}, {self.names(self.models)}, {self.own.edge_part}{seen}", self.models)


def open_results(view: View) -> Shown:
    """The controls of the sidebar, and the stored probes; if there are none, stops with the command that makes some."""
    runs = view.read(edge_runs) if view.database is not None else pd.DataFrame()
    require(view, len(runs) > 0, Markdown("No probes of edge probing are stored yet."), TRAIN_COMMAND)
    own = selection.of(GrammarSelection)
    titles = dict(view.read(edge_tasks)[["task", "title"]].drop_duplicates("task").itertuples(index=False, name=None))
    models = [model for model in view.all_colours if model in set(runs["model"])]
    stored = {task: title for task, title in titles.items() if task in set(runs["task"])}
    offer = Offer(models, usual_models(runs, models), stored, MAX_MODELS)
    with st.sidebar:
        offer.menus(view, "edge_models", "edge_tasks", own.edge_models)
        _controls(view.page)
    wanted, tasks = offer.taken(view, own.edge_models, own.edge_tasks)
    return Shown(view, runs, tasks, wanted)


def _controls(page: str) -> None:
    selection.bound(
        st.segmented_control,
        "Part of the data",
        "edge_part",
        page,
        options=list(PARTS),
        required=True,
        help="The dev part also decided when training stopped, as in the paper; the test part did not.",
    )
    selection.bound(
        st.toggle,
        "Only spans not seen in training",
        "unseen",
        page,
        help="Counts only targets whose span text (of both spans, if there are two) does not occur in the training part. The ceiling "
        "is that of all targets.",
    )
    selection.bound(st.toggle, "Show published BERT-base and BERT-large", "published", page)
