"""The bar of filters above the figure that they change."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from probing.kernel.app import selection
from probing.kernel.app.frame import View
from probing.kernel.app.texts import Markdown, filled, listing
from probing.kernel.app.texts_task_marks import mark_key
from probing.kernel.figures.looks import head_name, set_name, set_order
from probing.kernel.models.names_head_kinds import head_order

NO_HELP = Markdown("")
_AVERAGES = {"macro": "relations (macro)", "micro": "facts (micro)"}


@contextmanager
def bar(
    view: View,
    *fields: str,
    more: Sequence[str] = (),
    own: Mapping[str, str] | None = None,
    words: Mapping[str, str] | None = None,
    label: str = "Filters",
    key: str = "filters",
) -> Iterator[DeltaGenerator]:
    """Draws a bar of filters; what the body draws stands in it, too.

    ``fields`` are shared ones drawn in the bar, ``more`` those behind a button, ``own`` the page's own that the body
    draws there -> their labels; ``words`` has the word of such a field's value on the chip, if it is not the value.
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
            _chip(view, name, _LABELS[name])
        for name, title in (own or {}).items():
            _chip(view, name, title, words)


def _chip(view: View, name: str, label: str, names: Mapping[str, str] | None = None) -> None:
    """A button with a filter that is not the default; a click removes the filter."""
    value, default = selection.value_of(view.page, name), selection.default_of(view.page, name)
    if value == default:
        return
    words = [
        (names or {}).get(str(item)) or _word(view, name, item)
        for item in (value if isinstance(value, tuple) else [value])
    ]
    remove = partial(selection.update, **{name: default})
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
    return "yes" if value is True else "no" if value is False else _AVERAGES.get(str(value), str(value) or "none")


def _models(view: View, name: str) -> None:
    if len(view.colours) > 1:
        selection.bound(
            st.multiselect,
            _LABELS[name],
            name,
            view.page,
            value=view.chosen.models,
            options=list(view.colours),
            format_func=view.label,
            help=mark_key(view, view.colours),
            width=450,
        )


def _several(view: View, name: str, column: str, order: Callable[[str], Any], **more: Any) -> None:
    options = sorted(view.runs[column].unique(), key=order)
    if len(options) > 1:
        selection.bound(
            st.multiselect, _LABELS[name], name, view.page, value=getattr(view.chosen, name), options=options, **more
        )


def _one(view: View, name: str) -> None:
    """The one model, kind of head or probe set of the page; each choice narrows the next."""
    runs, chosen = view.runs, view.chosen
    of_model = runs[runs["model"] == chosen.model]
    of_head = of_model[of_model["head"] == chosen.head]
    offered: dict[str, tuple[list[str], Callable[[str], str]]] = {
        "model": (list(view.colours), view.label),
        "head": (sorted(of_model["head"].unique(), key=head_order), head_name),
        "probe_set": (sorted(of_head["probe_set"].unique(), key=set_order), set_name),
    }
    options, words = offered[name]
    if len(options) > 1:
        selection.bound(
            st.selectbox,
            _LABELS[name],
            name,
            view.page,
            value=getattr(chosen, name),
            options=options,
            format_func=words,
            help=mark_key(view, view.colours) if name == "model" else None,
            resets_dependents=name != "head",
            width=200,
        )


def _segments(
    view: View, name: str, options: Sequence[Any], words: Callable[[Any], str] = str, help: Markdown = NO_HELP
) -> None:
    selection.bound(
        st.segmented_control,
        _LABELS[name],
        name,
        view.page,
        options=list(options),
        required=True,
        format_func=words,
        help=help if help else None,
    )


def _known(view: View, name: str) -> None:
    selection.known_rank(view.page, name, label=_LABELS[name])


def _exposures(view: View, name: str) -> None:
    selection.bound(
        st.multiselect,
        _LABELS[name],
        name,
        view.page,
        options=list(selection.EXPOSURES),
        placeholder="all",
        help=(
            "Stated: in so many words. Evidence: subject and answer in one sentence. In part: the fact's own evidence"
            " names it in another form. Unseen and held out: not in the text."
        ),
    )


_LABELS = {
    "models": "Models",
    "heads": "Read with (head)",
    "probe_sets": "Facts (probe sets)",
    "model": "Model",
    "head": "Read with (head)",
    "probe_set": "Facts (probe set)",
    "k": "Counts as known: rank",
    "average": "Mean over",
    "exposures": "Was the fact in the training text?",
    "in_subject": "The name gives it away (Apple Watch: Apple)",
}
_DRAW: dict[str, Callable[[View, str], None]] = {
    "models": _models,
    "heads": partial(_several, column="head", order=head_order, format_func=head_name),
    "probe_sets": partial(_several, column="probe_set", order=set_order, format_func=set_name),
    "model": _one,
    "head": _one,
    "probe_set": _one,
    "k": _known,
    "average": partial(
        _segments,
        options=selection.AVERAGES,
        words=_AVERAGES.__getitem__,
        help=Markdown("Macro: every relation counts once; micro: every fact."),
    ),
    "exposures": _exposures,
    "in_subject": partial(
        _segments,
        options=selection.IN_SUBJECT,
        words={"any": "include", "no": "leave out", "yes": "only these"}.__getitem__,
        help=Markdown("“Hotel de Paris is located in Paris”: copying is not knowledge."),
    ),
}
