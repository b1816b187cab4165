"""What the page of sentence probes shows: the stored probes that match the page's choices."""

from dataclasses import dataclass
from functools import cached_property

import pandas as pd
import streamlit as st

from probing.core.sentences.example import OURS, POOLINGS, PROTOCOLS, QUICK, SENTEVAL
from probing.core.tasks.objectives import CONTROL
from probing.figures.sentences.looks import POOLING_NAMES
from probing.reports.relatives import named, relatives
from probing.reports.sentences.panels import MAX_MODELS, SentencePanels, tasks_of_runs, usual_models
from probing.store.sentences.queries import sentence_runs, sentence_tasks
from probing.ui.frame import selection
from probing.ui.frame.page import View, there_or_said
from probing.ui.frame.run_choice import Offer, ShownRuns
from probing.ui.sentence_probes.selection import SentenceProbesSelection
from probing.ui.widgets.export import Stamp
from probing.ui.widgets.markdown import Markdown

TRAIN_COMMAND = "python -m probing sentences train --model nesia-mini --tasks all"
PROTOCOL_NAMES = {OURS: "ours", QUICK: "quick", SENTEVAL: "SentEval's"}


@dataclass(frozen=True)
class Shown(ShownRuns):
    """The stored probes that the page shows.

    Attributes:
        about: one row per task of the protocol, see ``sentence_tasks``.
        protocol: how the sentences were divided.
    """

    about: pd.DataFrame
    protocol: str

    @property
    def own(self) -> SentenceProbesSelection:
        """What is chosen on the page."""
        return selection.of(SentenceProbesSelection)

    @cached_property
    def panels(self) -> SentencePanels:
        """The numbers of the page's sections."""
        return SentencePanels(self.report, self.models, self.tasks, self.own.poolings or POOLINGS, self.protocol)

    @cached_property
    def controls(self) -> tuple[str, ...]:
        """Models that were trained further on their base's own text."""
        return tuple(sorted(set(self.runs.loc[self.runs["objective"] == CONTROL, "model"])))

    def source(self, task: str) -> str:
        """The source of a task's sentences."""
        return str(self.about.set_index("task")["source"].get(task, ""))

    def stamp(self, what: str, models: tuple[str, ...] | None = None) -> Stamp:
        """Filters and fingerprint of a figure; of the chosen models unless others are given."""
        named = self.models if models is None else models
        protocol = "" if self.protocol == OURS else f", {PROTOCOL_NAMES[self.protocol]} protocol"
        return self.stamp_of(f"{what}, {self.names(named)}{protocol}", named)


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
    offer = Offer(models, usual_models(runs, models), titles, MAX_MODELS)
    with st.sidebar:
        offer.menus(view, "sentence_models", "sentence_tasks", own.sentence_models)
        _controls(view.page, stored, protocol)
    unknown = [own.sentence_protocol] if own.sentence_protocol and own.sentence_protocol not in stored else []
    wanted, tasks = offer.taken(view, own.sentence_models, own.sentence_tasks, unknown)
    return Shown(view, runs, tasks, wanted, about, protocol)


def _controls(page: str, stored: list[str], protocol: str) -> None:
    selection.bound(
        st.multiselect,
        "Vector of a sentence",
        "poolings",
        page,
        options=list(POOLINGS),
        format_func=POOLING_NAMES.__getitem__,
        placeholder="both",
        help="A probe reads one vector per sentence: the state of its first token, or the mean over all its tokens.",
    )
    if len(stored) > 1:
        selection.bound(
            st.segmented_control,
            "Protocol",
            "sentence_protocol",
            page,
            value=protocol,
            options=stored,
            required=True,
            format_func=PROTOCOL_NAMES.__getitem__,
            help="Ours: repeats and contradictions left out, copies of a sentence in one part, classes balanced; quick: fewer sentences of "
            "the same; SentEval's: its own parts, no scaling, its grid of C.",
        )
