"""The tab of when facts are forgotten, state by state, and of what prevents it, recipe by recipe."""

from collections.abc import Mapping
from functools import partial

import pandas as pd
import streamlit as st

from probing.choices import CompareSelection
from probing.facts import store
from probing.facts.page_clearest import clearest
from probing.forgetting import report_series
from probing.forgetting.figures import lesson_bars, saving_marks
from probing.forgetting.figures_series import on_one_scale, over_training, prevention_points, rank_map, retention_map
from probing.forgetting.report_lessons import kept_in_words, lessons
from probing.forgetting.report_outcome import stored_runs
from probing.forgetting.report_savings import savings, stored_words
from probing.forgetting.report_series import line, prevention
from probing.forgetting.series import ALL, MEANS
from probing.kernel.app import blocks, selection
from probing.kernel.app.figure_cache import Stamp, drawing
from probing.kernel.app.frame import View
from probing.kernel.app.texts import filled
from probing.kernel.figures.looks import set_name
from probing.kernel.objectives import CONTROL
from probing.kernel.recipe import UNPROTECTED, protection_in_words

PREVENT_COMMAND = "python -m probing series prevent --model nesia-mini --objective ner-conll --seeds 1,2"
_PREVENTION_CAPTION = (
    "Up and to the right is better. Diamond: no protection; whiskers: seeds. Kept: beyond a blind guess."
)
_CONTROLLED = f"{_PREVENTION_CAPTION} Dashed: the control."
_LINE = " Line: means of base and fine-tuned weights; what lies above it is better."
_PREVENTION_HOW = (
    "Facts kept: of the facts known before, those that are known at the end, minus those that are answered rightly with"
    " somebody else's name in the question (a blind guess). Frozen layers are not trained; replayed text is the base's"
    " own, mixed into every step; the weights of base and fine-tuned model are averaged after the training. Grey:"
    " another recipe has as much of both. Dashed: what the control keeps, which has no score on this task. A training"
    " that was followed state by state has the score of the development part, and is only in Data beside others. Data"
    " has steps, seeds, and the numbers of facts."
)


def draw_prevention(view: View, tuned: str) -> None:
    """The tab, for the task of the fine-tuned model if its recipes are stored, else for another one, which the menu
    names.
    """
    st.header("What prevents it?")
    k = view.chosen.k
    points, runs = view.read(prevention, k), view.read(report_series.runs_of_series)
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
            "protected",
            value=name,
            options=list(named),
            format_func=lambda name: f"{named[name][1]}, from {view.label(named[name][0])}, {set_name(named[name][2])}",
        )
    of_base, objective, probe_set = named[name]
    here = (points["base"] == of_base) & (points["probe_set"] == probe_set)
    points_here = points[here & ((points["objective"] == objective) | points["control"])]
    means = view.read(line, None, (probe_set,), k)
    same = (means["base"] == of_base) & (means["objective"] == objective) & (means["half"] == ALL)
    # Only what was asked as many facts lies on one scale with the recipes. One model is drawn.
    means = means[same & means["facts"].isin(points_here["asked"]) & means["score"].notna()].head(len(MEANS))
    ids = runs.loc[(runs["base"] == of_base) & (runs["probe_set"] == probe_set) & (runs["protection"] != ""), "run_id"]
    scored = on_one_scale(points_here).sort_values("kept", ascending=False)
    for best in scored.head(1).itertuples():
        words = (
            "Of all recipes for {task} “{best}” keeps most beyond a blind guess: {kept:.0f} % of the facts, with a"
            " score of {score:.2f}."
        )
        numbers = {"kept": 100 * best.kept, "score": best.score}
        # Asked as many facts, after as many steps.
        alike = scored[(scored["asked"] == best.asked) & (scored["steps"] == best.steps)]
        plain = alike[alike["protection"] == UNPROTECTED]
        if best.protection != UNPROTECTED and len(plain):
            words = (
                "Of all recipes for {task} “{best}” keeps most beyond a blind guess: {kept:.0f} % of the facts, without"
                " protection {plain:.0f} %; it scores {lower}."
            )
            lower = "lower" if best.score < plain["score"].iloc[0] else "no lower"
            numbers = {"kept": 100 * best.kept, "plain": 100 * plain["kept"].iloc[0], "lower": lower}
        blocks.tab_sentence(words, task=objective, best=protection_in_words(best.protection), **numbers)
    blocks.figure(
        drawing(prevention_points, points_here, means),
        table=pd.concat([points_here, means]) if len(means) else points_here,
        stamp=view.stamp(
            f"recipes of {objective} from {view.label(of_base)}, {set_name(probe_set)}, rank ≤ {k}", tuple(ids)
        ),
        name="prevention",
        caption=(_CONTROLLED if points_here["control"].any() else _PREVENTION_CAPTION) + (_LINE if len(means) else ""),
        how=_PREVENTION_HOW,
        alt="Score on the task against facts kept, by recipe",
    )


