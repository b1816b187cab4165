"""What the page shows: one fine-tuned model, and the runs that measured its facts and sentences."""

from dataclasses import dataclass
from functools import cached_property

import pandas as pd
import streamlit as st

from probing.core.head_kinds import HEADS
from probing.core.sentences.example import OURS
from probing.figures.shown_runs import set_name, set_order
from probing.reports.fine_tuning.evidence import FactRuns, TuningPanels
from probing.reports.fine_tuning.facts_kept import fact_pairs
from probing.reports.fine_tuning.families_of_models import tuned_models
from probing.store.changes.queries import change_runs
from probing.store.sentences.queries import sentence_runs
from probing.ui.choices.compare import CompareSelection
from probing.ui.frame import selection
from probing.ui.frame.page import View, there_or_said
from probing.ui.frame.run_choice import Reading
from probing.ui.widgets import blocks
from probing.ui.widgets.export import Stamp
from probing.ui.widgets.markdown import Markdown, escape
from probing.ui.widgets.task_marks import mark_key

MEASURE_COMMAND = "python -m probing changes measure --model"
TRAIN_COMMAND = "python -m probing sentences train --tasks all --model"
#: The demonstration's ranking model; a fresh copy of the project can measure everything about it.
_EXAMPLE = "nesia-mini-rank-msmarco"


@dataclass(frozen=True)
class Shown(TuningPanels):
    """One fine-tuned model.

    Attributes:
        view: the page.
    """

    view: View

    @property
    def controls(self) -> tuple[str, ...]:
        """All models that were trained further on their base's own text."""
        return tuple(self.tuned.loc[self.tuned["control"], "model"])

    @property
    def fates(self) -> pd.DataFrame:
        """The rows of ``gone`` whose fate is stored."""
        return self.gone[self.gone["fate"] != ""] if len(self.gone) else self.gone

    @cached_property
    def run_ids(self) -> tuple[str, ...]:
        """The runs behind what is shown of the model."""
        found = [*self.read(change_runs).query("model == @self.model")["run_id"].head(1)]
        probes = self.read(sentence_runs)
        found += list(probes.loc[(probes["model"] == self.model) & (probes["protocol"] == self.protocol), "run_id"])
        if self.facts:
            runs = self.view.runs
            chosen = (runs["model"] == self.model) & (runs["head"] == self.facts.head) & (runs["probe_set"] == self.facts.probe_set)
            found = [*runs.loc[chosen, "run_id"], *found]
        return tuple(dict.fromkeys(found))

    def stamp(self, what: str, whole: bool = False) -> Stamp:
        """Filters and fingerprint of what is shown of the model, or with ``whole`` of all models."""
        facts = f", facts: {self.facts.head}, {set_name(self.facts.probe_set)}, rank ≤ {self.facts.k}" if self.facts else ""
        protocol = "" if self.protocol == OURS else f", sentences: {self.protocol} protocol"
        names = "all fine-tuned models" if whole else f"{self.view.label(self.model)} against {self.view.label(self.base)}"
        return self.view.stamp(f"{what}, {names}{facts}{protocol}", () if whole else self.run_ids)


def open_results(view: View) -> Shown | None:
    """The choice of a model, and of the facts that are counted; without a fine-tuned model, shows the commands that make one."""
    tuned = view.read(tuned_models) if view.database is not None else pd.DataFrame()
    if not there_or_said(len(tuned) > 0, Markdown("No fine-tuned model is stored yet."), f"{MEASURE_COMMAND} {_EXAMPLE}"):
        if view.database is not None:
            st.caption("It measures a model that is registered or was fine-tuned here, together with its base. For your own model:")
            st.code(blocks.FINETUNE_COMMAND, language="shell", wrap_lines=True)
        return None
    own = selection.of(CompareSelection)
    control = tuned[(tuned["stands"] == tuned["model"]) | (tuned["model"] == own.changed_model)].set_index("model")["control"].to_dict()
    models = sorted((model for model in view.all_colours if model in control), key=control.__getitem__)
    blocks.say_ignored([own.changed_model] if own.changed_model and own.changed_model not in models else [])
    probes = view.read(sentence_runs)
    first = view.telling_first(models, set(probes.loc[probes["answered"].astype(bool), "model"]))[0]
    model = next((one for one in (own.changed_model, view.chosen.model) if one in models), first)
    with st.popover(escape(view.label(model)), icon=":material/tune:"):
        selection.bound(
            st.selectbox,
            "Model",
            "changed_model",
            view.page,
            value=model,
            options=models,
            format_func=view.label,
            help=mark_key(view, models),
            resets={"gone_task": "", "gone_pooling": "", "gone_layer": None},
        )
        facts = _facts(view, model)
    return Shown(Reading(view).report, model, facts, view)


def _facts(view: View, model: str) -> FactRuns | None:
    """The choice of the facts that are counted, among those that both the model and its base were asked."""
    pairs = view.read(fact_pairs)
    model_pairs = pairs[pairs["model"] == model]
    if model_pairs.empty:
        return None
    chosen = view.chosen
    heads = sorted(model_pairs["head"].unique(), key=lambda name: (*HEADS, name).index(name))
    head = chosen.head if chosen.head in heads else heads[0]
    sets = sorted(model_pairs.loc[model_pairs["head"] == head, "probe_set"].unique(), key=lambda name: (set_order(name), name))
    probe_set = chosen.probe_set if chosen.probe_set in sets else sets[0]
    if len(heads) > 1:
        selection.bound(st.selectbox, "Facts read by head", "head", view.page, value=head, options=heads)
    if len(sets) > 1:
        selection.bound(st.selectbox, "Facts of", "probe_set", view.page, value=probe_set, options=sets, format_func=set_name)
    selection.known_rank(view.page, label="Known with rank")
    return FactRuns(str(head), str(probe_set), chosen.k)
