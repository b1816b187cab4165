"""The run that is shown: its progress, its end, and the buttons that cancel, resume and delete it."""

import streamlit as st

from probing.core.errors import ProbingError
from probing.core.own_model import background
from probing.core.own_model.background import OwnRun
from probing.core.registry import name_of_model
from probing.ui.choices.own_model import OwnModelSelection
from probing.ui.frame import selection
from probing.ui.frame.page import View
from probing.ui.widgets import blocks
from probing.ui.widgets.markdown import code, filled
from probing.ui.widgets.places import without_server_folders

#: Seconds between two looks at a run that is at work.
_EVERY = 3
_WORDS = {
    background.DONE: "The run is done.",
    background.CANCELLED: "The run was cancelled. What it stored stays; resuming it does what is missing.",
    "interrupted": "The run's process ended without a word, such as by a restart. Resuming it does what is missing.",
}


def choose(view: View) -> OwnRun | None:
    """Draws the choice of a run, and returns the chosen one; None if there is none."""
    runs, own = background.own_runs(), selection.of(OwnModelSelection)
    if not runs:
        return None
    view.contents.section("Run")
    by_id = {run.id: run for run in runs}
    if own.my_run and own.my_run not in by_id:
        blocks.say_ignored([own.my_run])
    run = by_id.get(own.my_run, runs[0])
    if len(runs) > 1:
        selection.bound(
            st.selectbox, "Which run", "my_run", view.page, value=run.id, options=list(by_id), format_func=lambda one: _called(by_id[one])
        )
    else:
        st.markdown(filled("{run}", run=_called(run)))
    return run


def draw(run: OwnRun, may_act: bool) -> None:
    """Draws how far the run is, or how it ended.

    Args:
        run: the chosen one.
        may_act: whether this user may cancel, resume and delete runs.
    """
    if run.running:
        st.fragment(_at_work, run_every=_EVERY)(run.id, may_act)
    else:
        _ended(run, may_act)


def _called(run: OwnRun) -> str:
    wish = run.state.wish
    return f"{wish.name or name_of_model(wish.model)} on {wish.called}, {run.state.created[:16].replace('T', ' ')} ({run.status})"


def _at_work(run_id: str, may_act: bool) -> None:
    """The progress of a run; when it ends, the whole page is drawn again."""
    run = background.find_run(run_id)
    if not run.running:
        st.rerun()
    steps = run.state.wish.steps
    done = min(1.0, (run.state.step + run.progress) / len(steps))
    st.progress(done, text=filled("Step {n} of {all}: {title}", n=run.state.step + 1, all=len(steps), title=run.at.title))
    if may_act:
        _log(run)
        if st.button("Cancel", key="own_model.cancel", icon=":material/stop_circle:"):
            background.cancel(run)
            st.rerun()


def _ended(run: OwnRun, may_act: bool) -> None:
    if run.status == background.FAILED:
        st.warning(
            filled("Step “{title}” failed: {why}", title=run.at.title, why=without_server_folders(run.state.error)),
            icon=":material/report:",
        )
    else:
        st.caption(filled("{words} Id: {id}.", words=_WORDS[run.status], id=code(run.id)))
    if not may_act:
        return
    with st.container(horizontal=True):
        if run.status != background.DONE and st.button("Resume", key="own_model.resume", icon=":material/play_arrow:"):
            try:
                background.start(run)
                st.rerun()
            except ProbingError as error:
                blocks.problem(error)
        with st.popover("Delete", icon=":material/delete:"):
            st.markdown("This deletes the copy of your facts and the log, and the result leaves this page. It stays on all other pages.")
            if st.button("Delete the run", key="own_model.delete"):
                background.forget(run)
                selection.update(my_run="")
                st.rerun()
    _log(run)


def _log(run: OwnRun) -> None:
    with st.expander("Output of the commands", icon=":material/terminal:"):
        st.code(without_server_folders(run.log()) or "nothing yet", language=None, wrap_lines=True)
