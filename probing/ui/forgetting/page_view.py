"""What the page shows: the runs on one probe set at one k, and the model whose lost facts are listed."""

from dataclasses import dataclass

import pandas as pd
import streamlit as st

from probing.figures.shown_runs import set_name, set_order
from probing.reports.forgetting.outcome import memory, outcome
from probing.reports.forgetting.runs import stored_runs
from probing.ui.choices.compare import CompareSelection
from probing.ui.frame import selection
from probing.ui.frame.page import View, there_or_said
from probing.ui.frame.run_choice import Reading
from probing.ui.widgets import blocks
from probing.ui.widgets.export import Stamp
from probing.ui.widgets.markdown import Markdown, filled
from probing.ui.widgets.task_marks import mark_key

RECOVER_COMMAND = "python -m probing forgetting recover --model"
#: A demonstration model that a fresh copy of the project can ask.
_EXAMPLE = "nesia-mini-qa-squad-1"


@dataclass(frozen=True)
class Shown(Reading):
    """The runs that are shown.

    Attributes:
        runs: one per fine-tuned model, controls last; columns of ``reports.forgetting.runs.stored_runs``.
        model: the chosen one.
        outcome: of all of them, see ``reports.forgetting.outcome.outcome``.
    """

    runs: pd.DataFrame
    model: str
    outcome: pd.DataFrame

    @property
    def of_model(self) -> pd.DataFrame:
        """The runs of the chosen model."""
        return self.runs[self.runs["model"] == self.model]

    @property
    def run(self) -> dict:
        """The row of the chosen model's run."""
        return self.of_model.iloc[0].to_dict()

    @property
    def tests(self) -> pd.DataFrame:
        """The tests of memory of the chosen model."""
        return self.report(memory, self.of_model)

    @property
    def parts(self) -> pd.DataFrame:
        """The rows of ``outcome`` of the chosen model, by part."""
        return self.outcome[self.outcome["model"] == self.model].set_index("part")

    def stamp(self, what: str, whole: bool = False) -> Stamp:
        """Filters and fingerprint of what is shown of the model, or with ``whole`` of all models."""
        run = self.run
        names = "all fine-tuned models" if whole else f"{self.view.label(self.model)} against {self.view.label(run['base'])}"
        ids = tuple(self.runs["run_id"]) if whole else (run["run_id"],)
        return self.view.stamp(f"{what}, {names}, {set_name(run['probe_set'])}, rank ≤ {run['k']}", ids)


def labels_of(relations: pd.DataFrame, probe_set: str) -> dict[str, str]:
    """Relation -> its label, with its name if another relation has the same label; ``relations`` as of ``store.run_queries.relations``."""
    of_set = relations[relations["probe_set"] == probe_set]
    twice = set(of_set.loc[of_set["label"].duplicated(keep=False), "relation"])
    return {row.relation: f"{row.label} ({row.relation})" if row.relation in twice else row.label for row in of_set.itertuples()}


def open_results(view: View) -> Shown | None:
    """The choice of facts and model; without a run, shows the command that makes one."""
    runs = view.read(stored_runs) if view.database is not None else pd.DataFrame()
    example = f"{RECOVER_COMMAND} {_EXAMPLE}"
    if not there_or_said(len(runs) > 0, Markdown("No model was asked for the facts that it lost."), example):
        st.caption("It needs WikiText-2: `python -m probing fetch wikitext-2`. Name your own model by its folder:")
        st.code(f"{RECOVER_COMMAND} ./my-model --base bert-base-uncased", language="shell", wrap_lines=True)
        return None
    own = selection.of(CompareSelection)
    sets = sorted(runs["probe_set"].unique(), key=lambda name: (set_order(name), name))
    asked, known = own.lost_model, set(view.all_colours)
    if asked in known and asked not in set(runs["model"]):
        blocks.missing(
            filled("No way back to the facts that {model} lost was looked for.", model=view.called(asked)), f"{RECOVER_COMMAND} {asked}"
        )
    named = ((own.lost_set, sets), (asked, known | set(runs["model"])))
    blocks.say_ignored([name for name, there in named if name and name not in there])
    probe_set = own.lost_set if own.lost_set in sets else sets[0]
    ks = sorted(runs.loc[runs["probe_set"] == probe_set, "k"].unique().tolist())
    k = own.lost_k if own.lost_k in ks else ks[0]
    runs = runs[(runs["probe_set"] == probe_set) & (runs["k"] == k)].drop_duplicates("model", ignore_index=True)
    models = list(runs["model"])
    model = own.lost_model if own.lost_model in models else view.telling_first(models)[0]
    resets = {"lost_way": "", "lost_relation": "", "lost_fact": ""}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        if len(models) > 1:
            selection.bound(
                st.selectbox,
                "Model",
                "lost_model",
                view.page,
                value=model,
                options=models,
                format_func=view.label,
                resets=resets,
                help=mark_key(view, models),
            )
        if len(sets) > 1:
            selection.bound(
                st.selectbox, "Facts of", "lost_set", view.page, value=probe_set, options=sets, format_func=set_name, resets=resets
            )
        if len(ks) > 1:
            selection.known_rank(view.page, "lost_k", label="Known with rank", ranks=ks, value=k, resets=resets)
    reading = Reading(view)
    return Shown(view, runs, model, reading.report(outcome, runs))
