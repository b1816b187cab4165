"""The tab on whole sentences: what a probe reads from one vector per sentence, layer by layer."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd
import streamlit as st

from probing.choices import MINUS, PROTOCOL_NAMES, GrammarSelection
from probing.kernel.app import blocks, filters, selection
from probing.kernel.app.figure_cache import Stamp, drawing
from probing.kernel.app.filters import Offer, ShownRuns
from probing.kernel.app.frame import View
from probing.kernel.app.save import plot
from probing.kernel.app.texts import count, size_words
from probing.kernel.objectives import CONTROL
from probing.kernel.relatives import named, relatives
from probing.kernel.stats.intervals import SMALL_SET
from probing.sentences.examples import POOLINGS, PROTOCOLS
from probing.sentences.figures import POOLING_NAMES, layer_panels, learning_lines
from probing.sentences.report import MAX_MODELS, SentencePanels, tasks_of_runs, usual_models
from probing.sentences.store import sentence_runs, sentence_tasks

TRAIN = "python -m probing sentences train --model {model} --tasks {tasks}"
CAPTION = (
    "Grey lines need no model. Large point: the layer chosen on development sentences (dev), not the highest; filled:"
    " clearly above both lines."
)
HOW = (
    "A linear probe predicts a label from one vector per sentence and layer: are two words swapped, is the subject"
    " plural? The vector is the state of the first token (dashed) or the mean over all tokens (solid). Commonest"
    " answer: always the commonest training label (the majority baseline). Length and words alone: the same probe on"
    " length, first letter, final mark and words (the surface baseline). Layer and vector of the large point were"
    " chosen on the development sentences; all accuracies are on the test sentences. Bands are 95 % intervals of the"
    " probes, which treat the baselines as exact; whiskers are the range over seeds of fine-tuning; open markers are a"
    " control. Layer 0 holds no context, and its first token is the same vector for every sentence. A point has the"
    " same height in all panels. Protocols: ours leaves out repeats and contradictions, keeps copies of a sentence in"
    " one part and balances the classes; quick takes fewer sentences of the same; SentEval's has its own parts, no"
    " scaling and its own grid of C."
)
LEARNING_CAPTION = "If a line still rises at its right end, the probe may gain from more sentences."
LEARNING_HOW = (
    "Probes on a sixteenth, a quarter and all of the training sentences, each the beginning of the next, with equal"
    " classes. Bands are 95 % intervals. Grey are the commonest answer, and length and words alone with all sentences."
    " The best layer of a line is the one whose probe on all training sentences is best on the development sentences."
)


@dataclass(frozen=True)
class ShownProbes(ShownRuns):
    """The stored probes that the tab shows, one row per task of the protocol."""

    about: pd.DataFrame
    protocol: str

    @cached_property
    def panels(self) -> SentencePanels:
        poolings = selection.of(GrammarSelection).poolings
        return SentencePanels(self.report, self.models, self.tasks, poolings or POOLINGS, self.protocol)

    @property
    def controls(self) -> tuple[str, ...]:
        """Models that were trained further on their base's own text."""
        return tuple(sorted(set(self.runs.loc[self.runs["objective"] == CONTROL, "model"])))

    def stamp(self, what: str) -> Stamp:
        return self.stamp_of(
            f"{what}, {self.names(self.models)}, {PROTOCOL_NAMES[self.protocol]} protocol", self.models
        )


def draw_sentences(view: View) -> None:
    """What holds in one line, the options, and both figures; without results, the command that makes some."""
    runs = view.read(sentence_runs) if view.database is not None else pd.DataFrame()
    if runs.empty:
        blocks.missing("No probes of sentences are stored yet.", TRAIN.format(model="nesia-mini", tasks="all"))
        return
    own = selection.of(GrammarSelection)
    stored = [protocol for protocol in PROTOCOLS if protocol in set(runs["protocol"])]
    protocol = own.sentence_protocol if own.sentence_protocol in stored else stored[0]
    runs = runs[runs["protocol"] == protocol]
    about = tasks_of_runs(view.read(sentence_tasks), runs, protocol)
    title = st.container()
    offer = _offer(view, runs, about, own)
    labels = {
        "sentence_tasks": "Properties",
        "poolings": "Vector",
        "sentence_protocol": "Protocol",
        "sentence_minus": "Minus",
    }
    words = offer.tasks | POOLING_NAMES | PROTOCOL_NAMES | MINUS
    with filters.bar(view, own=labels, words=words, key="whole-filters") as place:
        offer.choose_models(view, "sentence_models", own.sentence_models)
        with place:
            offer.choose_tasks(view, "sentence_tasks")
            _options(view, stored, protocol)
    unknown = [own.sentence_protocol] if own.sentence_protocol and own.sentence_protocol not in stored else []
    models, tasks = offer.taken(view, own.sentence_models, own.sentence_tasks, unknown)
    probes = ShownProbes(view, runs, tasks, models, about, protocol)
    if probes.panels.accuracies.empty:
        blocks.missing(
            "No probes are stored for these models and tasks.", TRAIN.format(model=models[0], tasks=",".join(tasks))
        )
        return
    with title:
        _title(probes)
    _layers(probes, own.sentence_minus)
    _learning(probes, own)


