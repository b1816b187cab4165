"""The form: model, base and facts, what of them can be asked, how long it takes, and the button that runs it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import streamlit as st

from probing.facts.fact import FactSet, shipped_relations
from probing.facts.page_upload import of_model, say
from probing.facts.sources import SUFFIXES, own_facts, own_probe_set, read_facts
from probing.kernel.app import blocks, selection
from probing.kernel.app.frame import View
from probing.kernel.app.texts import Markdown, code, filled
from probing.kernel.errors import ProbingError
from probing.own_model import page_form_models
from probing.own_model import run as background
from probing.own_model.check import in_minutes
from probing.own_model.page_form_models import Named
from probing.own_model.run_wish import TREX, Wish

_PASTED = "my-facts.txt"


@dataclass(frozen=True)
class Given:
    """The facts that are given, and the name and content of their file."""

    file: str
    content: bytes
    facts: FactSet


def draw(view: View, refused: Markdown | None, standing: Callable[[], None], *, busy: bool) -> None:
    """Draws the form, or why no run can be started (``refused``).

    ``standing`` draws the run that is at work, or did not end well; if ``busy``, it stands where the button was.
    """
    model, base, more = page_form_models.draw(view, refused is not None)
    facts_given = _facts()
    if model is not None and facts_given is not None:
        known = [named for named in (model, *more) if named.model]
        facts = facts_given.facts
        for named in known:
            facts = of_model(facts, named.text, base.text if base else "")
        say(facts, checked=bool(known))
        _start(model, base, more, Given(facts_given.file, facts_given.content, facts), refused, standing, busy=busy)
        return
    if facts_given is not None:
        say(facts_given.facts, checked=False)
    elif not busy:
        st.info("Name a model and give facts; then they can be asked.", icon=":material/info:")
    standing()


def _start(
    model: Named,
    base: Named | None,
    more: list[Named],
    given: Given,
    refused: Markdown | None,
    standing: Callable[[], None],
    *,
    busy: bool,
) -> None:
    """Draws the options, the button with the expected time, and the commands that it runs, as in ``draw``."""
    if not given.facts.facts:
        st.info("None of these facts can be asked.", icon=":material/info:")
        standing()
        return
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
        st.info(filled("{why} Run the commands on your own machine.", why=refused), icon=":material/lock:")
    elif not busy:
        _button(wish, [model, *more, *([base] if base else [])], given)
    standing()
    with st.expander("In a terminal", icon=":material/terminal:", expanded=refused is not None):
        blocks.command_line("\n".join(step.line for step in wish.steps), whole=refused is None)
        st.caption(filled("Type them where {file} lies.", file=code(given.file)))


def _button(wish: Wish, models_asked: Sequence[Named], given: Given) -> None:
    """Draws the button, and how long the run takes if the sizes of the models that are asked are known."""
    seconds = 0.0
    if all(named.model for named in models_asked):
        sizes = (len(given.facts.facts), *([_trex_facts()] if wish.trex else []))
        seconds = sum(named.model.seconds(n, _speed()) for named in models_asked if named.model for n in sizes)
    with st.container(horizontal=True, vertical_alignment="center"):
        ready = all(named.fine for named in models_asked)
        if st.button("Run", type="primary", key="own_model.run", disabled=not ready, icon=":material/play_arrow:"):
            try:
                run = background.prepare(wish, given.content, Path(given.file).suffix.lower(), seconds)
                background.start(run)
            except ProbingError as error:
                blocks.problem(error)
            else:
                selection.update(my_run=run.id, own_tab="new")
                st.rerun()
        if seconds:
            words = "Takes {time}, without downloads and ways back; it goes on if this page is closed."
            st.caption(filled(words, time=in_minutes(seconds)))


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


@st.cache_resource(show_spinner=False)
def _speed() -> float:
    """Operations per second of a product of matrices on this machine."""
    matrix = np.ones((768, 768), dtype=np.float32)
    # The first product starts the threads, which takes many times as long as a product.
    matrix @ matrix
    began = time.perf_counter()
    for _ in range(3):
        matrix @ matrix
    return 3 * 2 * 768**3 / (time.perf_counter() - began)


@st.cache_data(show_spinner=False)
def _trex_facts() -> int:
    """Number of the shipped facts of T-REx."""
    return sum(len(fact_set.facts) for fact_set in read_facts(TREX, shipped_relations()))
