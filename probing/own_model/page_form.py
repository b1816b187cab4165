"""The form: model, base and facts, each checked when typed, how long it takes, and the button that runs it."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import streamlit as st

from probing.choices import OwnModelSelection
from probing.facts.sources import own_facts, own_probe_set, shipped_sizes
from probing.kernel.app import blocks, selection
from probing.kernel.app.frame import View
from probing.kernel.app.texts import Markdown, code, count, filled
from probing.kernel.errors import ProbingError
from probing.kernel.fact import Fact, FactSet
from probing.kernel.models.checkpoint import added_tokens
from probing.kernel.models.names import base_entry, find_entry, named_folders
from probing.kernel.user_tables import SUFFIXES
from probing.live import page_live_models as live_models
from probing.own_model import run as background
from probing.own_model.check import CheckedModel, check_model_folder, in_bytes, in_minutes
from probing.own_model.page_upload import of_model, say
from probing.own_model.run import TREX, Wish, placed

MAX_OTHERS = 6
#: Session key: hub ids that the user has asked to look up.
_ASKED = "own_model.asked"


@dataclass(frozen=True)
class Named:
    """A model that is named: as in commands (``text``) and in results; ``model`` is None if it cannot be checked here.

    ``base`` is the recorded one; ``fine``: nothing is known that keeps the model from being probed.
    """

    text: str
    name: str
    model: CheckedModel | None = None
    base: str = ""
    fine: bool = False


def draw_models(view: View, public: bool) -> tuple[Named | None, Named | None, list[Named]]:
    """Draws the fields with what is known of the models; gives the model, its base and the further models."""
    model, base = _two(view, public)
    return model, base, _more(view, public, model, base)


def _more(view: View, public: bool, model: Named | None, base: Named | None) -> list[Named]:
    """The further models with the same base, one per entry."""
    typed = selection.of(OwnModelSelection).my_others
    selection.bound(
        "my_others",
        options=list(dict.fromkeys((*typed, *_offered(model, base)))),
        accept_new_options=True,
        max_selections=MAX_OTHERS,
        placeholder="type a folder, hub id or name, or choose one",
        help="They are asked the same facts in the same run, and shown next to each other.",
    )
    lent = base.text if base else ""
    named = [_named(text.strip(), public, f"other.{n}", lent) for n, text in enumerate(typed[:MAX_OTHERS])]
    return [_with_base(choice, base) for choice in named if choice]


def _with_base(model: Named, base: Named | None) -> Named:
    """The model, not fine if it needs a base or this one cannot be its own; says why, or how tokens differ."""
    if not model.model or (base and not base.model):
        return model
    lent = base.model if base else None
    if why := model.model.unfit(lent, base.name if base else ""):
        st.warning(filled("{name} {why}.", name=model.name, why=why), icon=":material/report:")
        return Named(model.text, model.name, model.model)
    if base and lent and (warning := added_tokens(model.name, model.model.shape(lent), base.name, lent.shape())[1]):
        blocks.caption("{said}.", said=warning)
    return model


def _offered(model: Named | None, base: Named | None) -> list[str]:
    """Models on this machine that may be chosen as further ones."""
    names = {named_model.name for named_model in (model, base) if named_model}
    return [name for name, choice in live_models.choices().items() if choice.here and name not in names]


def _two(view: View, public: bool) -> tuple[Named | None, Named | None]:
    _say_found(public)
    own = selection.of(OwnModelSelection)
    left, right = st.columns(2)
    with left:
        selection.bound("my_model")
        model = _named(own.my_model.strip(), public, "model", own.my_base.strip())
    with right:
        hint = model.base if model and model.base else "folder, hub id or name; may stay empty"
        selection.bound("my_base", placeholder=hint)
        base = _named(own.my_base.strip() or (model.base if model else ""), public, "base")
        base = _with_base(base, None) if base and not base.base else base
    return model and _with_base(model, base), base


def _say_found(public: bool) -> None:
    """States what ``PROBING_MODELS`` names; a public page leaves the server's folders out."""
    if public:
        return
    for folder in named_folders():
        blocks.caption("`PROBING_MODELS`: {folder}: {found}.", folder=code(folder.path), found=folder.said)


