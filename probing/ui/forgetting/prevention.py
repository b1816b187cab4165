"""What prevents forgetting: one point per recipe of a fine-tuning."""

from collections.abc import Callable, Sequence

import streamlit as st

from probing.figures.forgetting.prevention import prevention_points
from probing.reports.forgetting import series
from probing.reports.forgetting.prevention import prevention
from probing.store.database import Database
from probing.ui.choices.compare import CompareSelection
from probing.ui.forgetting import time_course
from probing.ui.frame import selection
from probing.ui.frame.page_reads import read
from probing.ui.widgets import blocks
from probing.ui.widgets.export import Stamp
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.markdown import filled

PREVENT_COMMAND = "python -m probing series prevent --model nesia-mini --objective ner-conll --seeds 1,2"


def draw(db: Database, probe_set: str, k: int, stamp: Callable[[Sequence[str]], Stamp], label: Callable[[str], str] = str) -> None:
    """The panel of one objective, which its own menu chooses.

    Args:
        db: the open results.
        probe_set: the set of facts.
        k: a fact is known if the rank of its answer is at most k.
        stamp: filters and fingerprint of some runs, of their ids.
        label: displayed name of a model; a fine-tuning is called after the model that was followed state by state, else its objective.
    """
    followed = time_course.trainings(db).drop_duplicates(["base", "objective"]).set_index(["base", "objective"])["model"]
    points = read(prevention, db, k, None, (probe_set,))
    several = points[~points["control"]].groupby(["base", "objective"]).size()
    tasks = [task for task, number in several.items() if number > 1]
    if not tasks:
        blocks.missing("No recipes of one fine-tuning are stored that could be compared.", PREVENT_COMMAND)
        return
    by_name, named = {" ".join(task): task for task in tasks}, selection.of(CompareSelection).protected
    name = selection.bound(
        st.selectbox,
        "Fine-tuning",
        "protected",
        "forgetting",
        value=named if named in by_name else next(iter(by_name)),
        options=list(by_name),
        format_func=lambda one: f"{label(followed[by_name[one]]) if by_name[one] in followed else by_name[one][1]}, from {by_name[one][0]}",
    )
    base, objective = by_name[name]
    shown = points[(points["base"] == base) & ((points["objective"] == objective) | points["control"])]
    runs = read(series.runs, db)
    ids = runs.loc[(runs["base"] == base) & (runs["probe_set"] == probe_set) & (runs["protection"] != ""), "run_id"]
    seeds = shown.loc[~shown["control"], "seeds"]
    blocks.figure(
        drawing(prevention_points, shown),
        table=shown,
        stamp=stamp(tuple(ids)),
        name="prevention",
        caption=filled(
            "Up and to the right is better: more facts kept, a better score. Each point is a recipe, over {seeds}; whiskers reach from the "
            "smallest to the largest value. Diamond: without protection. Cross: the control, whose score is of another task. Grey: another "
            "recipe has as much of both.",
            seeds="1 seed" if seeds.max() == 1 else f"{seeds.min()} to {seeds.max()} seeds",
        ),
        alt="Score on the task against facts kept, by recipe",
    )