FOLLOW_COMMAND = "python -m probing series follow --model FOLDER_OF_CHECKPOINTS --base nesia-mini"
_MOST = 200
_WHEN_CAPTION = "Never lost and known again: together the facts that are still known."
_WHEN_CONTROLLED = f"{_WHEN_CAPTION} Dashed: the control, trained on the base's own text."
_WHEN_HOW = (
    "Read at the last layer with the head of the base. Never lost: known at every state so far; known again: lost at an"
    " earlier one (data: kept and returned); gained: not known before; each in per cent of the facts known before. The"
    " axis of steps is that of the square root, because most is lost at the start. The vertical line: by this step half"
    " of the facts were lost at least once. Below: the task score that was logged, and the training loss. Data has what"
    " is known beyond a blind guess, too. Without a control nothing here shows what any further training would do."
)
_LAYERS = "Of the facts that a layer knew before the training."
_RELATIONS = "Of the facts of a relation that were known before the training."
_FACT = "Rank 1: the layer's first word."
_MAP_HOW = (
    "Of the facts that a layer, or the last layer in a relation, knows before the training, those that it knows at a"
    " step; the stronger the shade, the more. A layer is read with the base's head of that layer. Facts whose answer is"
    " never among the first ten at the last layer cannot be followed through all layers: their ranks are not stored."
    " Empty: fewer than 1 % of the facts were known before."
)


def draw_when(view: View, tuned: str) -> None:
    """The tab, for the fine-tuned model's training if it was followed, else for another one, which the menu names."""
    st.header("When is it forgotten?")
    runs = view.read(report_series.runs_of_series)
    followed = runs[runs["states"] > 2]
    if followed.empty:
        blocks.missing("No training was asked for facts state by state.", FOLLOW_COMMAND)
        return _lessons(view, tuned)
    run = _training(view, followed, tuned)
    k, probe_set = view.chosen.k, run["probe_set"]
    of_set = followed[(followed["probe_set"] == probe_set) & (followed["base"] == run["base"])]
    controls = of_set.loc[(of_set["objective"] == CONTROL) & (of_set["model"] != run["model"]), "model"]
    both = (run["model"], *controls.head(1))
    stamp = view.stamp(
        f"{view.label(run['model'])} state by state, {set_name(probe_set)}, rank ≤ {k}", tuple(of_set["run_id"])
    )
    table = _of(run, view.read(report_series.steps, both, (probe_set,), k))
    events = _of(run, view.read(report_series.events, both[:1], (probe_set,), k))
    half = float(events["half_lost_step"].iloc[0]) if len(events) else float("nan")
    last = table[table["model"] == run["model"]].sort_values("step").iloc[-1]
    words = (
        "{model} has lost half of the facts at least once by step {half:,.0f}; at step {last:,} it knows {kept:.0f} %."
    )
    if pd.isna(half):
        words = "{model} never lost half of the facts; at step {last:,} it knows {kept:.0f} % of them."
    numbers = {"half": half, "last": int(last["step"]), "kept": 100 * last["kept_share"]}
    blocks.tab_sentence(words, model=view.name(run["model"]), **numbers)
    if run["model"] != tuned:
        st.caption(filled("{model} was not asked state by state.", model=view.name(tuned)))
    blocks.figure(
        drawing(
            over_training,
            table,
            _of(run, view.read(report_series.logged, both, (probe_set,))),
            model=both[0],
            control=both[1] if len(both) > 1 else "",
            names=[view.label(name) for name in both],
            half=half,
        ),
        table=table,
        stamp=stamp,
        name="forgotten-by-step",
        caption=_WHEN_CONTROLLED if len(both) > 1 else _WHEN_CAPTION,
        how=_WHEN_HOW,
        alt="Facts never lost, known again, lost and gained by training step, with score and loss",
    )
    left, right = st.columns(2, gap="medium")
    with left:
        st.header("Which layers?")
        _map(view, run, stamp, "layer")
    with right:
        st.header("One fact")
        _one_fact(view, run, stamp)
    blocks.folded(
        "Relation by relation", partial(_map, view, run, stamp, "relation"), key="when.relations", icon="category"
    )
    return _lessons(view, tuned)


