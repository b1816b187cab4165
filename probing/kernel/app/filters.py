"""The bar of filters above a figure: runs, models, tasks, and values or differences."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Concatenate, NamedTuple, ParamSpec

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from probing.kernel.app import blocks, selection
from probing.kernel.app.figure_cache import Stamp
from probing.kernel.app.frame import View, read_rows
from probing.kernel.app.texts import Markdown, filled, joined, listing, mark_key, size_words
from probing.kernel.fact import PROBE_SETS
from probing.kernel.figures.looks import head_name, set_name, set_order
from probing.kernel.figures.yardsticks import MODES as ZEROS
from probing.kernel.models.names import head_order
from probing.kernel.stats.intervals import MIN_FACTS, SMALL_SET
from probing.kernel.store.database import Database


@contextmanager
def bar(
    view: View,
    *fields: str,
    more: Sequence[str] = (),
    own: Sequence[str] | Mapping[str, str] = (),
    words: Mapping[str, str] | None = None,
    label: str = "Filters",
    key: str = "filters",
) -> Iterator[DeltaGenerator]:
    """Draws a bar of filters; what the body draws stands in it, too.

    ``fields`` are shared ones drawn in the bar, ``more`` those behind a button, ``own`` the page's own that the body
    draws there (-> their labels on chips); ``words`` has the word of such a field's value, if it is not the value.
    Yields the place behind the button: ``with place: ...``. What is chosen there stands in the bar as chips, which
    remove it.
    """
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key=key):
        for name in fields:
            _DRAW[name](view, name)
        place = st.popover(filled("{label}", label=label), icon=":material/tune:") if more or own else st.container()
        with place:
            for name in more:
                _DRAW[name](view, name)
        yield place
        for name in more:
            _chip(view, name)
        for name in own:
            _chip(view, name, words, own[name] if isinstance(own, Mapping) else None)


def _chip(view: View, name: str, names: Mapping[str, str] | None = None, label: str | None = None) -> None:
    """A button with a filter that is not the default; a click removes the filter."""
    value, default = selection.value_of(view.page, name), selection.default_of(view.page, name)
    if value == default:
        return
    words = [
        (names or {}).get(str(item)) or _word(view, name, item)
        for item in (value if isinstance(value, tuple) else [value])
    ]
    remove = partial(selection.update, **{name: default})
    label = label or selection.label_of(view.page, name)
    st.button(
        filled("{label}: {words}", label=label, words=listing(words)),
        key=f"{view.page}.{name}.chip",
        icon=":material/close:",
        help="Remove this filter",
        on_click=remove,
    )


def _word(view: View, name: str, value: object) -> str:
    if value in view.names:
        return view.label(str(value))
    if name in ("probe_set", "probe_sets"):
        return set_name(str(value))
    if name.endswith(("head", "heads")):
        return head_name(str(value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return selection.AVERAGED.get(str(value), str(value) or "none")


def _models(view: View, name: str) -> None:
    if len(view.colours) > 1:
        options = list(view.colours)
        marks = mark_key(view.verdicts, view.colours)
        selection.bound(name, value=view.chosen.models, options=options, format_func=view.label, help=marks, width=450)


def _several(view: View, name: str, column: str, order: Callable[[str], Any]) -> None:
    options = sorted(view.runs[column].unique(), key=order)
    if len(options) > 1:
        selection.bound(name, value=getattr(view.chosen, name), options=options)


def _one(view: View, name: str) -> None:
    """The one model, kind of head or probe set of the page; each choice narrows the next."""
    runs, chosen = view.runs, view.chosen
    of_model = runs[runs["model"] == chosen.model]
    of_head = of_model[of_model["head"] == chosen.head]
    offered: dict[str, list[str]] = {
        "model": list(view.colours),
        "head": sorted(of_model["head"].unique(), key=head_order),
        "probe_set": sorted(of_head["probe_set"].unique(), key=set_order),
    }
    if len(options := offered[name]) > 1:
        more = (
            {"format_func": view.label, "help": mark_key(view.verdicts, view.colours)}
            if name == "model"
            else {"help": None}
        )
        value, dependents = getattr(chosen, name), name != "head"
        selection.bound(name, value=value, options=options, resets_dependents=dependents, width=200, **more)


def _as_declared(view: View, name: str) -> None:
    selection.bound(name)


_DRAW: Mapping[str, Callable[[View, str], None]] = {
    "models": _models,
    "heads": partial(_several, column="head", order=head_order),
    "probe_sets": partial(_several, column="probe_set", order=set_order),
    **dict.fromkeys(selection.ONE_RUN, _one),
    **dict.fromkeys(("k", "average", *selection.FILTERS), _as_declared),
}


P = ParamSpec("P")


@dataclass(frozen=True)
class Reading:
    view: View

    def report(self, function: Callable[Concatenate[Database, P], Any], *args: P.args, **kwargs: P.kwargs) -> Any:
        """The result of a report, from the cache if possible."""
        assert self.view.database is not None
        return read_rows(function, self.view.database, *args, **kwargs)


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
                models,
                options=list(self.models),
                format_func=view.label,
                max_selections=self.most,
                value=chosen or self.usual,
                help=mark_key(view.verdicts, self.models),
            )

    def choose_tasks(self, view: View, tasks: str) -> None:
        """Draws the menu of tasks; ``tasks`` is its field of the page's selection."""
        if len(self.tasks) > 1:
            selection.bound(tasks, "Tasks", options=self.tasks, placeholder="all")

    def taken(
        self, view: View, models: Sequence[str], tasks: Sequence[str], unknown: Iterable[str] = ()
    ) -> tuple[tuple[str, ...], dict[str, Any]]:
        """The chosen models and tasks; a message names what is not offered, ``unknown`` or too much."""
        blocks.say_ignored([*(name for name in (*models, *tasks) if name not in (*self.models, *self.tasks)), *unknown])
        stored = [model for model in models if model in self.models]
        if too_many := stored[self.most :]:
            names = listing([view.name(model) for model in too_many])
            blocks.note("At most {most} models are shown. Ignored: {names}", most=self.most, names=names)
        tasks_left = {task: title for task, title in self.tasks.items() if task in tasks}
        return tuple(stored[: self.most] or self.usual), tasks_left or self.tasks


