"""The user's selection: frozen values, kept in the session and mirrored in the page's link; and links between pages."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import Field, dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

import streamlit as st

from probing.kernel import fact
from probing.kernel.app.texts import Markdown, escape, filled
from probing.kernel.figures.looks import RunNames, head_name, set_name
from probing.kernel.metric import RANKS as RANKS
from probing.kernel.registry import REPOSITORY
from probing.kernel.stats.intervals import AVERAGES as AVERAGES

T = TypeVar("T")

EXPOSURES = (*fact.EXPOSURES, "unknown")
IN_SUBJECT = {"any": "include", "no": "leave out", "yes": "only these"}
AVERAGED = {"macro": "relations (macro)", "micro": "facts (micro)"}
MAX_TEXT = 4000
#: Value of ``prompt`` for the example of Home, and of Ask's ``watch`` for the words of the example; an emptied field
#: holds ``""``.
OF_EXAMPLE = ","
#: The shared filters that keep every fact.
ALL_FACTS: dict[str, Any] = {"exposures": (), "in_subject": "any"}


#: The widget whose values stand side by side.
SEGMENTS = "segmented_control"
#: Notes of a field that are not passed on to its widget.
_NOTES = ("choices", "words", "each", "of", "emptied", "kept", "label", "visited")


def one_of(choices: Sequence[Any] | Mapping[Any, str], default: Any = None, **notes: Any) -> Any:
    """A field that holds one of these, by default the first; a mapping has the words of each. ``notes``: ``noted``."""
    values = tuple(choices)
    if isinstance(choices, Mapping):
        notes["words"] = choices
    return noted(values[0] if default is None else default, choices=values, **notes)


def segments(choices: Sequence[Any] | Mapping[Any, str], default: Any = None, **notes: Any) -> Any:
    """``one_of``, drawn side by side."""
    return one_of(choices, default, widget=SEGMENTS, **notes)


def noted(default: Any, **notes: Any) -> Any:
    """A field with notes.

    ``of`` lists the shared fields whose change in the sidebar resets this field to its default; ``each`` the allowed
    items of a tuple; ``emptied`` is the tuple of a menu from which all is removed, if ``()`` means a default; ``kept``:
    a link that opens the page without filters leaves the field unchanged; ``visited``: a new server computes what the
    page shows with each value. Any other is what ``bound`` tells its widget.
    """
    return field(default=default, metadata=notes)


def ranks(choices: Sequence[int], label: str, **notes: Any) -> Any:
    """A field with the rank up to which a fact counts as known."""
    return segments({rank: "1" if rank == 1 else f"≤ {rank}" for rank in choices}, label=escape(label), **notes)


@dataclass(frozen=True)
class RunChoice(RunNames):
    """The selection that all pages share. An empty text or tuple means the page's default, or all.

    ``models, heads, probe_sets`` are the runs compared in overviews; ``model, head, probe_set`` the run of the pages
    that show a single one. ``in_subject``: ``no`` leaves out facts whose answer is part of the subject, ``yes`` keeps
    only these. ``live_model`` is asked live, also for the user's own facts. ``prompt`` is the typed sentence, ``right``
    the word that its user knows to be right; ``mask`` and ``gap`` count from 1, and mask 0 fills all gaps, of which
    ``gap`` is shown.
    """

    models: tuple[str, ...] = noted((), label="Models")
    heads: tuple[str, ...] = noted((), label="Read with (head)", format_func=head_name)
    probe_sets: tuple[str, ...] = noted((), label="Facts (probe sets)", format_func=set_name)
    average: str = segments(AVERAGED, label="Mean over", help="Macro: every relation counts once; micro: every fact.")
    k: int = ranks(RANKS, "Counts as known: rank", visited=True)
    exposures: tuple[str, ...] = noted(
        (),
        each=EXPOSURES,
        label="Was the fact in the training text?",
        placeholder="all",
        help="Stated: in so many words. Evidence: subject and answer in one sentence. In part: the fact's own evidence"
        " names it in another form. Unseen and held out: not in the text.",
    )
    in_subject: str = segments(
        IN_SUBJECT,
        label="The name gives it away (Apple Watch: Apple)",
        help="“Hotel de Paris is located in Paris”: copying is not knowledge.",
    )
    model: str = noted("", label="Model")
    head: str = noted("", label="Read with (head)", format_func=head_name)
    probe_set: str = noted("", label="Facts (probe set)", format_func=set_name)
    live_model: str = noted("", label="Model")
    prompt: str = noted(OF_EXAMPLE, label="Your sentence")
    right: str = noted("", max_chars=200, width=420, placeholder="optional")
    mask: int = noted(1, widget=SEGMENTS)
    gap: int = noted(1, widget=SEGMENTS, label="Gap shown")


#: What a user types, on Home and on Ask.
SENTENCE = ("prompt", "right", "mask", "gap")
FILTERS = ("exposures", "in_subject")
ONE_RUN = ("model", "head", "probe_set")

#: Page -> names of all fields that it uses; only these are in its link.
PAGE_FIELDS: dict[str, tuple[str, ...]] = {}
_OWN: dict[str, type] = {}
_SHARED = {link_field.name: link_field for link_field in fields(RunChoice)}
_KEY, _PAGE, _WRITTEN, _CHANGED = "probing.selection", "probing.page", "probing.link", "probing.changed"
#: Session key: what the last link had for shared fields that are empty.
_FOLLOWED = "probing.followed"
#: Session key: what was ignored of the link that opened the shown view.
_IGNORED = "probing.ignored"
#: The part of a page that runs again after a change of what pages share.
BODY = "body"
#: Fields of a link that are Streamlit's, not of a page.
_STREAMLITS = ("embed", "embed_options")


@dataclass(frozen=True)
class Ignored:
    """What a link has and a page does not use.

    ``invalid`` names fields whose values make no sense; ``unknown``: a name that is no field of the page -> the most
    similar name of a field, or ``""``.
    """

    invalid: tuple[str, ...] = ()
    unknown: Mapping[str, str] = field(default_factory=dict)


def declared(page: str, *shared: str) -> Callable[[type[T]], type[T]]:
    """Makes a frozen dataclass the selection of a page, which also uses these fields of ``RunChoice``."""

    def declare(own: type[T]) -> type[T]:
        names = [link_field.name for link_field in fields(own)]  # type: ignore[arg-type]
        others = {
            *_SHARED,
            *(
                link_field.name
                for other in _OWN.values()
                for link_field in fields(other)
                if other.__qualname__ != own.__qualname__
            ),
        }
        if clash := others & set(names):
            raise TypeError(
                f"{own.__name__} repeats the fields {sorted(clash)} of another selection; a link could not distinguish"
                " them"
            )
        _OWN[page], PAGE_FIELDS[page] = own, (*shared, *names)
        return own

    return declare


def _fields_of(page: str) -> dict[str, Field[Any]]:
    own = {link_field.name: link_field for link_field in fields(_OWN[page])}
    return {name: own.get(name) or _SHARED[name] for name in PAGE_FIELDS[page]}


def unknown_names(query: Mapping[str, Sequence[str]], page: str) -> dict[str, str]:
    """The names in a link that are no fields of its page, each with the most similar name that is one, or ``""``."""
    known = sorted(PAGE_FIELDS[page])
    return {
        name: next(iter(get_close_matches(name, known, 1)), "")
        for name in query
        if name not in known and name not in _STREAMLITS
    }


def _parse(link_field: Field[Any], values: Sequence[str]) -> Any:
    """The value of a field from its texts in a link; a ``ValueError`` if they are none."""
    default = link_field.default
    if isinstance(default, tuple):
        if "each" in link_field.metadata and set(values) - set(link_field.metadata["each"]):
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
    if value is None or value not in link_field.metadata.get("choices", (value,)):
        raise ValueError
    return value


def from_query(
    query: Mapping[str, Sequence[str]], page: str, shared: RunChoice | None = None
) -> tuple[RunChoice, Any, list[str]]:
    """Parses the link to a page: shared choice, the page's own selection, and the names of ignored fields with invalid
    values.

    Shared fields that the page does not use come from ``shared``, absent ones have their defaults.
    """
    changes, ignored = {}, []
    for name, link_field in _fields_of(page).items():
        changes[name] = link_field.default
        if values := query.get(name):
            try:
                changes[name] = _parse(link_field, values)
            except ValueError:
                ignored.append(name)
    both, own = _split(changes)
    return replace(shared or RunChoice(), **both), _OWN[page](**own), ignored


def to_query(page: str, shared: RunChoice, own: Any) -> dict[str, str | list[str]]:
    """The link to a page with these choices; defaults are left out."""
    query: dict[str, str | list[str]] = {}
    for name, link_field in _fields_of(page).items():
        value = getattr(shared if name in _SHARED else own, name)
        if value == link_field.default:
            continue
        if isinstance(value, tuple):
            query[name] = list(value)
        else:
            query[name] = str(int(value)) if isinstance(value, bool) else str(value)
    return query


def link_to(page: str, *, afresh: bool = False, **changes: Any) -> dict[str, str | list[str]]:
    """The link to a page with the user's selection and some fields, shared or the page's own, changed.

    ``afresh`` resets the page's own fields to their defaults, except those noted as ``kept``.
    """
    both, own = _split(changes)
    return to_query(page, replace(current(), **both), replace(_opened(page) if afresh else _own(page), **own))


def _split(changes: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Changes split into those of shared fields and those of a page's own."""
    both = {name: value for name, value in changes.items() if name in _SHARED}
    return both, {name: value for name, value in changes.items() if name not in _SHARED}


