"""What the page of the pipeline shows: the stored probes that match the page's choices."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Concatenate, ParamSpec

import pandas as pd
import streamlit as st

from probing.reports.edges.pipeline import MAX_MODELS, in_order, on_part, published_summary, usual_models
from probing.reports.edges.summary import summary
from probing.store.database import Database
from probing.store.edges.queries import edge_runs, edge_tasks
from probing.ui.frame import reads, selection
from probing.ui.frame.page import View, require
from probing.ui.pipeline.selection import PARTS, PipelineSelection
from probing.ui.widgets.export import Stamp
from probing.ui.widgets.learned import mark_key
from probing.ui.widgets.markdown import Markdown, filled, listing

P = ParamSpec("P")
TRAIN_COMMAND = "python -m probing edges train --model nesia-mini --tasks all"
PART_WORDS = {"dev": "dev", "test": "test"}


@dataclass(frozen=True)
class Shown:
    """The stored probes that the page shows.

    Attributes:
        view: the page.
        runs: all stored runs of edge probing.
        tasks: title by task, of the chosen ones, in the order of tables.
        models: the chosen models.
    """

    view: View
    runs: pd.DataFrame
    tasks: dict[str, str]
    models: tuple[str, ...]

    @property
    def own(self) -> PipelineSelection:
        """What is chosen on the page."""
        return selection.of(PipelineSelection)

    def report(self, function: Callable[Concatenate[Database, P], pd.DataFrame], *args: P.args, **kwargs: P.kwargs) -> pd.DataFrame:
        """The result of a report on edge probing."""
        assert self.view.database is not None
        counted: Callable[..., pd.DataFrame] = reads.counted
        return counted(function, self.view.database, *args, **kwargs)

    def chosen(self, table: pd.DataFrame) -> pd.DataFrame:
        """The rows of the chosen models and tasks, in their order."""
        return in_order(table, self.models, tuple(self.tasks))

    def has_traces(self, model: str, task: str = "") -> bool:
        """Whether a model's answers to single targets are stored, for one task or for any."""
        mine = self.runs[(self.runs["model"] == model) & self.runs["traced"].astype(bool)]
        return bool(len(mine) if not task else (mine["task"] == task).any())

    @cached_property
    def every_summary(self) -> pd.DataFrame:
        """The summary of every encoder and part, of the chosen models and tasks."""
        return self.chosen(self.report(summary, unseen=self.own.unseen, models=self.models, tasks=tuple(self.tasks)))

    @cached_property
    def summary(self) -> pd.DataFrame:
        """The summary of the trained encoders on the chosen part, with F1 of P(L) on the other part."""
        return on_part(self.every_summary, self.own.edge_part)

    @cached_property
    def paper(self) -> pd.DataFrame:
        """The published numbers of the chosen tasks; no rows if they are not wanted."""
        return published_summary(tuple(self.tasks) if self.own.published else ())

    @property
    def colours(self) -> dict[str, str]:
        """Model -> colour."""
        return self.view.all_colours

    @property
    def labels(self) -> dict[str, str]:
        """Model -> its name in figures."""
        return {model: self.view.label(model) for model in self.models}

    @property
    def depths(self) -> int:
        """The number of different depths among the models shown."""
        ours = self.summary["last"] if len(self.summary) else pd.Series(dtype="int64")
        return pd.concat([ours, self.paper["last"]]).nunique()

    def key(self) -> Markdown:
        """The meaning of the marks on the names."""
        return mark_key(self.view, self.models)

    def filters(self) -> str:
        """What is chosen, in words."""
        names = listing([self.view.label(model) for model in self.models], limit=MAX_MODELS)
        return f"{names}, {self.own.edge_part}{', span text not in training' if self.own.unseen else ''}"

    def stamp(self, what: str, runs: pd.DataFrame | None = None) -> Stamp:
        """Filters and fingerprint of a figure."""
        mine = self.runs[self.runs["model"].isin(list(self.models)) & self.runs["task"].isin(list(self.tasks))] if runs is None else runs
        return self.view.stamp(f"{what}, {self.filters()}", tuple(mine["run_id"]))


def open_results(view: View) -> Shown:
    """The controls of the sidebar, and the stored probes; if there are none, stops with the command that makes some."""
    runs = view.read(edge_runs) if view.database is not None else pd.DataFrame()
    require(view, len(runs) > 0, Markdown("No probes of edge probing are stored yet."), TRAIN_COMMAND)
    own = selection.of(PipelineSelection)
    titles = dict(view.read(edge_tasks)[["task", "title"]].drop_duplicates("task").itertuples(index=False, name=None))
    titles = {task: title for task, title in titles.items() if task in set(runs["task"])}
    models = [model for model in view.all_colours if model in set(runs["model"])]
    with st.sidebar:
        _controls(view, models, titles, usual_models(runs, models))
    unknown = [name for name in (*own.edge_models, *own.edge_tasks) if name not in (*models, *titles)]
    if unknown:
        st.info(filled("Ignored, not in these results: {names}", names=listing(unknown)), icon=":material/link_off:")
    stored = [model for model in own.edge_models if model in models]
    if too_many := stored[MAX_MODELS:]:
        names = listing([view.label(model) for model in too_many])
        st.info(filled("At most {most} models are shown. Ignored: {names}", most=MAX_MODELS, names=names), icon=":material/info:")
    wanted = stored[:MAX_MODELS] or usual_models(runs, models)
    tasks = {task: title for task, title in titles.items() if task in own.edge_tasks} or titles
    return Shown(view, runs, tasks, tuple(wanted))


def _controls(view: View, models: list[str], titles: dict[str, str], usual: list[str]) -> None:
    page, own = view.page, selection.of(PipelineSelection)
    if len(models) > 1:
        selection.bound(
            st.multiselect, "Models", "edge_models", page, options=models, format_func=view.label, max_selections=MAX_MODELS,
            value=own.edge_models or usual, help=mark_key(view, models),
        )  # fmt: skip
    if len(titles) > 1:
        selection.bound(
            st.multiselect, "Tasks", "edge_tasks", page, options=list(titles), format_func=titles.__getitem__, placeholder="all",
        )  # fmt: skip
    selection.bound(
        st.segmented_control, "Part of the data", "edge_part", page, options=list(PARTS), required=True,
        help="The dev part also decided when training stopped, as in the paper; the test part did not.",
    )  # fmt: skip
    selection.bound(
        st.toggle, "Only spans not seen in training", "unseen", page,
        help="Counts only targets whose span text (of both spans, if there are two) does not occur in the training part. The ceiling "
        "is that of all targets.",
    )  # fmt: skip
    selection.bound(st.toggle, "Show published BERT-base and BERT-large", "published", page)