MODES = {"value": "all right answers", "majority": "beyond the commonest answer", "swapped": "beyond a blind guess"}
NO_MAJORITY = (
    "The commonest answer is a single word, so it can be subtracted only from first places: choose rank 1, or right"
    " among the relation's answers. The figure shows the values."
)
NOT_OF_METRIC = (
    "Blind guesses are measured only for right answers (P@k): choose that curve. The figure shows the values."
)
NOT_STORED = (
    "No blind guess is stored for these facts, so the figure shows the values. Questions without a name and runs stored"
    " as compact results have none: choose other facts, or probe the model again without compact results."
)
TOO_FEW = (
    f"A commonest answer needs at least {MIN_FACTS} facts, so the figure shows the values. Choose other facts, or"
    " loosen the filters."
)
assert tuple(MODES) == tuple(ZEROS)


def choose(view: View, field: str, undefined: Mapping[str, str]) -> str:
    """Draws the choice of the mode; returns the mode to show.

    ``undefined``: mode -> why it cannot be shown; the values are shown in its place. If only ``value`` can be shown,
    the choice is disabled and its help text states the reason.
    """
    nothing_else = len(undefined) == len(MODES) - 1
    why = joined(" ", dict.fromkeys(undefined.values())) if nothing_else else Markdown("")
    mode: str = selection.bound(field, format_func=MODES.__getitem__, disabled=nothing_else, help=why)
    if mode not in undefined:
        return mode
    blocks.note("{why}", why=undefined[mode])
    return "value"


def undefined(points: pd.DataFrame, *, majority: bool = True, swapped: bool = True) -> dict[str, str]:
    """The modes that are undefined for these points of a report, each with the reason and what to do.

    ``majority, swapped``: whether the yardstick is defined for the metric.
    """
    why = {} if majority else {"majority": NO_MAJORITY}
    if majority and points["above_majority"].isna().all():
        why["majority"] = TOO_FEW
    if not swapped:
        why["swapped"] = NOT_OF_METRIC
    elif points["above_swapped"].isna().all():
        why["swapped"] = NOT_STORED
    return why


def say_size(points: pd.DataFrame, probe_set: str = "") -> None:
    """States, for each of the user's own sets below ``SMALL_SET`` facts, what can be said at its size."""
    sizes = points.assign(probe_set=probe_set) if probe_set else points
    for name, n in sizes.groupby("probe_set", sort=False)["n"].max().items():
        if name not in PROBE_SETS and 0 < n < SMALL_SET:
            st.info(size_words(int(n), "facts", str(name)), icon=":material/straighten:")


def labels(view: View) -> dict[str, str]:
    return {model: view.label(model) for model in view.colours}