def _opened(page: str) -> Any:
    """A page's own selection without its filters."""
    before = _own(page)
    filters = {
        link_field.name: getattr(before, link_field.name)
        for link_field in fields(before)
        if link_field.metadata.get("kept")
    }
    return _OWN[page](**filters)


def current() -> RunChoice:
    choice: RunChoice = st.session_state.get(_KEY, RunChoice())
    return choice


def of(own: type[T]) -> T:
    """The user's selection on the page that declared this class."""
    chosen: T = _own(next(page for page, other in _OWN.items() if other is own))
    return chosen


def _own(page: str) -> Any:
    return st.session_state.get(f"{_KEY}.{page}") or _OWN[page]()


def value_of(page: str, name: str) -> Any:
    """What the user chose for a field of a page, shared or its own."""
    return getattr(current() if name in _SHARED else _own(page), name)


def named(page: str, names: Collection[str]) -> list[str]:
    """Those of the names that the user chose anywhere on a page."""
    values = [value_of(page, name) for name in PAGE_FIELDS[page]]
    chosen = [one for value in values for one in (value if isinstance(value, tuple) else (value,))]
    return [one for one in chosen if one in names]


def visited(page: str) -> list[str]:
    """The queries of a page that a new server visits; the default ones are its address's."""
    noted_so = {name: one for name, one in _fields_of(page).items() if one.metadata.get("visited")}
    return [f"{name}={value}" for name, one in noted_so.items() for value in one.metadata["choices"][1:]]


