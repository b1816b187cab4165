"""The frame of every page: title, navigation, the user's selection, and messages for missing results."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import pandas as pd
import streamlit as st

from probing.facts.runs_runs import one_run_each
from probing.facts.store import left_out_files, stored_models
from probing.facts.store import runs as all_runs
from probing.finetuning.objectives import CONTROL
from probing.finetuning.success import Verdict
from probing.finetuning.success_report import COLUMNS, SHORT, learned, verdicts_by_model
from probing.kernel.app import blocks, selection
from probing.kernel.app import frame_page_reads as page_reads
from probing.kernel.app import selection_navigation as navigation
from probing.kernel.app.figure_cache_export import Stamp
from probing.kernel.app.frame_visits import VISITS
from probing.kernel.app.selection import RunChoice
from probing.kernel.app.texts import Markdown, code, escape, filled, listing
from probing.kernel.errors import StoreError
from probing.kernel.figures.looks import fit, followed, overlaid
from probing.kernel.figures.looks_model_looks import Looks, looks_of, marked
from probing.kernel.report_shown_baselines import shown_baselines
from probing.kernel.store.database import Database
from probing.papers import home as front

P = ParamSpec("P")
T = TypeVar("T")


_MENU = Path(__file__).with_name("menu.html").read_text(encoding="utf-8")


@dataclass(frozen=True)
class View:
    """The data and selection of a page.

    ``chosen`` has defaults filled in, without names that are not in the store; ``runs`` are the primary ones, one per
    model, head and probe set; ``models`` are all stored ones, None if only ``runs`` are known.
    """

    page: str
    chosen: RunChoice
    database: Database | None
    runs: pd.DataFrame
    models: pd.DataFrame | None = None

    @property
    def overlaid(self) -> pd.DataFrame:
        """The runs of the chosen models, heads and probe sets."""
        return overlaid(self.runs, self.chosen.models, self.chosen.heads, self.chosen.probe_sets)

    @property
    def colours(self) -> dict[str, str]:
        """Model -> colour, for models with knowledge runs; the same on every page."""
        there = set(self.runs["model"]) if len(self.runs) else set()
        return {model: colour for model, colour in self._looks.colours.items() if model in there}

    @property
    def results_only(self) -> frozenset[str]:
        """The models of which only results ship: further seeds and kinds of a training, and controls."""
        return self._looks.results_only

    @property
    def all_colours(self) -> dict[str, str]:
        """Model -> colour, for every stored model, with runs of any kind."""
        return self._looks.colours

    @property
    def controls(self) -> tuple[str, ...]:
        """Control models, whatever their names: those trained further on their base's pre-training text."""
        return tuple(sorted(set(self.runs.loc[self.runs["objective"] == CONTROL, "model"]))) if len(self.runs) else ()

    @property
    def added(self) -> tuple[str, ...]:
        """Models with knowledge runs that were added to the demonstration models."""
        return tuple(model for model in self.colours if model in self._looks.added)

    @cached_property
    def _looks(self) -> Looks:
        return looks_of(self.runs if self.models is None else self.models)

    @property
    def names(self) -> dict[str, str]:
        """Model -> its short name, unique among the stored models."""
        return self._looks.names

    @cached_property
    def learned(self) -> pd.DataFrame:
        """The task scores behind the verdicts; see ``finetuning.success_report.learned``."""
        return pd.DataFrame(columns=[*COLUMNS, *SHORT]) if self.database is None else self.read(learned)

    @cached_property
    def verdicts(self) -> Mapping[str, Verdict]:
        """Fine-tuned model -> whether it learned its task; models never probed are of the registry."""
        return verdicts_by_model(self.learned)

    @cached_property
    def clearest(self) -> front.Lost | None:
        """The fine-tuned model with the clearest finding, shown first; None if no single facts of one are stored."""
        return next(iter(self.clear_ones), None)

    @cached_property
    def clear_ones(self) -> list[front.Lost]:
        """The fine-tuned models of which single facts are stored, the one with the clearest finding first."""
        if self.database is None or self.runs.empty:
            return []
        lost = self.read(front.lost_by_fine_tuning, self.runs, self.chosen.heads[0], self.chosen.probe_sets[0])
        return front.clear_ones(
            lost, frozenset(model for model, verdict in self.verdicts.items() if verdict == "learned")
        )

    def telling_first(self, models: Sequence[str], whole: Collection[str] | None = None) -> list[str]:
        """Models by what a page on one of them can show, else in their order.

        First come those that learned their task and whose single results (None: single facts) are stored: what such a
        model lost was lost to a task.
        """
        if whole is None:
            whole = set(self.runs.loc[~self.runs["counted"].astype(bool), "model"])
        return sorted(models, key=lambda model: not (self.verdicts.get(model) == "learned" and model in whole))

    def name(self, model: str) -> str:
        """A model's short name without a mark; the full name of a model that is not stored."""
        return self.names.get(model, model)

    def label(self, model: str) -> str:
        """A model's name in plain text, with a mark for whether a fine-tuned one learned its task."""
        return marked(self.name(model), self.verdicts.get(model))

    def labelled(self, words: str) -> str:
        """Words with models' short names, longest names first, because a base's name is part of the others'."""
        names = "|".join(map(re.escape, sorted(self.all_colours, key=len, reverse=True)))
        return re.sub(names, lambda match: self.name(match[0]), words) if names else words

    @property
    def exposures(self) -> tuple[str, ...] | None:
        return self.chosen.exposures or None

    @property
    def in_subject(self) -> bool | None:
        """Whether the answer is part of the subject, as an argument of queries."""
        return {"any": None, "no": False, "yes": True}[self.chosen.in_subject]

    def read(self, function: Callable[Concatenate[Database, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of a query of ``probing.store``; see ``reads.read``."""
        assert self.database is not None
        return page_reads.read(function, self.database, *args, **kwargs)

    def report(
        self, function: Callable[Concatenate[Database, P], pd.DataFrame], *args: P.args, **kwargs: P.kwargs
    ) -> pd.DataFrame:
        """The result of a report of ``probing.reports`` with the page's filters of facts, see ``shown_baselines``."""
        assert self.database is not None
        filtered = {"exposures": self.exposures, "answer_in_subject": self.in_subject, **kwargs}
        counted: Callable[..., pd.DataFrame] = page_reads.counted
        return shown_baselines(counted(function, self.database, *args, **filtered))

    def stamp(self, filters: str, run_ids: tuple[str, ...]) -> Stamp:
        """Filters and fingerprint of a figure on this page."""
        return Stamp(filters, self.database.data_version if self.database else "", run_ids)

    @property
    def filtered(self) -> bool:
        """Whether the page leaves out facts by their exposure or by whether the subject has the answer."""
        return bool(self.chosen.exposures) or self.chosen.in_subject != "any"

    def filter_words(self) -> str:
        words = [f"exposure {listing(self.chosen.exposures)}"] if self.chosen.exposures else []
        words += {"any": [], "no": ["answer not in subject"], "yes": ["answer in subject"]}[self.chosen.in_subject]
        return ", ".join(words) or "all facts"


def open_page(page: str, title: str, question: str, *, needs_results: bool = True) -> View:
    """Draws title, navigation and sidebar; without needed results, shows the command that makes them and stops."""
    VISITS.note()
    st.set_page_config(
        page_title=f"{title} · BERTnesia Explorer", page_icon=str(Path(__file__).with_name("icon.svg")), layout="wide"
    )
    st.html(Path(__file__).with_name("page.css"))
    ignored = selection.enter(page)
    navigation.follow()
    opened, error = None, None
    try:
        opened = page_reads.open_results()
    except StoreError as caught:
        error = caught
    stored = page_reads.read(stored_models, opened) if opened else None
    _identity(stored, here=page == "home")
    st.title(escape(question))
    if opened:
        blocks.left_out_files(page_reads.read(left_out_files, opened))
    runs = one_run_each(page_reads.read(all_runs, opened)) if opened else pd.DataFrame()
    if needs_results:
        if error:
            blocks.problem(error)
        elif runs.empty:
            blocks.missing("No results are stored yet.", blocks.PROBE_COMMAND)
        if error or runs.empty:
            navigation.link("ask", "Ask a sentence of your own")
            st.stop()
    chosen, unknown = fit(selection.current(), runs)
    view = View(page, chosen, opened, runs, stored)
    selection.write_back(page, **followed(selection.current(), chosen))
    _say_unread(ignored)
    blocks.say_ignored(
        [value for name, values in unknown.items() if name in selection.PAGE_FIELDS[page] for value in values]
    )
    return view


def _identity(models: pd.DataFrame | None, *, here: bool) -> None:
    """Draws the product's name, and the pages; a line on the demonstration model, as long as there are only such.

    ``here``: the page has the name, too; a phone has it on every page, because its sidebar is closed.
    """
    name = Markdown("**BERTnesia Explorer**")
    # What is made of a demonstration model is called after it.
    shipped = tuple(looks_of(models).shipped) if models is not None else ()
    if models is not None and shipped and models["model"].str.startswith(shipped).all():
        name = filled("{name} · a small demonstration model, not BERT", name=name)
    with st.sidebar:
        st.markdown(name)
        navigation.sidebar_links()
    st.html(_MENU, unsafe_allow_javascript=True)
    with st.container(key="identity-here" if here else "identity"):
        st.caption(name)


def end(view: View) -> None:
    """Ends a page: the link to the next question."""
    navigation.next_question(view.page)


def _say_unread(ignored: selection.Ignored) -> None:
    """States the fields of the link that the page does not use."""
    for name in ignored.invalid:
        st.info(filled("Ignored an invalid {name} in the link.", name=code(name)), icon=":material/link_off:")
    for name, similar in ignored.unknown.items():
        hint = filled(" Did you mean {similar}?", similar=code(similar)) if similar else Markdown("")
        st.info(
            filled("This page has no option {name}, so the link's is ignored.{hint}", name=code(name), hint=hint),
            icon=":material/link_off:",
        )


def run_of(view: View) -> pd.Series:
    """The single run that the page shows."""
    runs, chosen = view.runs, view.chosen
    chosen_runs = runs[
        (runs["model"] == chosen.model) & (runs["head"] == chosen.head) & (runs["probe_set"] == chosen.probe_set)
    ]
    return chosen_runs.iloc[0]
