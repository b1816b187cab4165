"""What the page of sentence probes shows: the stored probes that match the page's choices."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Concatenate, ParamSpec

import pandas as pd
import streamlit as st

from probing.core.sentences.example import OURS, POOLINGS, PROTOCOLS, QUICK, SENTEVAL
from probing.core.tasks.objectives import CONTROL
from probing.figures.sentences.looks import POOLING_NAMES
from probing.reports.relatives import named, relatives
from probing.reports.sentences.accuracy import accuracies
from probing.reports.sentences.panels import MAX_MODELS, compared_models, in_panel_order, tasks_of_runs, usual_models
from probing.store.database import Database
from probing.store.sentences.queries import sentence_runs, sentence_tasks
from probing.ui.frame import reads, selection
from probing.ui.frame.page import View, there_or_said
from probing.ui.sentence_probes.selection import SentenceProbesSelection
from probing.ui.widgets.export import Stamp
from probing.ui.widgets.learned import mark_key
from probing.ui.widgets.markdown import Markdown, filled, listing

P = ParamSpec("P")
TRAIN_COMMAND = "python -m probing sentences train --model nesia-mini --tasks all"
PROTOCOL_NAMES = {OURS: "ours", QUICK: "quick", SENTEVAL: "SentEval's"}


@dataclass(frozen=True)
class Shown:
    """The stored probes that the page shows.

    Attributes:
        view: the page.
        runs: the runs of the chosen protocol.
        about: one row per task of the protocol, see ``sentence_tasks``.
        tasks: title by task, of the chosen ones, in the order of tables.
        models: the chosen models.
        protocol: how the sentences were divided.
    """

    view: View
    runs: pd.DataFrame
    about: pd.DataFrame
    tasks: dict[str, str]
    models: tuple[str, ...]
    protocol: str

    @property
    def own(self) -> SentenceProbesSelection:
        """What is chosen on the page."""
        return selection.of(SentenceProbesSelection)

    @property
    def poolings(self) -> tuple[str, ...]:
        """The chosen poolings; all of them if none is chosen."""
        return self.own.poolings or POOLINGS

    def report(self, function: Callable[Concatenate[Database, P], pd.DataFrame], *args: P.args, **kwargs: P.kwargs) -> pd.DataFrame:
        """The result of a report on sentence probes."""
        assert self.view.database is not None
        counted: Callable[..., pd.DataFrame] = reads.counted
        return counted(function, self.view.database, *args, **kwargs)

    @cached_property
    def accuracies(self) -> pd.DataFrame:
        """The accuracy of each probe of the chosen models, tasks and poolings on all training sentences."""
        table = self.report(accuracies, models=self.models, tasks=tuple(self.tasks), protocol=self.protocol)
        return self.in_order(table[table["pooling"].isin(self.poolings)])

    def in_order(self, table: pd.DataFrame) -> pd.DataFrame:
        """The rows of the chosen tasks (and models, if the table has several) in their order."""
        return in_panel_order(table, self.models, tuple(self.tasks))

    @cached_property
    def tuned(self) -> tuple[str, ...]:
        """The fine-tuned models that are compared with a base, the control last."""
        return tuple(compared_models(self.runs, list(self.view.all_colours), self.own.tuned_model))

    @cached_property
    def controls(self) -> tuple[str, ...]:
        """Models that were trained further on their base's own text."""
        return tuple(sorted(set(self.runs.loc[self.runs["objective"] == CONTROL, "model"])))

    @property
    def colours(self) -> dict[str, str]:
        """Model -> colour."""
        return self.view.all_colours

    @property
    def labels(self) -> dict[str, str]:
        """Model -> its name in figures."""
        return {model: self.view.label(model) for model in {*self.models, *self.tuned}}

    def source(self, task: str) -> str:
        """The source of a task's sentences."""
        return str(self.about.set_index("task")["source"].get(task, ""))

    def key(self) -> Markdown:
        """The meaning of the marks on the names."""
        return mark_key(self.view, self.models)

    def protocol_words(self) -> str:
        """The protocol, if it is not the usual one."""
        return "" if self.protocol == OURS else f", {PROTOCOL_NAMES[self.protocol]} protocol"

    def stamp(self, what: str, models: tuple[str, ...] | None = None) -> Stamp:
        """Filters and fingerprint of a figure; of the chosen models unless others are given."""
        named = self.models if models is None else models
        mine = self.runs[self.runs["model"].isin(list(named)) & self.runs["task"].isin(list(self.tasks))]
        names = listing([self.view.label(model) for model in named], limit=MAX_MODELS)
        return self.view.stamp(f"{what}, {names}{self.protocol_words()}", tuple(mine["run_id"]))