def default_of(page: str, name: str) -> Any:
    return _fields_of(page)[name].default


def put(*, afresh: bool = False, **changes: Any) -> None:
    """Changes the selection of the open page, as ``link_to``; shown when the page runs next."""
    state = st.session_state
    page, (both, own) = state[_PAGE], _split(changes)
    state[_KEY] = replace(current(), **both)
    state[f"{_KEY}.{page}"] = replace(_opened(page) if afresh else _own(page), **own)
    state[_CHANGED], state[_IGNORED] = True, Ignored()


def update(**changes: Any) -> None:
    """``put`` as the last act of a widget's callback, which shows it.

    Shared fields change the page and its links to others; the page's own the part of it that has the widget.
    """
    put(**changes)
    if _SHARED.keys() & changes:
        st.rerun(BODY)


def _reset_dependents(shared: str) -> None:
    """Resets the fields that depend on a shared field to their defaults, on every page."""
    for page, own in _OWN.items():
        if dependents := {
            link_field.name: link_field.default
            for link_field in fields(own)
            if shared in link_field.metadata.get("of", ())
        }:
            st.session_state[f"{_KEY}.{page}"] = replace(_own(page), **dependents)


def enter(page: str) -> None:
    """Reads the link when a page is opened through one, or after the browser's "back" button has changed it.

    After a change of a widget the link is not read, because it is out of date until it is written.
    """
    state = st.session_state
    entered, changed = state.get(_PAGE) != page, state.get(_CHANGED, False)
    state[_PAGE] = page
    query = _link()
    ours = bool(set(query) & {name for other in PAGE_FIELDS for name in PAGE_FIELDS[other]})
    read = ours if entered else (not changed and query != state.get(_WRITTEN))
    if read:
        state[_KEY], state[f"{_KEY}.{page}"], invalid = from_query(query, page, current())
    if read or entered:
        state[_IGNORED] = Ignored(tuple(invalid) if read else (), unknown_names(query, page))


