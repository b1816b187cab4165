"""When facts were forgotten, and what prevents it, of the trainings that were asked state by state."""

from collections.abc import Sequence

import streamlit as st

from probing.core.tasks.objectives import CONTROL
from probing.figures.shown_runs import set_name
from probing.reports.forgetting import series
from probing.ui.choices.compare import CompareSelection
from probing.ui.forgetting import prevention, time_course
from probing.ui.frame import selection
from probing.ui.frame.page import View
from probing.ui.widgets.export import Stamp


def draw(view: View, model: str = "") -> None:
    """A section for each question of which results are stored; the training that is shown first is that of ``model``, or of some task."""
    if view.database is None:
        return
    runs = view.read(series.runs)
    k = selection.of(CompareSelection).lost_k

    def stamp(ids: Sequence[str]) -> Stamp:
        return view.stamp(f"trainings state by state, rank ≤ {k}", tuple(ids))

    followed = time_course.trainings(view.database)
    if len(followed):
        view.contents.section("When they are forgotten")
        # A control comes last: its line is in the figures of the others.
        order = sorted(followed.itertuples(), key=lambda one: (one.model != model, one.objective == CONTROL))
        chosen, probe_set = _training(view, [(one.model, one.probe_set) for one in order])
        time_course.draw(time_course.Training(view.database, chosen, probe_set, k, view.label, stamp))
    for probe_set in sorted(runs.loc[runs["protection"] != "", "probe_set"].unique()):
        view.contents.section(f"What prevents it ({set_name(probe_set)})")
        prevention.draw(view.database, probe_set, k, stamp, view.label)


def _training(view: View, found: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """The chosen training and its set of facts."""
    named = {f"{model} {probe_set}": (model, probe_set) for model, probe_set in found}
    own = selection.of(CompareSelection).lost_training
    value = own if own in named else next(iter(named))
    if len(named) > 1:
        selection.bound(
            st.selectbox,
            "Training",
            "lost_training",
            view.page,
            value=value,
            options=list(named),
            format_func=lambda name: f"{view.label(named[name][0])}, {set_name(named[name][1])}",
        )
    return named[value]
