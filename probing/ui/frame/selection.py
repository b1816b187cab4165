"""What the visitor has chosen: one frozen value, kept in the session and mirrored in the page's link.

A widget of Streamlit forgets its value when the page changes, so widgets are never the memory. ``Selection`` is; a widget
is given its value before it is drawn and hands a change back through a callback. The link is read when a page is
entered and when the visitor goes back, and is written whenever the selection differs from it, so that a copied link opens
the same view.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import streamlit as st

from probing.core.knowledge import forgetting
from probing.core.metrics import RANKS as RANKS
from probing.core.nesia import corpus
from probing.core.perturb import rules
from probing.core.stats.intervals import AVERAGES as AVERAGES
from probing.ui.widgets.markdown import escape

CURVE_METRICS = ("p_at_1", "p_at_10", "p_at_100", "mrr", "answer_p_at_1")
EXPOSURES = (*corpus.EXPOSURES, "unknown")
IN_SUBJECT = ("any", "no", "yes")
ORDERS = ("layers known", "fact", "first layer", "last layer", "best rank", "last rank", "worst last rank")
KNOWN = ("any", "ever", "never")
SCALES = ("rank", "probability")
ROW_ORDERS = ("onset", "last", "drop", "cardinality", "name")
DEFINITIONS = forgetting.DEFINITIONS
#: Which facts of a pair of models are listed; ``""`` lists those of one model.
PARTS = ("", "kept", "gained", "lost", "never", "relocated", "suppressed", "displaced", "erased")
BEHAVIOURS = ("", *rules.BEHAVIOURS)
#: Which layers of a fine-tuned model are put back to the base's.
REPLACED = ("", "last", "first")
#: Figures of the paper.
FIGURES = range(1, 19)
MAX_TEXT = 4000


@dataclass(frozen=True)
class Selection:
    """The whole view. An empty text or tuple means: the page's default.

    Attributes:
        models, heads, probe_sets: what is laid over each other in overviews.
        metric: one of ``CURVE_METRICS``.
        average: over relations (``macro``) or over facts (``micro``).
        k: the rank up to which a fact counts as known.
        panels: one panel per probe set instead of one for all.
        exposures: exposures kept; none means all.
        in_subject: whether facts whose answer stands in the subject are kept, left out or the only ones.
        model, head, probe_set: the one run that the facts page reads.
        relation, text, known, known_at, first_known, last_known, at_layer, at_rank, order, sheet: which facts are listed.
        fact: id of the fact shown whole.
        versus, part, part_k: name of the model that ``model`` is compared with, and which part of their facts is listed, known being
            rank <= ``part_k`` at the last layer.
        fact_models: models laid beside ``model`` for one fact; none means its base.
        live_model, live_head, prompt, watch, scale, top, mask: what is asked live. ``mask`` counts from 1; 0 fills all.
        live_models: models asked beside ``live_model``.
        behaviour, prime, shuffle_seed, keep_words, other_name: how the sentence is changed, and with what.
        replaced, live_base: which layers of ``live_model`` are put back, and to whose where its base is not known.
        row_order, against_base: order of the relation map's rows, and whether it shows the difference to the base.
        relations: relations whose curves are drawn; none means a few that tell much.
        definition: of a forgotten relation.
        tuned, versus_model: the two models that are compared.
        never: whether the flow draws the facts that neither of them knows.
        family, family_head, figure: base of the family laid beside the paper, its heads, and which of the paper's figures is drawn.
    """

    models: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    probe_sets: tuple[str, ...] = ()
    metric: str = "p_at_1"
    average: str = "macro"
    k: int = 1
    panels: bool = False
    exposures: tuple[str, ...] = ()
    in_subject: str = "any"
    model: str = ""
    head: str = ""
    probe_set: str = ""
    relation: str = ""
    text: str = ""
    known: str = "any"
    known_at: int | None = None
    first_known: int | None = None
    last_known: int | None = None
    at_layer: int | None = None
    at_rank: int = 1
    order: str = "layers known"
    sheet: int = 1
    fact: str = ""
    versus: str = ""
    part: str = ""
    part_k: int = 1
    fact_models: tuple[str, ...] = ()
    live_model: str = ""
    live_head: str = ""
    prompt: str = ""
    watch: str = ""
    scale: str = "rank"
    top: int = 5
    mask: int = 1
    live_models: tuple[str, ...] = ()
    behaviour: str = ""
    prime: str = ""
    shuffle_seed: int = 1
    keep_words: int = 2
    other_name: str = ""
    replaced: str = ""
    live_base: str = ""
    row_order: str = "onset"
    against_base: bool = False
    relations: tuple[str, ...] = ()
    definition: str = "caption"
    tuned: str = ""
    versus_model: str = ""
    never: bool = False
    family: str = ""
    family_head: str = ""
    figure: int = 1


_OVERVIEW = ("models", "heads", "probe_sets", "average", "exposures", "in_subject")
#: Which fields a page reads; only these are in its link.
PAGE_FIELDS: dict[str, tuple[str, ...]] = {
    "home": (*_OVERVIEW, "k"),
    "layer_curves": (*_OVERVIEW, "metric", "panels"),
    "facts": (
        "model", "head", "probe_set", "relation", "text", "known", "known_at", "first_known", "last_known", "at_layer",
        "at_rank", "exposures", "in_subject", "order", "sheet", "fact", "versus", "part", "part_k", "fact_models",
    ),
    "relations": ("model", "head", "probe_set", "k", "row_order", "against_base", "relations", "definition", "exposures", "in_subject"),
    "compare": ("tuned", "versus_model", "head", "probe_set", "k", "never", "exposures", "in_subject"),
    "live": (
        "live_model", "live_head", "prompt", "watch", "scale", "top", "mask", "live_models", "behaviour", "prime", "shuffle_seed",
        "keep_words", "other_name", "replaced", "live_base",
    ),
    "reproduction": ("family", "family_head", "figure"),
    "methods": (),
}  # fmt: skip

_CHOICES: dict[str, Sequence] = {
    "metric": CURVE_METRICS, "average": AVERAGES, "k": RANKS, "in_subject": IN_SUBJECT, "at_rank": RANKS, "order": ORDERS, "known": KNOWN,
    "scale": SCALES, "top": (3, 5, 10), "part": PARTS, "part_k": RANKS, "behaviour": BEHAVIOURS, "replaced": REPLACED,
    "row_order": ROW_ORDERS, "definition": DEFINITIONS, "figure": FIGURES,
}  # fmt: skip
_DEFAULTS = Selection()
_KEY, _PAGE, _WRITTEN, _CHANGED = "probing.selection", "probing.page", "probing.link", "probing.changed"


def _parse(name: str, values: Sequence[str]) -> Any:
    """One field out of its texts in a link.

    Raises:
        ValueError: if the texts are not a value of this field.
    """
    default = getattr(_DEFAULTS, name)
    if isinstance(default, tuple):
        if name == "exposures" and set(values) - set(EXPOSURES):
            raise ValueError
        return tuple(dict.fromkeys(value for value in values if value))
    value: Any = values[-1]
    if isinstance(default, bool):
        value = {"1": True, "0": False}.get(value)
    elif isinstance(default, int) or default is None:
        value = int(value)
        if not 0 <= value < 10**6 or (default is None and value > 255):
            raise ValueError
    elif len(value) > MAX_TEXT:
        raise ValueError
    if value is None or (name in _CHOICES and value not in _CHOICES[name]):
        raise ValueError
    return value


def from_query(query: Mapping[str, Sequence[str]], page: str, base: Selection = _DEFAULTS) -> tuple[Selection, list[str]]:
    """The selection that a link to a page means.

    Args:
        query: name -> the values it has in the link.
        page: a key of ``PAGE_FIELDS``; its fields come from the link or are the default, all others from ``base``.

    Returns:
        Selection, and the names whose values were ignored because they make no sense.
    """
    changes, ignored = {}, []
    for name in PAGE_FIELDS[page]:
        changes[name] = getattr(_DEFAULTS, name)
        if query.get(name):
            try:
                changes[name] = _parse(name, query[name])
            except ValueError:
                ignored.append(name)
    return replace(base, **changes), ignored


def to_query(chosen: Selection, page: str) -> dict[str, str | list[str]]:
    """The link to a page in this selection; defaults are left out."""
    query: dict[str, str | list[str]] = {}
    for name in PAGE_FIELDS[page]:
        value = getattr(chosen, name)
        if value == getattr(_DEFAULTS, name):
            continue
        if isinstance(value, tuple):
            query[name] = list(value)
        else:
            query[name] = str(int(value)) if isinstance(value, bool) else str(value)
    return query


def current() -> Selection:
    """The selection of this visitor."""
    return st.session_state.get(_KEY, _DEFAULTS)


def update(**changes: Any) -> None:
    """Changes the selection; for callbacks of buttons."""
    st.session_state[_KEY] = replace(current(), **changes)
    st.session_state[_CHANGED] = True


def enter(page: str) -> list[str]:
    """Reads the link when a page is entered by one, or when the browser's "back" has changed it.

    After a widget's change the link is left unread: it lags behind until it is written.

    Returns:
        Names of values in the link that were ignored.
    """
    state = st.session_state
    entered, changed = state.get(_PAGE) != page, state.get(_CHANGED, False)
    state[_PAGE] = page
    query = _link()
    ours = bool(set(query) & {field.name for field in fields(Selection)})
    if ours if entered else (not changed and query != state.get(_WRITTEN)):
        state[_KEY], ignored = from_query(query, page, current())
        return ignored
    return []


def write_back(page: str) -> None:
    """Makes the link say what is shown."""
    wanted = to_query(current(), page)
    listed = {name: value if isinstance(value, list) else [value] for name, value in wanted.items()}
    if listed != _link():
        st.query_params.from_dict(wanted)
    st.session_state[_WRITTEN], st.session_state[_CHANGED] = listed, False


def _link() -> dict[str, list[str]]:
    return {name: st.query_params.get_all(name) for name in st.query_params}


def bound(
    widget: Callable, label: str, field: str, page: str, *, value: Any = None, resets: Mapping[str, Any] | None = None, **options: Any
):
    """Draws a widget that shows a field and hands changes back.

    Args:
        widget: a Streamlit widget function, such as ``st.selectbox``.
        label: its label.
        field: name of a field of ``Selection``.
        page: the page, part of the widget's key.
        value: what it shows instead of the field's own value, where the field holds "the default".
        resets: other fields that start anew when this one changes.
        options: handed on to the widget. What a multiselect does not offer, or has no room for, is left out of it.

    Returns:
        What the widget returns.
    """
    key = f"{page}.{field}"
    shown = getattr(current(), field) if value is None else value
    is_tuple = isinstance(getattr(_DEFAULTS, field), tuple)
    if is_tuple:
        # A link may name more than the menu has, or takes.
        shown = [one for one in shown if one in options["options"]][: options.get("max_selections")]
    if widget in (st.segmented_control, st.pills):
        # Their options are Markdown.
        words = options.get("format_func", str)
        options["format_func"] = lambda one: escape(words(one))
    st.session_state[key] = shown

    def store() -> None:
        new = st.session_state[key]
        update(**{field: tuple(new) if is_tuple else new, **(resets or {})})

    return widget(label, key=key, on_change=store, **options)
