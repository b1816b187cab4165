"""With BERT: its download and the questions to it, from the pages that otherwise begin with the demonstration model."""

import streamlit as st

from probing.kernel.app import blocks
from probing.kernel.app.frame import View
from probing.kernel.app.texts import code
from probing.kernel.errors import ProbingError
from probing.kernel.models.names import BERT
from probing.live import page_live_models as live_models
from probing.own_model import bert
from probing.own_model import run as background
from probing.own_model.check import in_bytes, in_minutes
from probing.own_model.page_form import why_not
from probing.own_model.page_run import draw_run

_GET = (
    "BERT-base is downloaded, {size}, to {folder}. Then *Home* and *Ask* begin with it: its own output layer reads"
    " every layer (logit lens), so a sentence takes about a second."
)
_ASK = (
    "BERT-base is asked all facts that ship, {time} on this machine's processor; it goes on if this page is closed."
    " Then *Layers* and *Facts* begin with it, too."
)


def offer(view: View) -> None:
    """Draws the button that brings BERT, or asks it all facts; none where all is done, and on a server for others."""
    if why_not() is not None or _unfinished():
        return
    here = live_models.choices()[BERT].here
    asked = len(view.runs) > 0 and ((view.runs["model"] == BERT) & (view.runs["probe_set"] == background.TREX)).any()
    if not (here and asked):
        with st.popover("With BERT", icon=":material/quiz:" if here else ":material/download:"):
            _offered(ask=here)


def progress() -> None:
    """Draws how far that is, or why it ended early."""
    if (run := _unfinished()) and why_not() is None:
        with st.container(border=True, key="bert"):
            st.markdown("**With BERT**")
            draw_run(run, may_act=True)


def _unfinished() -> background.OwnRun | None:
    run = background.bert_run()
    return run if run and run.status != background.DONE else None


def _offered(*, ask: bool) -> None:
    from huggingface_hub import constants

    seconds = sum(bert.expected()) if ask else 0.0
    if ask:
        blocks.caption(_ASK, time=in_minutes(seconds))
    elif live_models.offline():
        blocks.caption("This server works offline (`HF_HUB_OFFLINE`). Type this where there is a network:")
        blocks.command_line(background.OfBert(ask=False).steps[0].line)
        return
    else:
        blocks.caption(_GET, size=in_bytes(bert.SHAPE.file_bytes), folder=code(constants.HF_HUB_CACHE))
    label = "Ask it all facts" if ask else "Download BERT-base"
    if st.button(label, type="primary", key="bert.start"):
        try:
            background.start(background.prepare_bert(ask=ask, expected=seconds))
        except ProbingError as error:
            blocks.problem(error)
        else:
            st.rerun()
    blocks.caption("In a terminal, both: {line}.", line=code("python -m probing bert"))
