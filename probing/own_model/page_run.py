"""The run that is shown, with its progress and end, and what takes space on this machine."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import streamlit as st

from probing.forgetting.figures_series import line_curve
from probing.forgetting.report_series import line, line_in_words, offered
from probing.forgetting.requests import LineRequest
from probing.forgetting.series import ALL, MEANS
from probing.kernel.app import blocks, selection
from probing.kernel.app.figure_cache import drawing
from probing.kernel.app.frame import View
from probing.kernel.app.texts import code, count, filled, without_server_folders
from probing.kernel.errors import ProbingError
from probing.kernel.models.names import is_model
from probing.kernel.registry import name_of_model
from probing.live.page_live_models import Choice
from probing.own_model import run as background
from probing.own_model.check import in_bytes, in_minutes
from probing.own_model.report import OwnResult
from probing.own_model.run import OfBert, OwnRun
from probing.own_model.space import Entry, delete, list_entries

#: Seconds between two looks at a run that is at work.
_EVERY = 3
_WORDS = {
    background.CANCELLED: "The run was cancelled. What it stored stays; Resume does what is missing.",
    "interrupted": "The run ended without a word, such as by a restart. Resume does what is missing.",
}
#: Session key: a run has ended, and its result is to be shown from the top.
_ENDED = "own_model.ended"
_UP = "<script>document.querySelector('[data-testid=\"stMain\"]')?.scrollTo(0, 0);</script>"


def draw_run(run: OwnRun, may_act: bool) -> None:
    """Draws how far the run is, or how it ended; ``may_act``: this user may cancel, resume and delete runs."""
    if run.running:
        st.fragment(_at_work, run_every=_EVERY)(run.id, may_act)
    else:
        _ended(run, may_act)


def scroll_up() -> None:
    """Shows the top of the page once after the end of a run."""
    if st.session_state.pop(_ENDED, False):
        st.html(_UP, unsafe_allow_javascript=True)


def _at_work(run_id: str, may_act: bool) -> None:
    """The progress of a run; when it ends, the whole page is drawn again, with its result."""
    run = background.find_run(run_id)
    if not run.running:
        own = not isinstance(run.state.wish, OfBert)
        st.session_state[_ENDED] = own
        if own and run.status == background.DONE:
            selection.put(my_run=run_id, own_tab="ways" if run.state.wish.line else "facts")
        st.rerun()
    steps, left = run.state.wish.steps, run.seconds_left
    done = min(1.0, (run.state.step + run.progress) / len(steps))
    words = filled("Step {n} of {all}: {title}", n=run.state.step + 1, all=len(steps), title=run.at.title)
    st.progress(
        done, text=words + (filled(" ({time} left)", time=in_minutes(left)) if left is not None else filled(""))
    )
    if may_act:
        _log(run)
        if st.button("Cancel", key="own_model.cancel", icon=":material/stop_circle:"):
            background.cancel(run)
            st.rerun()


def _ended(run: OwnRun, may_act: bool) -> None:
    if run.status == background.FAILED:
        words = "Step “{title}” failed: {why}"
        st.warning(
            filled(words, title=run.at.title, why=without_server_folders(run.state.error)), icon=":material/report:"
        )
    elif run.status in _WORDS:
        st.info(_WORDS[run.status], icon=":material/info:")
    elif may_act and not run.whole:
        st.info("The facts were not ranked among the answers of the file; Resume does that.", icon=":material/info:")
    if not may_act:
        return
    with st.container(horizontal=True):
        if not run.whole and st.button("Resume", key="own_model.resume", icon=":material/play_arrow:"):
            _start(background.start, run)
        if not isinstance(run.state.wish, OfBert):
            _delete(run)
        elif st.button("Dismiss", key="bert.dismiss", icon=":material/close:"):
            background.forget(run)
            st.rerun()
    _log(run)


def _delete(run: OwnRun) -> None:
    with st.popover("Delete this run", icon=":material/delete:"):
        st.markdown(
            "The copy of your facts and the log are deleted. The result leaves this page, and stays on all others."
        )
        if st.button("Delete", key="own_model.delete"):
            background.forget(run)
            selection.put(my_run="")
            st.rerun()


_LINE = "Of the facts that the base knows. Dashed: the score of a model that finetune made."
_LINE_HOW = (
    "The weights of both models are averaged, from the base's alone (0) to the model's own (1). Known: at the chosen"
    " rank among all words. What only your model has, such as a classifier, stays: test a saved mean on your task."
)


def draw_line(view: View, run: OwnRun, result: OwnResult, may_act: bool) -> None:
    """Draws what comes back if weights are averaged, and saves a mean; before that was asked, offers to ask it."""
    points = view.read(line, (result.model,), (result.probe_set,), result.k)
    if not result.base or (points.empty and not (may_act and result.of_words)):
        return
    st.header("How much comes back if weights are averaged?")
    if points.empty:
        time = in_minutes(len(MEANS) * max(run.state.seconds, default=0))
        blocks.caption("Eleven means of the base's and your model's weights are asked your facts; {time}.", time=time)
        if st.button("Average and ask", key="own_model.line", icon=":material/balance:"):
            _start(background.start_line, run)
        return
    st.markdown(filled("{words}", words=" ".join(line_in_words(points))))
    blocks.figure(
        drawing(
            line_curve, points[points["half"] == ALL], base=view.label(result.base), model=view.label(result.model)
        ),
        table=points,
        stamp=view.stamp(f"{result.title}, means of weights, rank ≤ {result.k}", result.run_ids),
        name="own-line",
        caption=_LINE,
        how=_LINE_HOW,
        alt="Facts kept and gained by the weight of the fine-tuned model",
    )
    if not may_act:
        return
    best, weights = offered(points), [percent / 100 for percent in MEANS[1:-1]]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        place = weights.index(best) if best in weights else len(weights) // 2
        weight = st.selectbox("Weight of your model", weights, place, key="own_model.weight", width=180)
        clicked = st.button("Save this mean as a model", key="own_model.save", icon=":material/save:")
    if clicked:
        from probing.forgetting.line import save_point

        wish = run.state.wish
        try:
            with st.spinner("Saving …"):
                out = save_point(LineRequest(wish.model, base=wish.base, name=wish.name or None, save=weight))
            st.success(filled("The model is saved as {folder}.", folder=code(out)), icon=":material/save:")
        except ProbingError as error:
            blocks.problem(error)


def _start(begin: Callable[[OwnRun], None], run: OwnRun) -> None:
    try:
        begin(run)
        st.rerun()
    except ProbingError as error:
        blocks.problem(error)


def _log(run: OwnRun) -> None:
    with st.expander("Output of the commands", icon=":material/terminal:"):
        st.code(without_server_folders(run.log()) or "nothing yet", language=None, wrap_lines=True)


#: Session key: name and size of what was deleted last.
_DONE = "own_model.deleted"


def draw_space(view: View) -> None:
    """Lists the user's models, runs and probe sets, and deletes one after a confirmation; what ships is not listed."""
    if done := st.session_state.pop(_DONE, None):
        name, size = done
        st.success(filled("Deleted: {name}; {size} are free.", name=code(name), size=size), icon=":material/delete:")
    what = selection.bound("my_space")
    entries = list_entries([what])
    if not entries:
        st.caption("There are none.")
        return
    blocks.caption(
        "{things}, {size}.", things=count(len(entries), what), size=in_bytes(sum(entry.size for entry in entries))
    )
    table = pd.DataFrame(
        [
            {"name": entry.name, "what it is": without_server_folders(entry.said), "size": in_bytes(entry.size)}
            for entry in entries
        ]
    )
    st.dataframe(table, hide_index=True)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        by_name = {entry.name: entry for entry in entries}
        name = st.selectbox("Which", list(by_name), key=f"own_model.space.{what}", width=420)
        if by_name[name].delete is not None:
            with st.popover("Delete", icon=":material/delete:"):
                _confirm(by_name[name])
    if by_name[name].delete is None:
        st.caption("It is in a file with other runs, so it cannot be deleted alone.")


def _confirm(entry: Entry) -> None:
    """Asks before anything is deleted."""
    st.markdown(
        filled(
            "The {what} {name} ({said}, {size}) is deleted from this machine. This cannot be undone.",
            what=entry.what,
            name=code(entry.name),
            said=without_server_folders(entry.said),
            size=in_bytes(entry.size),
        )
    )
    if st.button("Delete it", type="primary", key="own_model.space.delete", icon=":material/delete:"):
        try:
            delete(entry.what, entry.name, lambda _: True)
        except ProbingError as error:
            blocks.problem(error)
            return
        st.session_state[_DONE] = entry.name, in_bytes(entry.size)
        st.rerun()


def asked_models() -> list[Choice]:
    """The folders that own runs asked, each with the base that its run names."""
    choices = []
    for wish in (run.state.wish for run in background.own_runs()):
        base = name_of_model(wish.base) if wish.base else ""
        for text, name in ((wish.model, wish.name), (wish.base, ""), *((other, "") for other in wish.others)):
            if text and is_model(Path(text)):
                choice = Choice(name or name_of_model(text), text, "local")
                choices.append(replace(choice, base=base) if text != wish.base else choice)
    return choices
