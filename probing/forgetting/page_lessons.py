"""The part of a tab on the lessons by which lost facts come back."""

import streamlit as st

from probing.forgetting.figures_lessons import lesson_bars
from probing.forgetting.report_lessons import kept_in_words, lessons, runs_with_lessons, usual_lessons
from probing.kernel.app import blocks
from probing.kernel.app.figure_cache import drawing
from probing.kernel.app.frame import View
from probing.kernel.app.texts import filled
from probing.kernel.figures.looks import set_name

_CAPTION = "As many different lessons in every bar. Diamond: wrong answers, as confident, that come back, too."
_HOW = (
    "480 facts are taught in 15 steps, without any answer or subject that is asked. Same: lost facts of the same"
    " relations and in the same wording; other wording, other relations, or both; kept facts: none that was lost."
    " Wrong answers are the base's, at equal confidence: what guesses would do. Whiskers: 95 % intervals over answers"
    " and seeds. Data has 5 and 45 steps, and facts that the base never knew."
)


def draw_lessons(view: View, tuned: str) -> None:
    """The bars of all models whose lessons were compared, with the sentence on the chosen one; nothing without any."""
    runs = view.read(runs_with_lessons)
    runs = runs[runs["k"] == view.chosen.k]
    if runs.empty:
        return
    sets = set(runs["probe_set"])
    probe_set = view.chosen.probe_set if view.chosen.probe_set in sets else sorted(sets)[0]
    runs = runs[runs["probe_set"] == probe_set]
    table = view.read(lessons, runs)
    st.header("With which lessons does it come back?")
    if words := kept_in_words(table[table["model"] == tuned]):
        st.markdown(filled("Of the facts that {model} lost, {words}.", model=view.name(tuned), words=words))
    blocks.figure(
        drawing(lesson_bars, usual_lessons(table), labels={model: view.label(model) for model in view.all_colours}),
        table=table,
        stamp=view.stamp(f"lessons, {set_name(probe_set)}, rank ≤ {view.chosen.k}", tuple(runs["run_id"])),
        name="lessons",
        caption=_CAPTION,
        how=_HOW,
        alt="Lost facts that come back, by the kind of lessons, beside wrong answers",
    )