def _named(text: str, public: bool, field: str, base: str = "") -> Named | None:
    """What is known of a model by what was typed, drawn below the field; ``base`` is typed, too."""
    if not text:
        return None
    if public and text not in live_models.choices():
        st.caption("Checked on your own machine only: this server looks at none of its folders, and asks no hub.")
        return Named(text, text)
    try:
        entry = find_entry(text)
        recorded = base_entry(entry)
        folder, here, size = _located(text, entry.hub_id, entry.revision, entry.location, field)
        if folder is None:
            return Named(text, entry.name)
        model = check_model_folder(folder, complete=here, base=base)
    except ProbingError as error:
        blocks.problem(error)
        return Named(text, text)
    where = (
        filled("{size} on this machine", size=in_bytes(model.file_bytes) if model.file_bytes else "its files are")
        if here
        else filled("to be downloaded: {size}", size=in_bytes(size) if size else "size unknown")
    )
    blocks.caption("{name}: {what}; {where}.", name=entry.name, what=model.said, where=where)
    for note in model.notes:
        st.warning(filled("{note}.", note=note), icon=":material/report:")
    return Named(
        placed(text),
        entry.name,
        model,
        (recorded.location if not recorded.shipped else recorded.name) if recorded else "",
        True,
    )


def _located(text: str, hub_id: str, revision: str, location: str, field: str) -> tuple[Path | None, bool, int]:
    """Folder of the configuration (None: unknown), whether the weights are here, and how much is to be downloaded."""
    if not hub_id:
        return Path(location), True, 0
    from probing.kernel.models.hub import is_on_this_machine, open_snapshot

    looked_up = st.session_state.setdefault(_ASKED, set())
    here = is_on_this_machine(hub_id, revision or None)
    if not here and text not in looked_up:
        if live_models.offline():
            blocks.caption("{hub} is not on this machine, and this server works offline.", hub=code(hub_id))
        elif st.button("Look it up on the hub", key=f"own_model.look.{field}", icon=":material/travel_explore:"):
            looked_up.add(text)
            st.rerun()
        else:
            blocks.caption("{hub} is not on this machine.", hub=code(hub_id))
        return None, False, 0
    snapshot = open_snapshot(hub_id, revision or None, local_only=here)
    here = snapshot.is_complete()
    return snapshot.folder, here, 0 if here else snapshot.weight_bytes()


_PASTED = "my-facts.txt"


@dataclass(frozen=True)
class Given:
    """The facts that are given, and the name and content of their file."""

    file: str
    content: bytes
    facts: FactSet


def draw_form(view: View, refused: Markdown | None, standing: Callable[[], None], *, busy: bool) -> None:
    """Draws the form, or why no run can be started (``refused``).

    ``standing`` draws the run that is at work, or did not end well; if ``busy``, it stands where the button was.
    """
    model, base, more = draw_models(view, refused is not None)
    facts_given = _facts()
    if model is not None and facts_given is not None:
        known = [named for named in (model, *more) if named.model]
        facts = facts_given.facts
        one_word: Sequence[Fact] = facts.facts
        for named in known:
            one_word = of_model(one_word, named.text, base.text if base else "")
        candidates, right = facts.candidates
        ranked = sum(len(candidates[one.relation]) > len(right[one.relation, one.prompt]) for one in facts.facts)
        # What the vocabulary lacks shows when the model is opened.
        words = (
            "{facts}: up to {ranked:,} ranked among the answers of the file, {n:,} (one word piece) among all words."
        )
        numbers = {"facts": count(len(facts.facts), "fact"), "ranked": ranked, "n": len(one_word)}
        say(facts, filled(words, **numbers) if known else None)
        if one_word or ranked:
            _start(model, base, more, facts_given, (len(one_word), ranked), refused, standing, busy=busy)
            return
        blocks.note(
            "None of these facts can be asked: an answer of several word pieces needs a second, different answer."
        )
    elif facts_given is not None:
        say(facts_given.facts)
    elif not busy:
        st.info("Name a model and give facts; then they can be asked.", icon=":material/info:")
    standing()


