"""What the page of single targets shows: the stored traces that match the page's choices."""

from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from probing.core.edges.encoders import CUMULATIVE, TASK, TRAINED
from probing.core.edges.target import OWN
from probing.store.edges.queries import edge_labels, edge_runs, edge_tasks, traced_parts
from probing.ui.choices.grammar import TRACE_PARTS as PARTS
from probing.ui.choices.grammar import GrammarSelection
from probing.ui.frame import selection
from probing.ui.frame.page import View, require
from probing.ui.widgets import blocks
from probing.ui.widgets.export import Stamp
from probing.ui.widgets.markdown import Markdown
from probing.ui.widgets.task_marks import mark_key

PART_NAMES = {OWN: "our own sentences", "dev": "dev", "test": "test"}
assert tuple(PART_NAMES) == PARTS
TRAIN_COMMAND = "python -m probing edges train --model nesia-mini --tasks all"


@dataclass(frozen=True)
class Shown:
    """The stored traces that the page shows.

    Attributes:
        view: the page.
        runs: the runs of the chosen model that have traces of the part, one per task.
        tasks: title by task, of these runs, in the order of tables.
        model: the chosen model.
        part: of the data.
    """

    view: View
    runs: pd.DataFrame
    tasks: dict[str, str]
    model: str
    part: str

    @property
    def own(self) -> GrammarSelection:
        """What is chosen on the page."""
        return selection.of(GrammarSelection)

    @property
    def task(self) -> str:
        """The chosen task; ``""`` for all."""
        return self.own.trace_task if self.own.trace_task in self.tasks else ""

    @property
    def run_ids(self) -> tuple[str, ...]:
        """The runs of all its tasks."""
        return tuple(self.runs["run_id"])

    def labels(self) -> list[str]:
        """The labels of the chosen task."""
        table = self.view.read(edge_labels)
        return list(table.loc[table["task"] == self.task, "name"])

    def filters(self) -> dict[str, Any]:
        """The active filters, as the store expects them."""
        own = self.own
        pair = (own.later_first, own.earlier_last)
        return {
            "task": self.task or None,
            "label": own.trace_label if own.trace_label in self.labels() else None,
            "unseen": own.unseen,
            "kind": own.trace_kind,
            "settled": own.settled,
            "out_of_order": pair if all(one in self.tasks for one in pair) and pair[0] != pair[1] else None,
        }

    def words(self) -> str:
        """The choices in words."""
        found = self.filters()
        said = [self.view.label(self.model), self.tasks.get(self.task, "all tasks"), PART_NAMES[self.part]]
        said += [f"right label {found['label']}"] if found["label"] else []
        said += ["span text not in training"] if found["unseen"] else []
        said += [found["kind"]] if found["kind"] != "any" else []
        said += [f"settled at layer {found['settled']}"] if found["settled"] is not None else []
        if pair := found["out_of_order"]:
            said.append(f"{self.tasks[pair[0]]} settles before {self.tasks[pair[1]]}")
        return ", ".join(said)

    def stamp(self, what: str) -> Stamp:
        """Filters and fingerprint of a figure."""
        return self.view.stamp(f"{what}, {self.words()}", self.run_ids)


def open_results(view: View) -> Shown:
    """The controls of the sidebar, and the stored traces; if there are none, stops with the command that makes some."""
    runs = traced_runs(view.read(edge_runs)) if view.database is not None else pd.DataFrame()
    require(view, len(runs) > 0, Markdown("No answers to single targets are stored yet."), TRAIN_COMMAND)
    own = selection.of(GrammarSelection)
    models = [model for model in view.all_colours if model in set(runs["model"])]
    model = own.edge_model if own.edge_model in models else models[0]
    model_runs = runs[runs["model"] == model]
    traced = view.read(traced_parts)
    parts = [part for part in PARTS if part in set(traced.loc[traced["run_id"].isin(model_runs["run_id"]), "part"])]
    part = own.trace_part if own.trace_part in parts else parts[0]
    model_runs = model_runs[model_runs["run_id"].isin(traced.loc[traced["part"] == part, "run_id"])]
    titles = view.read(edge_tasks).drop_duplicates("task").set_index("task")["title"]
    tasks = {task: str(titles.get(task, task)) for task in model_runs["task"]}
    with st.sidebar:
        _controls(view, models, model, parts, part)
    asked = ((own.edge_model, models), (own.trace_part, parts), (own.trace_task, tasks))
    unknown = [PART_NAMES.get(name, name) for name, there in asked if name and name not in there]
    blocks.say_ignored(unknown)
    return Shown(view, model_runs, tasks, model, part)


def traced_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """One run per model and task whose answers can be read layer by layer: of the trained encoder, with cumulative probes on the
    task's labels. Of several, the lowest seed is taken, then the widest probe."""
    kept = runs[(runs["kind"] == CUMULATIVE) & (runs["encoder"] == TRAINED) & (runs["labels"] == TASK) & runs["traced"]]
    chosen = kept.sort_values(["seed", "width"], ascending=[True, False], kind="stable").drop_duplicates(["model", "task"])
    return chosen.sort_index()


def _controls(view: View, models: list[str], model: str, parts: list[str], part: str) -> None:
    page = view.page
    restart = {"trace_page": 1, "text_hash": ""}
    if len(models) > 1:
        selection.bound(
            st.selectbox,
            "Model",
            "edge_model",
            page,
            value=model,
            options=models,
            format_func=view.label,
            help=mark_key(view, models),
            resets={"trace_page": 1},
        )
    if len(parts) > 1:
        selection.bound(
            st.segmented_control,
            "Sentences",
            "trace_part",
            page,
            value=part,
            options=parts,
            required=True,
            resets=restart,
            format_func=PART_NAMES.__getitem__,
            help="Our own sentences were written for this page. The dev part of the tasks' data "
            "also decided when training stopped; the test part did not.",
        )