def open_results(view: View) -> Shown | None:
    """The controls of the sidebar, and the stored probes; if there are none, shows the command that makes some."""
    runs = view.read(sentence_runs) if view.database is not None else pd.DataFrame()
    if not there_or_said(len(runs) > 0, Markdown("No probes of sentences are stored yet."), TRAIN_COMMAND):
        return None
    own = selection.of(SentenceProbesSelection)
    stored = [one for one in PROTOCOLS if one in set(runs["protocol"])]
    protocol = own.sentence_protocol if own.sentence_protocol in stored else stored[0]
    runs = runs[runs["protocol"] == protocol]
    about = tasks_of_runs(view.read(sentence_tasks), runs, protocol)
    titles: dict[str, str] = dict(about[["task", "title"]].itertuples(index=False, name=None))
    stands = relatives(named(runs)).stands
    stored_models = [model for model in view.all_colours if model in set(runs["model"])]
    # Of models that differ only by their seed, one is offered; the others give the spread, and a link can select them.
    models = [model for model in stored_models if stands[model] == model or model in own.sentence_models]
    usual = usual_models(runs, models)
    with st.sidebar:
        _controls(view, models, titles, usual, stored, protocol)
    unknown = [name for name in (*own.sentence_models, *own.sentence_tasks) if name not in (*models, *titles)]
    unknown += [own.sentence_protocol] if own.sentence_protocol and own.sentence_protocol not in stored else []
    if unknown:
        st.info(filled("Ignored, not in these results: {names}", names=listing(unknown)), icon=":material/link_off:")
    wanted = [model for model in own.sentence_models if model in models]
    if too_many := wanted[MAX_MODELS:]:
        names = listing([view.label(model) for model in too_many])
        st.info(filled("At most {most} models are shown. Ignored: {names}", most=MAX_MODELS, names=names), icon=":material/info:")
    tasks = {task: title for task, title in titles.items() if task in own.sentence_tasks} or titles
    return Shown(view, runs, about, tasks, tuple(wanted[:MAX_MODELS]) or tuple(usual), protocol)


def _controls(view: View, models: list[str], titles: dict[str, str], usual: list[str], stored: list[str], protocol: str) -> None:
    page, own = view.page, selection.of(SentenceProbesSelection)
    if len(models) > 1:
        selection.bound(
            st.multiselect, "Models", "sentence_models", page, options=models, format_func=view.label, max_selections=MAX_MODELS,
            value=own.sentence_models or usual, help=mark_key(view, models),
        )  # fmt: skip
    if len(titles) > 1:
        selection.bound(
            st.multiselect, "Tasks", "sentence_tasks", page, options=list(titles), format_func=titles.__getitem__, placeholder="all",
        )  # fmt: skip
    selection.bound(
        st.multiselect, "Vector of a sentence", "poolings", page, options=list(POOLINGS), format_func=POOLING_NAMES.__getitem__,
        placeholder="both", help="A probe reads one vector per sentence: the state of its first token, or the mean over all its tokens.",
    )  # fmt: skip
    if len(stored) > 1:
        selection.bound(
            st.segmented_control, "Protocol", "sentence_protocol", page, value=protocol, options=stored, required=True,
            format_func=PROTOCOL_NAMES.__getitem__,
            help="Ours: repeats and contradictions left out, copies of a sentence in one part, classes balanced; quick: fewer sentences of "
            "the same; SentEval's: its own parts, no scaling, its grid of C.",
        )  # fmt: skip
