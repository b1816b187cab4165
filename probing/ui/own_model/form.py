"""The form: model, base and facts; the commands that follow from them, how long they take, and the button that runs them."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import streamlit as st

from probing.core.errors import ProbingError
from probing.core.facts.custom import SUFFIXES, own_facts, own_probe_set
from probing.core.facts.fact import FactSet
from probing.core.facts.sources import read_facts
from probing.core.facts.templates import shipped_relations
from probing.core.own_model import background
from probing.core.own_model.model_check import in_minutes
from probing.core.own_model.wish import TREX, Wish
from probing.core.stats.baselines import MIN_FACTS
from probing.ui.frame import selection
from probing.ui.frame.page import View
from probing.ui.own_model import models
from probing.ui.own_model.models import Named
from probing.ui.widgets import blocks
from probing.ui.widgets.left_out_facts import left_out_rows
from probing.ui.widgets.markdown import Markdown, code, count, filled

_PASTED = "my-facts.txt"


@dataclass(frozen=True)
class Given:
    """The facts that are given.

    Attributes:
        file, content: name and content of the file.
        facts: as read.
    """

    file: str
    content: bytes
    facts: FactSet


def draw(view: View, refused: Markdown | None) -> None:
    """Draws the form; ``refused`` says why no run can be started."""
    view.contents.section("Model and base")
    st.caption(
        "A folder has what `save_pretrained` of transformers writes: `config.json`, the tokenizer's files and `model.safetensors`. A model "
        "of the hub is named `organisation/name`, a model of this site by its name, such as `nesia-mini`."
    )
    model, base, more = models.draw(view, refused is not None)
    view.contents.section("Facts")
    given = _facts()
    view.contents.section("Commands")
    left, right = st.columns(2)
    trex = left.toggle("Ask T-REx, too", key="own_model.trex", help="The shipped facts, for P@k next to that of your facts.")
    recover = right.toggle(
        "Look for ways back to the lost facts",
        key="own_model.recover",
        disabled=base is None,
        help="Needs a base and WikiText-2: python -m probing fetch wikitext-2",
    )
    if given is not None and not given.facts.facts:
        st.info("None of these facts can be asked; the list above names the reasons.", icon=":material/info:")
        return
    if model is None or given is None:
        st.info("Name a model and give facts; the commands that probe them appear here.", icon=":material/info:")
        return
    name = "" if base is None or base.name != model.name else f"{model.name}-tuned"
    # The commands name the user's file; the button's run has a copy of it.
    wish = Wish(
        model=model.text,
        base=base.text if base else "",
        facts=given.file,
        called=given.facts.probe_set,
        name=name,
        trex=trex,
        recover=recover and base is not None,
        others=tuple(one.text for one in more),
    )
    blocks.command_line("\n".join(step.line for step in wish.steps), whole=refused is None)
    st.caption(filled("Type them where {file} lies.", file=code(given.file)))
    _say_time([model, *more, *([base] if base else [])], len(given.facts.facts), trex)
    if refused is not None:
        st.info(filled("{why} Run the commands on your own machine.", why=refused), icon=":material/lock:")
        return
    busy = next((run for run in background.own_runs() if run.running), None)
    ready = all(one.fine for one in (model, *more, *([base] if base else []))) and busy is None
    if st.button("Run in the background", type="primary", key="own_model.run", disabled=not ready, icon=":material/play_arrow:"):
        try:
            run = background.prepare(wish, given.content, Path(given.file).suffix.lower())
            background.start(run)
        except ProbingError as error:
            blocks.problem(error)
        else:
            selection.update(my_run=run.id)
            st.rerun()
    st.caption("The run goes on if this page is closed. Your facts are copied to the folder of the run on this machine.")


def _facts() -> Given | None:
    """Draws the fields of the facts with what was read; None if there are none, or they cannot be read."""
    st.caption(
        "One fact per line: a sentence with `[MASK]` and the right word, under headings such as `question` and `answer`, or `prompt` and "
        "`object`; `subject` and `relation` may be added. Columns are separated by commas, semicolons or tabs; JSON and "
        "Parquet are read, too."
    )
    left, right = st.columns(2)
    with left:
        file = st.file_uploader("A file of facts", type=[suffix[1:] for suffix in SUFFIXES], key="own_model.file")
    with right:
        pasted = st.text_area(
            "or paste them",
            key="own_model.pasted",
            placeholder="question;answer\nThe capital of France is [MASK].;Paris",
            height=120,
        )
    if file is None and not pasted.strip():
        return None
    name, content = (file.name, file.getvalue()) if file is not None else (_PASTED, pasted.encode("utf-8", "replace"))
    usual = background.free_name(own_probe_set(Path(name)), content)
    called = st.text_input("Name of the probe set", usual, key=f"own_model.called.{name}", max_chars=60)
    try:
        facts = own_facts(content, name, own_probe_set(Path(name), called))
    except ProbingError as error:
        blocks.problem(error)
        return None
    if other := background.asked_otherwise(facts.probe_set, content):
        st.warning(
            filled(
                "The run {run} asked other facts under the name {name}. Give these another name, such as {free}.",
                run=code(other.id),
                name=facts.probe_set,
                free=background.free_name(facts.probe_set, content),
            ),
            icon=":material/label:",
        )
        return None
    st.caption(
        filled(
            "{how}{facts} read, {asked:,} can be asked; the models may leave out more, such as answers of several tokens.",
            how=filled("Read as {how}. ", how=facts.said) if facts.said else "",
            facts=count(facts.n_read, "fact"),
            asked=len(facts.facts),
        )
    )
    left_out_rows(facts)
    if len(facts.facts) < MIN_FACTS:
        st.info(
            filled(
                "This is a small set: with fewer than {least} facts, each can be read by itself, but shares allow no conclusion.",
                least=MIN_FACTS,
            ),
            icon=":material/straighten:",
        )
    return Given(Path(name).name, content, facts)


def _say_time(named: Sequence[Named], facts: int, trex: bool) -> None:
    """States the expected time, if the models' sizes are known."""
    known = [one.model for one in named if one.model]
    if len(known) < len(named):
        st.caption("The expected time is shown once the models are known.")
        return
    seconds = sum(one.seconds(n, _speed()) for one in known for n in (facts, *([_trex_facts()] if trex else [])))
    st.caption(
        filled(
            "Expected time: {time}, by the models' sizes and the speed of this server; downloads and ways back not included.",
            time=in_minutes(seconds),
        )
    )


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
    return sum(len(found.facts) for found in read_facts(TREX, shipped_relations()))