def ignored() -> Ignored:
    """What was ignored of the link, until the view changes; a run of the page that changes nothing does not hide it."""
    found: Ignored = st.session_state[_IGNORED]
    return found


def write_back(page: str, **followed: str) -> None:
    """Updates the link to the shown selection.

    ``followed``: current defaults of shared fields that are empty, if the default of a new session may differ.
    """
    query = to_query(page, replace(current(), **followed), _own(page))  # type: ignore[arg-type]
    listed = {name: value if isinstance(value, list) else [value] for name, value in query.items()}
    if listed != _link():
        st.query_params.from_dict(query)
    st.session_state[_WRITTEN], st.session_state[_CHANGED], st.session_state[_FOLLOWED] = listed, False, followed


def _link() -> dict[str, list[str]]:
    return {name: st.query_params.get_all(name) for name in st.query_params}


def label_of(page: str, name: str) -> str:
    return str(_fields_of(page)[name].metadata["label"])


def bound(
    name: str,
    label: str | None = None,
    *,
    value: Any = None,
    resets: Mapping[str, Any] | None = None,
    resets_dependents: bool = False,
    **given: Any,
) -> Any:
    """Draws a widget that shows a field of the open page's link, stores its changes and returns its value.

    Widget, label, options and what else is not given here are those noted at the field. ``value`` is shown if the field
    is empty and so means the default; ``resets`` are other fields that get these values when this one changes;
    ``resets_dependents`` resets all fields that depend on this one, on every page. ``options`` may have the words of
    each. A multiselect drops values that it does not offer, or beyond its maximum; another menu has its first option in
    their place.
    """
    page = st.session_state[_PAGE]
    default, notes = _fields_of(page)[name].default, _fields_of(page)[name].metadata
    key, is_tuple = f"{page}.{name}", isinstance(default, tuple)
    selected = value_of(page, name) if value is None else value
    options = {note: words for note, words in notes.items() if note not in _NOTES} | given
    if "choices" in notes or "each" in notes:
        options.setdefault("options", list(notes["choices" if "choices" in notes else "each"]))
    if "words" in notes:
        options.setdefault("format_func", notes["words"].__getitem__)
    if isinstance(offered := options.get("options"), Mapping):
        options |= {"options": list(offered), "format_func": offered.__getitem__}
    menu = "multiselect" if is_tuple else "selectbox" if "options" in options else "text_input"
    widget = options.pop("widget", "toggle" if isinstance(default, bool) else menu)
    if is_tuple:
        # A link may contain values that the menu does not offer, or too many.
        selected = [option for option in selected if option in options["options"]][: options.get("max_selections")]
    elif "options" in options and selected not in options["options"]:
        selected = next(iter(options["options"]), selected)
    if widget == SEGMENTS:
        # Its options are rendered as Markdown.
        words = options.get("format_func", str)
        options |= {"format_func": lambda option: escape(words(option)), "required": True}
    st.session_state[key] = selected

    def store() -> None:
        new = st.session_state[key]
        if resets_dependents:
            _reset_dependents(name)
        update(**{name: (tuple(new) or notes.get("emptied", ())) if is_tuple else new, **(resets or {})})

    return getattr(st, widget)(notes["label"] if label is None else label, key=key, on_change=store, **options)


@contextmanager
def open_tab(name: str, titles: Mapping[T, str], page: str) -> Iterator[T]:
    """Draws tabs, and into the open one what the body draws; the link's field ``name`` stores which one is open.

    Only the open tab is drawn: opening another one runs the fragment again that has the tabs. ``titles`` are by value
    in the link; a value that has none opens the first tab.
    """
    write_back(page, **st.session_state[_FOLLOWED])
    key = f"{page}.{name}"
    st.session_state[key] = titles.get(getattr(_own(page), name), next(iter(titles.values())))

    def store() -> None:
        change: dict[str, Any] = {
            name: next(choice for choice, title in titles.items() if title == st.session_state[key])
        }
        update(**change)

    drawn = dict(zip(titles, st.tabs(list(titles.values()), key=key, on_change=store), strict=True))
    value, tab = next((value, tab) for value, tab in drawn.items() if tab.open)
    with tab:
        yield value


