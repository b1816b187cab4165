"""The frame of every page: title, navigation, selection, messages for missing results, cached reading."""

import atexit
import pickle
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from pathlib import Path
from time import monotonic
from typing import Any, Concatenate, ParamSpec, TypeVar

import pandas as pd
import streamlit as st
from streamlit.runtime.app_session import AppSession

from probing.kernel.app import blocks, selection
from probing.kernel.app.figure_cache import Stamp
from probing.kernel.app.selection import RunChoice
from probing.kernel.app.texts import Markdown, code, escape, filled, listing
from probing.kernel.errors import StoreError
from probing.kernel.fact import PROBE_SETS, SOURCES, Subset
from probing.kernel.figures.looks import (
    Looks,
    fit,
    followed,
    head_name,
    looks_of,
    marked,
    overlaid,
    set_name,
    usual_colours,
)
from probing.kernel.files import SAMPLES_FOLDER, result_folders
from probing.kernel.models.names import STORED
from probing.kernel.objectives import CONTROL
from probing.kernel.report import shown_baselines
from probing.kernel.store.database import Database
from probing.kernel.store.opening import open_files
from probing.kernel.store.parquet import SourceFile, find_files, version_of
from probing.kernel.store.stored import fact_runs, left_out_files, one_run_each, stored_models
from probing.kernel.success import Verdict
from probing.kernel.success_report import COLUMNS, SHORT, learned, verdicts_by_model

P = ParamSpec("P")
T = TypeVar("T")


class Visits:
    """The pages opened so far, by anybody; ``opened`` counts them."""

    def __init__(self) -> None:
        self.opened = 0
        self._last = float("-inf")

    def note(self) -> None:
        self.opened += 1
        self._last = monotonic()

    @property
    def seconds(self) -> float:
        """Since a page was last opened; infinite before the first."""
        return monotonic() - self._last


VISITS = Visits()


Arguments = tuple[tuple[Any, ...], tuple[tuple[str, Any], ...]]

#: How Streamlit's caches distinguish databases, tables and choices; of the latter its own way takes 20 times as long.
BY_DATA: dict[str | type, Callable[[Any], Hashable]] = {
    Database: lambda database: database.version,
    pd.DataFrame: pickle.dumps,
    RunChoice: repr,
}


def open_results() -> Database:
    """Opens the results again if a file is new, changed or gone."""
    sources = result_folders()
    files = find_files(sources)
    return _open(version_of(files), sources, files)


def open_sample() -> Database:
    """Opens the finished sample run of a user's own model, which no other page shows."""
    folders = [SAMPLES_FOLDER / "own-model"]
    files = find_files(folders)
    return _open(version_of(files), folders, files)


# What a session still reads of an older state ends before that is closed.
@st.cache_resource(max_entries=3, show_spinner=False)
def _open(version: str, _sources: Sequence[Path], _files: Sequence[SourceFile]) -> Database:
    return open_files(_sources, _files)


def read_rows(
    function: Callable[Concatenate[Database, P], T], database: Database, *args: P.args, **kwargs: P.kwargs
) -> T:
    """The function's result for this state of the data, from the cache if possible.

    Arguments are tuples, not lists. A nested function is refused: the values that it closes over would not be part of
    the cache key.
    """
    rows: T = _read(_name(function), (args, tuple(sorted(kwargs.items()))), database, function)
    return rows


def _name(function: Callable[..., Any]) -> str:
    if "<" in function.__qualname__:
        raise TypeError(
            f"got {function.__qualname__}, expected a function at the top level of a module: only its name is part of"
            " the cache key"
        )
    return f"{function.__module__}.{function.__qualname__}"


@st.cache_data(max_entries=600, show_spinner="Counting …", hash_funcs=BY_DATA)
def _read(name: str, arguments: Arguments, database: Database, _function: Callable[..., Any]) -> Any:
    return _function(database, *arguments[0], **dict(arguments[1]))


# DuckDB prints many warnings if a database is still open when Python exits.
atexit.register(_open.clear)


_clear_queue = AppSession._clear_queue


def _clear_for_pages(session: AppSession, fragment_ids_this_run: list[str] | None = None) -> None:
    """Keeps what a browser was not sent yet, unless a whole page follows.

    When a part of a page begins to run again, Streamlit throws away what it drew before, but not what the parts inside
    it drew, which then have no place: after quick clicks the browser shows "Bad delta path index" and no page.
    """
    if fragment_ids_this_run is None:
        _clear_queue(session)


