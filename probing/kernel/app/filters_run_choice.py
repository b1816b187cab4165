"""The stored runs that a page shows, and the choice of models and tasks among them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Concatenate, NamedTuple, ParamSpec

import pandas as pd
import streamlit as st

from probing.kernel.app import blocks, selection
from probing.kernel.app import frame_page_reads as page_reads
from probing.kernel.app.figure_cache_export import Stamp
from probing.kernel.app.frame import View
from probing.kernel.app.texts import filled, listing
from probing.kernel.app.texts_task_marks import mark_key
from probing.kernel.store.database import Database

P = ParamSpec("P")


@dataclass(frozen=True)
class Reading:
    view: View

    def report(self, function: Callable[Concatenate[Database, P], Any], *args: P.args, **kwargs: P.kwargs) -> Any:
        """The result of a report, from the cache if possible."""
        assert self.view.database is not None
        return page_reads.counted(function, self.view.database, *args, **kwargs)


@dataclass(frozen=True)
class ShownRuns(Reading):
    """The stored runs that a page shows; ``tasks`` has the titles of the chosen ones, in the order of tables."""

    runs: pd.DataFrame
    tasks: dict[str, str]
    models: tuple[str, ...]

    @property
    def colours(self) -> dict[str, str]:
        return self.view.all_colours

    @property
    def labels(self) -> dict[str, str]:
        return {model: self.view.label(model) for model in self.models}

    def names(self, models: Sequence[str]) -> str:
        return listing([self.view.label(model) for model in models], limit=len(models))

    def stamp_of(self, filters: str, models: Sequence[str]) -> Stamp:
        """Filters and fingerprint of a figure of these models and the chosen tasks."""
        shown_runs = self.runs[self.runs["model"].isin(list(models)) & self.runs["task"].isin(list(self.tasks))]
        return self.view.stamp(filters, tuple(shown_runs["run_id"]))


class Offer(NamedTuple):
    """Models in menus' order, and titles of tasks; ``usual`` are shown if none is chosen, ``most`` can be."""

    models: Sequence[str]
    usual: Sequence[str]
    tasks: dict[str, str]
    most: int

    def choose_models(self, view: View, models: str, chosen: Sequence[str]) -> None:
        """Draws the menu of models; ``models`` is its field of the page's selection."""
        if len(self.models) > 1:
            selection.bound(
                st.multiselect,
                "Models",
                models,
                view.page,
                options=list(self.models),
                format_func=view.label,
                max_selections=self.most,
                value=chosen or self.usual,
                help=mark_key(view, self.models),
            )

    def choose_tasks(self, view: View, tasks: str) -> None:
        """Draws the menu of tasks; ``tasks`` is its field of the page's selection."""
        if len(self.tasks) > 1:
            selection.bound(
                st.multiselect,
                "Tasks",
                tasks,
                view.page,
                options=list(self.tasks),
                format_func=self.tasks.__getitem__,
                placeholder="all",
            )

    def taken(
        self, view: View, models: Sequence[str], tasks: Sequence[str], unknown: Iterable[str] = ()
    ) -> tuple[tuple[str, ...], dict]:
        """The chosen models and tasks; a message names what is not offered, ``unknown`` or too much."""
        blocks.say_ignored([*(name for name in (*models, *tasks) if name not in (*self.models, *self.tasks)), *unknown])
        stored = [model for model in models if model in self.models]
        if too_many := stored[self.most :]:
            names = listing([view.name(model) for model in too_many])
            st.info(
                filled("At most {most} models are shown. Ignored: {names}", most=self.most, names=names),
                icon=":material/info:",
            )
        tasks_left = {task: title for task, title in self.tasks.items() if task in tasks}
        return tuple(stored[: self.most] or self.usual), tasks_left or self.tasks