#: Heading in the sidebar -> its pages: page file -> (name in links, title, icon). Missing files get no link.
GROUPS: dict[str, dict[str, tuple[str, str, str]]] = {
    "Explore": {
        "app.py": ("home", "Home", ":material/home:"),
        "pages/1_Ask.py": ("ask", "Ask", ":material/edit_note:"),
        "pages/2_Layers.py": ("layers", "Layers", ":material/layers:"),
        "pages/3_Compare_models.py": ("compare", "Compare models", ":material/compare_arrows:"),
        "pages/4_Grammar.py": ("grammar", "Grammar", ":material/account_tree:"),
        "pages/5_Facts.py": ("facts", "Facts", ":material/fact_check:"),
    },
    "Yours": {
        "pages/6_Your_model.py": ("own_model", "Your model", ":material/upload_file:"),
    },
    "Reference": {
        "pages/7_Papers.py": ("papers", "Papers", ":material/balance:"),
        "pages/8_Methods.py": ("methods", "Methods", ":material/menu_book:"),
    },
}
#: Page -> the question that the next page in the order of the sidebar answers.
NEXT = {
    "home": ("ask", "What does each layer say to your own sentence?"),
    "ask": ("layers", "At which layer does knowledge appear?"),
    "layers": ("compare", "What did fine-tuning forget?"),
    "compare": ("grammar", "Where is grammar?"),
    "grammar": ("facts", "One fact through all layers"),
    "facts": ("own_model", "What did your own model forget?"),
    "own_model": ("papers", "What of the papers holds here?"),
    "papers": ("methods", "What does each word mean?"),
    "methods": ("home", "Back to the first page"),
}
PAGES = {path: page for pages in GROUPS.values() for path, page in pages.items()}

#: Address of a page, "" of Home -> its file, in the order of the sidebar.
ADDRESSES = {"" if path == "app.py" else Path(path).stem.split("_", 1)[1]: path for path in PAGES}

_PENDING = "probing.pending"


def sidebar_links() -> None:
    """Draws links to all pages in their groups, each with the user's current selection."""
    # One container, so that the distances are those between its elements and not those between containers.
    with st.container(gap="xxsmall"):
        for heading, pages in GROUPS.items():
            there = {path: page for path, page in pages.items() if (REPOSITORY / path).is_file()}
            if there:
                st.caption(heading)
            for path, (page, words, icon) in there.items():
                st.page_link(path, label=Markdown(words), icon=icon, query_params=link_to(page) or None)


def link(page: str, label: str, *, icon: str | None = None, afresh: bool = False, **changes: Any) -> None:
    """Draws a link to *another* page with some fields changed; it can be copied and opened in a new tab.

    ``icon`` is by default the page's; ``afresh`` opens the page without its filters, see ``selection.link_to``.
    """
    path, symbol, query = _target(page, changes, afresh)
    st.page_link(path, label=label, icon=icon or symbol, query_params=query or None)


def next_question(page: str) -> None:
    """Draws the link to the next page, as the last line of a page."""
    following, question = NEXT[page]
    with st.container(key="next"):
        link(following, filled("Next: {question}", question=question), icon=":material/arrow_forward:")


def address(page: str, **changes: Any) -> str:
    """The address of a page with some fields changed, for links in texts, relative to another page's."""
    path, _, query = _target(page, changes, False)
    name = next(name for name, file in ADDRESSES.items() if file == path)
    return (name or ".") + ("?" if query else "") + urlencode(query, doseq=True)


def open_later(page: str, *, afresh: bool = False, **changes: Any) -> None:
    """Opens another page with fields changed, as the last act of a callback, where Streamlit cannot change the page."""
    st.session_state[_PENDING] = (page, changes, afresh)
    st.rerun(BODY)


def follow() -> None:
    """Opens the page that ``open_later`` requested."""
    if pending := st.session_state.pop(_PENDING, None):
        path, _, query = _target(*pending)
        st.switch_page(path, query_params=query or None)


def _target(page: str, changes: dict[str, Any], afresh: bool) -> tuple[str, str, dict[str, str | list[str]]]:
    """Page file, icon and link of a page with some fields changed."""
    path, symbol = next((path, icon) for path, (name, _, icon) in PAGES.items() if name == page)
    return path, symbol, link_to(page, afresh=afresh, **changes)