def _offer(view: View, runs: pd.DataFrame, about: pd.DataFrame, own: GrammarSelection) -> Offer:
    """The models and tasks that can be chosen.

    Of models that differ only by their seed, one is offered; the others give the spread, and a link can select them.
    """
    stands = relatives(named(runs)).stands
    stored = [model for model in view.all_colours if model in set(runs["model"])]
    models = [model for model in stored if stands[model] == model or model in own.sentence_models]
    titles: dict[str, str] = dict(about[["task", "title"]].itertuples(index=False, name=None))
    return Offer(models, usual_models(runs, models)[:1], titles, MAX_MODELS)


def _options(view: View, stored: list[str], protocol: str) -> None:
    selection.bound("poolings")
    if len(stored) > 1:
        selection.bound("sentence_protocol", value=protocol, options=stored)
    selection.bound("sentence_minus")


def _title(probes: ShownProbes) -> None:
    """How many properties need the first model."""
    best = probes.panels.best
    blocks.tab_sentence(
        "{read} of {n} need {model}; for {rest}, length and words alone do as well.",
        read=int(best["read"].sum()),
        n=count(len(best), "property", "properties"),
        rest=int((~best["read"]).sum()),
        model=probes.view.name(probes.models[0]),
    )


def _layers(probes: ShownProbes, mode: str) -> None:
    """One panel per property."""
    about = probes.about[probes.about["level"].eq("own") & probes.about["task"].isin(list(probes.tasks))]
    for name, n in zip(about["title"], about["n_test"], strict=True):
        if n < SMALL_SET:
            st.info(size_words(int(n), "test sentences", str(name)), icon=":material/straighten:")
    panel = probes.panels.panels()
    poolings = list(selection.of(GrammarSelection).poolings) or None
    filters: dict[str, Any] = {
        "model": list(probes.models),
        "task": list(probes.tasks),
        "pooling": poolings,
        "protocol": probes.protocol,
    }
    blocks.figure(
        drawing(
            layer_panels,
            panel.rows,
            mode=mode,
            colours=probes.colours,
            labels=probes.labels,
            controls=probes.controls,
            **panel.options,
        ),
        table=panel.rows,
        stamp=probes.stamp(f"sentence probes, minus {MINUS[mode]}"),
        name="sentence-layers",
        caption=CAPTION,
        how=HOW,
        alt="Right answers of sentence probes by layer, one panel per property, with what needs no model",
        call=plot("sentences", "accuracy", filters) if mode == "value" else "",
    )


def _learning(probes: ShownProbes, own: GrammarSelection) -> None:
    """The choice of a property and a layer, and its learning curve."""
    every = probes.panels.every_curve
    if every.empty or every["portion"].nunique() < 2:
        return
    st.header("With fewer training sentences")
    task = (
        own.learned_task if own.learned_task in probes.tasks else str([*probes.panels.best["task"], *probes.tasks][0])
    )
    with st.container(horizontal=True, gap="small"):
        if len(probes.tasks) > 1:
            selection.bound("learned_task", value=task, options=probes.tasks)
        selection.bound(
            "learned_layer",
            options=[None, *range(int(every["layer"].max()) + 1)],
            format_func=lambda layer: "best on dev" if layer is None else str(layer),
        )
    points = probes.panels.curve(task, own.learned_layer).rows
    if points.empty:
        st.info("No probes of this property are stored for this layer.", icon=":material/info:")
        return
    blocks.figure(
        drawing(
            learning_lines,
            points,
            colours=probes.colours,
            labels=probes.labels,
            controls=probes.controls,
        ),
        table=points,
        stamp=probes.stamp(f"learning curve of {probes.tasks[task]}"),
        name="sentence-learning",
        caption=LEARNING_CAPTION,
        how=LEARNING_HOW,
        alt=f"Right answers on {probes.tasks[task]} by number of training sentences",
        call=plot(
            "sentences",
            "curve",
            {"model": probes.models, "task": task, "protocol": probes.protocol},
            layer=own.learned_layer,
        ),
    )