def _start(
    model: Named,
    base: Named | None,
    more: list[Named],
    given: Given,
    sizes: Sequence[int],
    refused: Markdown | None,
    standing: Callable[[], None],
    *,
    busy: bool,
) -> None:
    """Draws the options, the button with the time that so many facts take, and the commands that it runs."""
    left, right = st.columns(2)
    trex = left.toggle("Ask T-REx, too", key="own_model.trex", help="The shipped facts, next to yours.")
    recover = right.toggle(
        "Look for ways back to the lost facts",
        key="own_model.recover",
        disabled=base is None,
        help="Needs a base and WikiText-2: python -m probing fetch wikitext-2",
    )
    # The commands name the user's file; the button's run has a copy of it.
    wish = Wish(
        model=model.text,
        base=base.text if base else "",
        facts=given.file,
        called=given.facts.probe_set,
        name=f"{model.name}-tuned" if base and base.name == model.name else "",
        trex=trex,
        recover=recover and base is not None,
        others=tuple(named.text for named in more),
    )
    if refused is not None:
        blocks.note("{why} Run the commands on your own machine.", "lock", why=refused)
    elif not busy:
        all_sizes = [*sizes, *([shipped_sizes()[TREX]] if trex else [])]
        _button(wish, [model, *more, *([base] if base else [])], given, all_sizes)
    standing()
    with st.expander("In a terminal", icon=":material/terminal:", expanded=refused is not None):
        blocks.command_line("\n".join(step.line for step in wish.steps), whole=refused is None)
        blocks.caption("Type them where {file} lies.", file=code(given.file))


def _button(wish: Wish, models_asked: Sequence[Named], given: Given, sizes: Sequence[int]) -> None:
    """Draws the button, and how long the run takes if the sizes of the models that are asked are known."""
    seconds = 0.0
    if all(named.model for named in models_asked):
        seconds = sum(named.model.seconds(n) for named in models_asked if named.model for n in sizes)
    with st.container(horizontal=True, vertical_alignment="center"):
        ready = all(named.fine for named in models_asked)
        if st.button("Run", type="primary", key="own_model.run", disabled=not ready, icon=":material/play_arrow:"):
            try:
                run = background.prepare(wish, given.content, Path(given.file).suffix.lower(), seconds)
                background.start(run)
            except ProbingError as error:
                blocks.problem(error)
            else:
                selection.put(my_run=run.id, own_tab="new")
                st.rerun()
        if seconds:
            words = "Takes {time}, without downloads and ways back; it goes on if this page is closed."
            blocks.caption(words, time=in_minutes(seconds))


def _facts() -> Given | None:
    """Draws the fields of the facts; None if there are none, or they cannot be read, which is said."""
    left, right = st.columns(2)
    with left:
        file = st.file_uploader("A file of facts", type=[suffix[1:] for suffix in SUFFIXES], key="own_model.file")
    with right:
        pasted = st.text_area(
            "or paste them: a sentence with a gap, and the right word",
            key="own_model.pasted",
            placeholder="question;answer\nThe capital of France is [MASK].;Paris",
            height=120,
        )
    if file is None and not pasted.strip():
        return None
    name, content = (file.name, file.getvalue()) if file is not None else (_PASTED, pasted.encode("utf-8", "replace"))
    usual = background.free_name(own_probe_set(Path(name)), content)
    called = st.text_input("Name of these facts", usual, key=f"own_model.called.{name}", max_chars=60)
    try:
        facts = own_facts(content, name, own_probe_set(Path(name), called))
    except ProbingError as error:
        blocks.problem(error)
        return None
    if other := background.find_clash(facts.probe_set, content):
        words = "The run {run} asked other facts under the name {name}. Give these another name, such as {free}."
        free = background.free_name(facts.probe_set, content)
        st.warning(filled(words, run=code(other.id), name=facts.probe_set, free=free), icon=":material/label:")
        return None
    return Given(Path(name).name, content, facts)


_LOOPBACK = ("127.0.0.1", "localhost", "::1")
#: Headers that a proxy adds.
_OF_PROXIES = ("X-Forwarded-For", "X-Real-Ip", "Forwarded")


def why_not() -> Markdown | None:
    """Why no run can be started from this page; None if it can.

    The server must listen on this machine only, ``PROBING_PUBLIC`` must be unset, and the request must have come to
    this machine's own name without a proxy.
    """
    if os.environ.get("PROBING_PUBLIC"):
        return Markdown("This server is public (`PROBING_PUBLIC`), so it starts no runs.")
    if st.get_option("server.address") not in _LOOPBACK:
        return Markdown("This server can be reached from other machines, so it starts no runs.")
    headers = st.context.headers
    host = headers.get("Host")
    if any(name in headers for name in _OF_PROXIES) or (host and urlsplit(f"//{host}").hostname not in _LOOPBACK):
        return Markdown("This page came through a proxy or under another name, so it starts no runs.")
    return None
