"""What the tab of words shows: stored probes that match the choices, and words of sentences stored as a hash."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from probing.choices import GrammarSelection
from probing.edges.report_panels import MAX_MODELS, EdgePanels, usual_models
from probing.edges.store import edge_runs, edge_tasks
from probing.edges.store_sentences import tasks_of_texts
from probing.edges.tasks import EDGE_TASKS, read_task
from probing.kernel.app import blocks, filters, selection
from probing.kernel.app.figure_cache import Stamp
from probing.kernel.app.filters import Offer, ShownRuns
from probing.kernel.app.frame import View
from probing.kernel.app.save import plot
from probing.kernel.app.texts import Markdown, code, filled, mark_key
from probing.kernel.errors import EdgeDataError
from probing.kernel.files import State, cache_folder, files_state

TRAIN_COMMAND = "python -m probing edges train --model nesia-mini --tasks all"


@dataclass(frozen=True)
class GrammarProbes(ShownRuns):
    """The stored probes that the page shows."""

    @property
    def own(self) -> GrammarSelection:
        return selection.of(GrammarSelection)

    @cached_property
    def panels(self) -> EdgePanels:
        """The numbers of the page's sections."""
        return EdgePanels(self.report, self.models, self.tasks, self.own.edge_part, self.own.unseen, self.own.published)

    @property
    def model(self) -> str:
        """The one model of the sections that show one."""
        return self.own.edge_model if self.own.edge_model in self.models else self.models[0]

    @property
    def marks(self) -> Markdown:
        """The meaning of the marks on the names of models; behind "How to read"."""
        return mark_key(self.view.verdicts, self.models)

    def call(self, what: str, more: Mapping[str, object] | None = None, **looks: Any) -> str:
        """The call of the Python API that draws a report of these models and tasks; ``more`` replaces its filters."""
        own = self.own
        chosen = {"model": self.models, "task": list(self.tasks), "part": own.edge_part, "unseen": own.unseen}
        return plot("edges", what, {**chosen, **(more or {})}, **looks)

    def stamp(self, what: str) -> Stamp:
        seen = ", span text not in training" if self.own.unseen else ""
        return self.stamp_of(f"{what}, {self.names(self.models)}, {self.own.edge_part}{seen}", self.models)

    def choose_model(self) -> None:
        """The menu of the one model, if there are several."""
        if len(self.models) > 1:
            selection.bound(
                "edge_model",
                value=self.model,
                options=list(self.models),
                format_func=self.view.label,
                width=240,
            )


def open_results(view: View) -> GrammarProbes | None:
    """The bar of filters, and the stored probes that it keeps; None if there are none."""
    runs = view.read(edge_runs) if view.database is not None else pd.DataFrame()
    if runs.empty:
        return None
    own = selection.of(GrammarSelection)
    titles: dict[str, str] = dict(
        view.read(edge_tasks)[["task", "title"]].drop_duplicates("task").itertuples(index=False, name=None)
    )
    models = [model for model in view.all_colours if model in set(runs["model"])]
    tasks = {task: title for task, title in titles.items() if task in set(runs["task"])}
    offer = Offer(models, usual_models(runs, models), tasks, MAX_MODELS)
    with filters.bar(view, own=("edge_tasks", "edge_part", "unseen", "published"), words=tasks) as place:
        offer.choose_models(view, "edge_models", own.edge_models)
        with place:
            offer.choose_tasks(view, "edge_tasks")
            selection.bound(
                "edge_part",
                help="The dev part also decided when training stopped, as in the paper; the test part did not.",
            )
            selection.bound("unseen")
            selection.bound("published")
    wanted, kept = offer.taken(view, own.edge_models, own.edge_tasks)
    return GrammarProbes(view, runs, kept, wanted)


def with_words(view: View, part: str, table: pd.DataFrame) -> pd.DataFrame:
    """The table, with words from a fetched data set for sentences that have none in the store.

    Tasks are read one after the other until every sentence of the table is found.
    """
    of_task = _lacking(view, part, table)
    hashes_lacking, text_of = set().union(*of_task.values()), dict[str, str]()
    for task, hashes in of_task.items():
        if hashes - text_of.keys():
            texts = _fetched(task)
            text_of |= {text_hash: texts[text_hash] for text_hash in hashes_lacking & texts.keys()}
    return table.assign(text=table["text"].fillna(table["text_sha256"].map(text_of))) if text_of else table


def fetch_command(view: View, part: str, table: pd.DataFrame) -> str:
    """The command that fetches the words that the table lacks; ``""`` if no data set of the registry has them."""
    data_sets, there = dict[str, None](), set[str]()
    for task, hashes in _lacking(view, part, table).items():
        if task in EDGE_TASKS and hashes - there:
            data_sets |= dict.fromkeys(EDGE_TASKS[task].data_set)
            there |= hashes
    return f"python -m probing fetch {' '.join(data_sets)}" if data_sets else ""


def say_missing(view: View, part: str, table: pd.DataFrame, named: Markdown) -> None:
    """A caption on what is shown instead of missing words, and how to get them; nothing if none are missing."""
    if not table["text"].isna().any():
        return
    command = fetch_command(view, part, table)
    words = (
        filled("{command} fetches the words", command=code(command))
        if command
        else Markdown("no registered data set has the words")
    )
    blocks.caption("{named}; {words}.", named=named, words=words)


def _lacking(view: View, part: str, table: pd.DataFrame) -> dict[str, set[str]]:
    """Task -> hashes of its sentences without words, in the order of tasks."""
    hashes = tuple(dict.fromkeys(table.loc[table["text"].isna(), "text_sha256"]))
    rows = view.read(tasks_of_texts, part, hashes) if hashes else pd.DataFrame(columns=["task", "text_sha256"])
    return {str(task): set(of_task["text_sha256"]) for task, of_task in rows.groupby("task", sort=False)}


def _fetched(task: str) -> dict[str, str]:
    """sha256 -> text of the sentences of a task; none if its data sets were not fetched, or cannot be read."""
    if task not in EDGE_TASKS:
        return {}
    downloads = cache_folder() / "downloads"
    return _texts(task, str(downloads), files_state(downloads / name for name in EDGE_TASKS[task].data_set))


@st.cache_data(max_entries=16, show_spinner="Reading the fetched sentences …")
def _texts(task: str, downloads: str, state: State) -> dict[str, str]:
    """The sentences outside the training part; ``state`` only serves as part of the cache key."""
    if not state:
        return {}
    try:
        _, data = read_task(task, Path(downloads))
    except (EdgeDataError, OSError):
        return {}
    return {
        record.sha256: record.text for name, part in data.parts().items() if name != "train" for record in part.records
    }
