"""What prevents forgetting: one point per recipe of a fine-tuning."""

import streamlit as st

from probing.choices_compare import CompareSelection
from probing.forgetting import report_series
from probing.forgetting.figures_series_prevention import prevention_points
from probing.forgetting.report_series_prevention import prevention
from probing.kernel.app import blocks, selection
from probing.kernel.app.figure_cache import drawing
from probing.kernel.app.frame import View
from probing.kernel.figures.looks import set_name

PREVENT_COMMAND = "python -m probing series prevent --model nesia-mini --objective ner-conll --seeds 1,2"
_CAPTION = (
    "Up and to the right is better. Diamond: no protection; whiskers: seeds. Kept: beyond a blind guess, in short"
    " trainings."
)
_CONTROLLED = f"{_CAPTION} Dashed: the control."
_HOW = (
    "Facts kept: of the facts known before, those that are known at the end, minus those that are answered rightly with"
    " somebody else's name in the question (a blind guess). Frozen layers are not trained; replayed text is the base's"
    " own, mixed into every step; the weights of base and fine-tuned model are averaged after the training. Grey:"
    " another recipe has as much of both. Dashed: what the control keeps, which has no score on this task. Recipes are"
    " compared in a short training on few facts; the long training that was followed state by state was asked more"
    " facts, and its score is that of the development part. Data has the seeds, and the numbers of facts."
)


def draw(view: View, base: str, tuned: str) -> None:
    """The tab, for the task of the fine-tuned model if its recipes are stored, else for another one, which the menu
    names.

    Recipes have their own base, so ``base`` is not used.
    """
    st.header("What prevents it?")
    k = view.chosen.k
    points, runs = view.read(prevention, k), view.read(report_series.runs)
    sets = points.loc[~points["control"]].groupby(["base", "objective", "probe_set"])["protection"].nunique()
    named = {" ".join(task): task for task, number in sets.items() if number > 1}
    if not named:
        blocks.missing("No recipes of one fine-tuning are stored that could be compared.", PREVENT_COMMAND)
        return
    objectives = dict(zip(runs["model"], runs["objective"], strict=True))
    first = next(
        (name for name, (_, objective, _) in named.items() if objective == objectives.get(tuned)), next(iter(named))
    )
    wish = selection.of(CompareSelection).protected
    # A link names base and objective, and the probe set only if the task has several.
    wished = next((name for name in named if name == wish or name.rpartition(" ")[0] == wish), "")
    blocks.say_ignored([wish] if wish and not wished else [])
    name = wished or first
    if len(named) > 1:
        selection.bound(
            st.selectbox,
            "Fine-tuning",
            "protected",
            view.page,
            value=name,
            options=list(named),
            format_func=lambda name: f"{named[name][1]}, from {view.label(named[name][0])}, {set_name(named[name][2])}",
            width=420,
        )
    of_base, objective, probe_set = named[name]
    here = (points["base"] == of_base) & (points["probe_set"] == probe_set)
    points_here = points[here & ((points["objective"] == objective) | points["control"])]
    ids = runs.loc[(runs["base"] == of_base) & (runs["probe_set"] == probe_set) & (runs["protection"] != ""), "run_id"]
    blocks.figure(
        drawing(prevention_points, points_here),
        table=points_here,
        stamp=view.stamp(
            f"recipes of {objective} from {view.label(of_base)}, {set_name(probe_set)}, rank ≤ {k}", tuple(ids)
        ),
        name="prevention",
        caption=_CONTROLLED if points_here["control"].any() else _CAPTION,
        how=_HOW,
        alt="Score on the task against facts kept, by recipe",
    )