AppSession._clear_queue = _clear_for_pages  # type: ignore[method-assign, assignment]

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
        """Model -> colour, for models with runs on facts; the same on every page."""
        there = set(self.runs["model"]) if len(self.runs) else set()
        return {model: colour for model, colour in self._looks.colours.items() if model in there}

    @property
    def results_only(self) -> frozenset[str]:
        """The models of which only results ship: further seeds and kinds of a training, and controls."""
        return self._looks.results_only

    @property
    def demonstration(self) -> frozenset[str]:
        """The demonstration models."""
        return self._looks.shipped

    @property
    def all_colours(self) -> dict[str, str]:
        """Model -> colour, for every stored model, with runs of any kind."""
        return self._looks.colours

    def colours_of(self, names: Iterable[str]) -> dict[str, str]:
        """Model -> colour, of models that may not be stored, such as those that are asked live."""
        return {name: self.all_colours.get(name, colour) for name, colour in usual_colours(names).items()}

    @property
    def controls(self) -> tuple[str, ...]:
        """Control models, whatever their names: those trained further on their base's pre-training text."""
        return tuple(sorted(set(self.runs.loc[self.runs["objective"] == CONTROL, "model"]))) if len(self.runs) else ()

    @cached_property
    def _looks(self) -> Looks:
        return looks_of(self.runs if self.models is None else self.models)

    @property
    def names(self) -> dict[str, str]:
        """Model -> its short name, unique among the stored models."""
        return self._looks.names

    @cached_property
    def learned(self) -> pd.DataFrame:
        """The task scores behind the verdicts; see ``kernel.success_report.learned``."""
        return pd.DataFrame(columns=[*COLUMNS, *SHORT]) if self.database is None else self.read(learned)

    @cached_property
    def verdicts(self) -> Mapping[str, Verdict]:
        """Fine-tuned model -> whether it learned its task; models never probed are of the registry."""
        return verdicts_by_model(self.learned)

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
        """The result of a query of a subject's ``store``; see ``read_rows``."""
        assert self.database is not None
        return read_rows(function, self.database, *args, **kwargs)

    def report(
        self, function: Callable[Concatenate[Database, P], pd.DataFrame], *args: P.args, **kwargs: P.kwargs
    ) -> pd.DataFrame:
        """The result of a report with the page's filters of facts, see ``shown_baselines``."""
        assert self.database is not None
        filtered = {"subset": Subset(self.exposures, self.in_subject), **kwargs}
        read: Callable[..., pd.DataFrame] = read_rows
        return shown_baselines(read(function, self.database, *args, **filtered))

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


def derived(function: Callable[Concatenate[View, P], T]) -> Callable[Concatenate[View, P], T]:
    """Decorates what a page makes of a view's data and choice, and of nothing else: it is made once."""
    # All pages' functions are of the module "__main__".
    name = (function.__code__.co_filename, _name(function))

    @wraps(function)
    def kept(view: View, /, *args: P.args, **kwargs: P.kwargs) -> T:
        version = view.database.version if view.database else ""
        result: T = _derived(name, version, view.chosen, (args, tuple(sorted(kwargs.items()))), view, function)
        return result

    return kept


@st.cache_data(max_entries=200, show_spinner=False, hash_funcs=BY_DATA)
def _derived(
    name: tuple[str, str],
    version: str,
    chosen: RunChoice,
    arguments: Arguments,
    _view: View,
    _function: Callable[..., Any],
) -> Any:
    return _function(_view, *arguments[0], **dict(arguments[1]))


def show(page: str, title: str, question: str, draw: Callable[[View], object], *, needs_results: bool = True) -> None:
    """Shows a page: title, navigation, and the body that ``draw`` draws, which runs alone after a click on it.

    Without needed results, the command that makes them stands in the place of the body.
    """
    st.set_page_config(
        page_title=f"{title} · BERTnesia Explorer", page_icon=str(Path(__file__).with_name("icon.svg")), layout="wide"
    )
    st.html(Path(__file__).with_name("page.css"))
    st.html(_MENU, unsafe_allow_javascript=True)
    selection.enter(page)
    _body(page, question, draw, needs_results)


def _view(page: str) -> tuple[View, dict[str, list[str]], StoreError | None]:
    """What a page shows, what of the selection is not stored, and why no results can be read."""
    opened, error = None, None
    try:
        opened = open_results()
    except StoreError as caught:
        error = caught
    if opened is None:
        return View(page, selection.current(), None, pd.DataFrame()), {}, error
    chosen, unknown = read_rows(_fitted, opened, selection.current())
    return View(page, chosen, opened, read_rows(_primary, opened), read_rows(stored_models, opened)), unknown, error


def _primary(database: Database) -> pd.DataFrame:
    return one_run_each(fact_runs(database))


def _fitted(database: Database, chosen: RunChoice) -> tuple[RunChoice, dict[str, list[str]]]:
    return fit(chosen, read_rows(_primary, database))