def _training(view: View, followed: pd.DataFrame, tuned: str) -> pd.Series:
    """The chosen training with its set of facts; a control comes last, as the others' figures have its line."""
    order = followed.assign(
        _other=followed["model"] != tuned,
        _control=followed["objective"] == CONTROL,
        _clearest=followed["model"] != clearest(view),
        _set=followed["probe_set"] != view.chosen.probe_set,
    ).sort_values(["_other", "_control", "_clearest", "_set"], kind="stable")
    named = {f"{run.model} {run.probe_set}": run.Index for run in order.itertuples()}
    wish = selection.of(CompareSelection).lost_training
    blocks.say_ignored([wish] if wish and wish not in named else [])
    name = wish if wish in named else next(iter(named))
    if len(named) > 1:
        selection.bound(
            "lost_training",
            value=name,
            options=list(named),
            format_func=lambda name: (
                f"{view.label(followed.at[named[name], 'model'])}, {set_name(followed.at[named[name], 'probe_set'])}"
            ),
        )
    return followed.loc[named[name]]


def _of(run: pd.Series, table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the training, and of other models; without those of the same model by other recipes."""
    return table[(table["model"] != run["model"]) | (table["protection"] == run["protection"])]


def _map(view: View, run: pd.Series, stamp: Stamp, by: str) -> None:
    """Facts kept by layer, or by relation, and step."""
    chosen = ((run["model"],), (run["probe_set"],), view.chosen.k)
    names: Mapping[str, str] = {}
    if by == "layer":
        table = _of(run, view.read(report_series.steps, *chosen, tuple(range(int(run["layers"])))))
    else:
        table = _of(run, view.read(report_series.relations, *chosen))
        relations = view.read(store.relations)
        of_set = relations[relations["probe_set"] == run["probe_set"]]
        names = {
            row.relation: f"{row.label} ({row.relation})" if again else row.label
            for row, again in zip(of_set.itertuples(), of_set["label"].duplicated(keep=False), strict=True)
        }
    blocks.figure(
        drawing(retention_map, table, by=by, names=names, dark=blocks.dark()),
        table=table,
        stamp=stamp,
        name=f"kept-by-{by}",
        caption=_LAYERS if by == "layer" else _RELATIONS,
        how=_MAP_HOW,
        alt=f"Facts kept by {by} and training step",
    )


def _one_fact(view: View, run: pd.Series, stamp: Stamp) -> None:
    """The ranks of one fact, which a menu chooses; those that come and go stand first, because they say most."""
    facts = _of(run, view.read(report_series.facts, (run["model"],), (run["probe_set"],), view.chosen.k))
    if facts.empty:
        st.info("No single facts of this training are stored.", icon=":material/info:")
        return
    ordered = facts.sort_values(["events", "lost_step", "fact_id"], ascending=[False, True, True])
    wish = selection.of(CompareSelection).followed_fact
    listed = (
        pd.concat([ordered[ordered["fact_id"] == wish], ordered.head(_MOST)])
        .drop_duplicates("fact_id")
        .set_index("fact_id")
    )
    words = {
        row.Index: f"{row.subject} – {row.object} ({row.relation})" if isinstance(row.subject, str) else row.Index
        for row in listed.itertuples()
    }
    chosen = selection.bound("followed_fact", options=words)
    cells = view.read(report_series.ranks_of_fact, run["model"], run["probe_set"], chosen)
    blocks.figure(
        drawing(rank_map, cells, dark=blocks.dark()),
        table=cells,
        stamp=stamp,
        name="fact-by-step",
        caption=_FACT,
        how=_MAP_HOW,
        alt="Rank of one fact's answer by training step and layer",
    )


_LESSONS_CAPTION = "As many different lessons in every bar. Diamond: wrong answers, as confident, that come back, too."
_LESSONS_HOW = (
    "480 facts are taught in 15 steps, without any answer or subject that is asked. Same: lost facts of the same"
    " relations and in the same wording; other wording, other relations, or both; kept facts: none that was lost, of"
    " T-REx, too, if the set has too few. Wrong answers are the base's, at equal confidence: what guesses would do."
    " Whiskers: 95 % intervals over answers and seeds. Data has 5 and 45 steps, and facts that the base never knew."
)


def _beside_control(view: View, rows: pd.DataFrame, tuned: str) -> pd.DataFrame:
    """The rows of the model, and of controls from its base; none if it has none itself."""
    runs, own = view.read(stored_runs), rows["model"] == tuned
    controls = rows["model"].isin(runs.loc[runs["control"], "model"])
    return rows[(own | controls) & rows["base"].isin(rows.loc[own, "base"])]


def _lessons(view: View, tuned: str) -> None:
    """The bars of the model beside the control, with the sentence on it; nothing if no lessons were compared."""
    runs = _beside_control(view, view.read(stored_runs, None, None, (view.chosen.k,), lessons=True), tuned)
    if runs.empty:
        return
    probe_set = min(runs["probe_set"], key=lambda name: (name != view.chosen.probe_set, name))
    runs = runs[runs["probe_set"] == probe_set]
    table = view.read(lessons, runs)
    st.header("With which lessons does it come back?")
    if words := kept_in_words(table[table["model"] == tuned]):
        st.markdown(filled("Of the facts that {model} lost, {words}.", model=view.name(tuned), words=words))
    blocks.figure(
        drawing(lesson_bars, table, labels={model: view.label(model) for model in view.all_colours}),
        table=table,
        stamp=view.stamp(f"lessons, {set_name(probe_set)}, rank ≤ {view.chosen.k}", tuple(runs["run_id"])),
        name="lessons",
        caption=_LESSONS_CAPTION,
        how=_LESSONS_HOW,
        alt="Lost facts that come back, by the kind of lessons, beside wrong answers",
    )


_SAVINGS_CAPTION = (
    "A coin decides whether an answer or its counterfeit is taught. Whisker: 95 % interval of the difference."
)
_SAVINGS_HOW = (
    "A counterfeit is another answer of the relation, as probable in the fine-tuned model, that the base did not say."
    " Where the whisker leaves out the open mark, answers are relearned faster. Right answers that neither gave are the"
    " yardstick: the base held them likelier than counterfeits. Mean over five looks at one training."
)


def draw_savings(view: View, tuned: str, probe_set: str, k: int) -> None:
    """The marks of the model beside the control, and the sentence on it; nothing if none was measured."""
    words = view.read(stored_words, tuned, probe_set, k)
    table = _beside_control(view, view.read(savings, None, (probe_set,), (k,)), tuned)
    if words or len(table):
        st.header("Are lost answers relearned faster?")
        st.markdown(filled("{words}", words="".join(words[-1:])))
    if len(table):
        blocks.figure(
            drawing(saving_marks, table, labels={model: view.label(model) for model in view.all_colours}),
            table=table,
            stamp=view.stamp(f"savings, {set_name(probe_set)}, rank ≤ {k}", ()),
            name="savings",
            caption=_SAVINGS_CAPTION,
            how=_SAVINGS_HOW,
            alt="Answers that were taught again and counterfeits: per cent that are first",
        )