@st.fragment(key=selection.BODY)
def _body(page: str, question: str, draw: Callable[[View], object], needs_results: bool) -> None:
    """What of a page and its menu can change."""
    VISITS.note()
    selection.follow()
    view, unknown, error = _view(page)
    _menu(view)
    st.title(escape(question))
    if view.database:
        blocks.left_out_files(view.read(left_out_files))
    if needs_results:
        if error:
            blocks.problem(error)
        elif view.runs.empty:
            blocks.missing("No results are stored yet.", blocks.PROBE_COMMAND)
        if error or view.runs.empty:
            selection.link("ask", "Ask a sentence of your own")
            return
    selection.write_back(page, **followed(selection.current(), view.chosen))
    _say_unread(selection.ignored())
    blocks.say_ignored(
        [value for name, values in unknown.items() if name in selection.PAGE_FIELDS[page] for value in values]
    )
    draw(view)
    selection.next_question(page)


def _menu(view: View) -> None:
    """Draws the product's name, and the pages; with a link to what the demonstration model is, where one is shown.

    Home has the name in the page, too; a phone has it on every page, because its sidebar is closed.
    """
    name = Markdown("**BERTnesia Explorer**")
    shown = selection.named(view.page, view.all_colours) or view.chosen.models
    if view.demonstration & set(shown):
        words = "{name} · [a small demonstration model, not BERT]({address})"
        name = filled(words, name=name, address=Markdown(selection.address("methods", methods_tab="models")))
    with st.sidebar:
        st.markdown(name)
        selection.sidebar_links()
    with st.container(key="identity-here" if view.page == "home" else "identity"):
        st.caption(name)


def _say_unread(ignored: selection.Ignored) -> None:
    """States the fields of the link that the page does not use."""
    for name in ignored.invalid:
        blocks.note("Ignored an invalid {name} in the link.", "link_off", name=code(name))
    for name, similar in ignored.unknown.items():
        hint = filled(" Did you mean {similar}?", similar=code(similar)) if similar else Markdown("")
        blocks.note(
            "This page has no option {name}, so the link's is ignored.{hint}", "link_off", name=code(name), hint=hint
        )


def run_of(view: View) -> pd.Series:
    """The single run that the page shows."""
    runs, chosen = view.runs, view.chosen
    chosen_runs = runs[
        (runs["model"] == chosen.model) & (runs["head"] == chosen.head) & (runs["probe_set"] == chosen.probe_set)
    ]
    return chosen_runs.iloc[0]


def counts_only(run: Mapping[str, Any] | Any) -> bool:
    """Whether only counts are stored for a run, without predictions per fact."""
    return bool(run.get("counted", False))


def probe_command(run: Mapping[str, Any] | Any) -> str:
    """The command that stores a run's predictions per fact."""
    probe_set, templates = run["probe_set"], run.get("template_set", "default")
    own = f"FILE --as {probe_set}" if probe_set not in PROBE_SETS else "LAMA_FOLDER"
    facts = probe_set if probe_set in SOURCES and templates == "default" else own
    return f"python -m probing probe --model {run['model']} --head {run['head']} --facts {facts}"


def heads_command(run: Mapping[str, Any] | Any) -> str:
    """The command that trains a run's heads, if their kind is stored in files, and probes the model through them."""
    train = (
        f"python -m probing train-heads --model {run['model']} --head {run['head']} && "
        if run["head"] in STORED
        else ""
    )
    return train + probe_command(run)


def say(view: View, *runs: Mapping[str, Any] | Any) -> bool:
    """Reports each run with stored counts only, with the command that stores more; returns whether there was one."""
    counted = [run for run in runs if counts_only(run)]
    for run in counted:
        blocks.note(
            "Only counts are stored for this run, no single facts: {model} read with {head} on {facts}. This"
            " command probes it:",
            model=view.name(run["model"]),
            head=head_name(run["head"]),
            facts=set_name(run["probe_set"]),
        )
        blocks.command_line(probe_command(run), whole=True)
    return bool(counted)


def wanted(view: View, **changes: Any) -> dict[str, Any]:
    """The fields of a link to facts: the run and filters of this page, and the changes."""
    filters = {"exposures": view.chosen.exposures, "in_subject": view.chosen.in_subject}
    run = {"model": view.chosen.model, "head": view.chosen.head, "probe_set": view.chosen.probe_set}
    return {**run, **filters, **changes}


def link(view: View, label: str, **changes: Any) -> None:
    """Draws a link to the facts, which can be reached by keyboard. All other filters of the Facts page are off."""
    selection.link("facts", label, afresh=True, **wanted(view, **changes))


def go(view: View, **changes: Any) -> None:
    """Opens the facts at the next run; for callbacks of clicks."""
    selection.open_later("facts", afresh=True, **wanted(view, **changes))
