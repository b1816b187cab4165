"""When are facts forgotten: one training, state by state, next to its score and loss."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from probing.core.tasks.objectives import CONTROL
from probing.figures.forgetting.time_course import event_bars, kept_map, over_training, rank_map
from probing.reports.forgetting import series
from probing.store import run_queries
from probing.store.database import Database
from probing.ui.choices.compare import CompareSelection
from probing.ui.forgetting.page_view import labels_of
from probing.ui.frame import selection
from probing.ui.frame.page_reads import read
from probing.ui.widgets import blocks
from probing.ui.widgets.export import Stamp
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.markdown import filled

FOLLOW_COMMAND = "python -m probing series follow --model FOLDER_OF_CHECKPOINTS --base nesia-mini"
#: Most facts in the menu of single facts.
_MOST = 200


@dataclass(frozen=True)
class Training:
    """What the panel shows.

    Attributes:
        db: the open results.
        model: name of the training.
        probe_set: the set of facts.
        k: a fact is known if the rank of its answer is at most k.
        label: displayed name of a training.
        stamp: filters and fingerprint of some runs, for the figures, of their ids.
    """

    db: Database
    model: str
    probe_set: str
    k: int
    label: Callable[[str], str]
    stamp: Callable[[Sequence[str]], Stamp]


def trainings(db: Database) -> pd.DataFrame:
    """The trainings that were asked at three states or more: model, base, objective and probe_set."""
    runs = read(series.runs, db)
    return runs.loc[runs["states"] > 2, ["model", "base", "objective", "probe_set"]].reset_index(drop=True)


def draw(shown: Training) -> None:
    """The panel: facts by step, how long they last, layers, relations, and one fact."""
    runs = read(series.runs, shown.db)
    of_set = runs[runs["probe_set"] == shown.probe_set]
    if not (of_set["model"] == shown.model).any():
        blocks.missing(filled("No states of {model} were asked for facts.", model=shown.label(shown.model)), FOLLOW_COMMAND)
        return
    base = of_set.loc[of_set["model"] == shown.model, "base"].iloc[0]
    controls = of_set.loc[(of_set["base"] == base) & (of_set["objective"] == CONTROL) & (of_set["model"] != shown.model), "model"]
    control = next(iter(controls), "")
    both = (shown.model, control) if control else (shown.model,)
    stamp = shown.stamp(tuple(of_set.loc[of_set["model"].isin(both), "run_id"]))
    _flow(shown, both, stamp)
    _events(shown, both, stamp)
    _maps(shown, stamp)
    _one_fact(shown, stamp)


def _flow(shown: Training, both: tuple[str, ...], stamp: Stamp) -> None:
    table = read(series.steps, shown.db, both, (shown.probe_set,), shown.k)
    logged = read(series.logged, shown.db, both, (shown.probe_set,))
    control = both[1] if len(both) > 1 else ""
    names = [shown.label(name) if name else "" for name in (shown.model, control)]
    last = table[table["model"] == shown.model].iloc[-1]
    blocks.figure(
        drawing(over_training, table, logged, model=shown.model, control=control, names=names),
        table=table,
        stamp=stamp,
        name="forgotten-by-step",
        caption=filled(
            "At the last layer, by the head of the base. After {step:,} steps {model} has lost {lost:,} of the {before:,} facts known "
            "before, of {asked:,} that were asked at every state; {own} of all facts are known beyond the swapped subject.{control}",
            step=last["step"],
            model=names[0],
            lost=last["lost"],
            asked=last["asked"],
            before=last["kept"] + last["returned"] + last["lost"],
            own=f"{100 * last['own_minus_swapped']:.1f} %",
            control=f" Thin and dashed: {names[1]}, which was trained on the base's own text."
            if control
            else " No series of a control is stored, so nothing here shows what any further training would do.",
        ),
        alt="Facts kept, lost, returned and gained by training step, with score and loss",
    )


def _events(shown: Training, both: tuple[str, ...], stamp: Stamp) -> None:
    events = read(series.events, shown.db, both, (shown.probe_set,), shown.k)
    if events.empty:
        return
    model_events = events[events["model"] == shown.model]
    half = model_events["half_lost_step"].iloc[0] if len(model_events) else float("nan")
    blocks.figure(
        drawing(event_bars, events, labels={name: shown.label(name) for name in both}),
        table=events,
        stamp=stamp,
        name="forgetting-events",
        caption=filled(
            "{half} {several:,} facts were forgotten twice or more.",
            half=f"Half of the facts known before were lost once by step {half:,.0f}."
            if half == half
            else "More than half of the facts known before were never lost.",
            several=int(model_events["several"].sum()),
        ),
        alt="Facts that are never lost, come back, or stay lost",
    )


def _maps(shown: Training, stamp: Stamp) -> None:
    deepest = int(read(series.runs, shown.db).query("model == @shown.model")["layers"].max())
    layers = read(series.steps, shown.db, (shown.model,), (shown.probe_set,), shown.k, tuple(range(deepest)))
    blocks.figure(
        drawing(kept_map, layers, by="layer"),
        table=layers,
        stamp=stamp,
        name="kept-by-layer",
        caption="Of the facts that a layer knows before the training, those that it knows at a step.",
        alt="Facts kept by layer and training step",
    )
    relations = read(series.relations, shown.db, (shown.model,), (shown.probe_set,), shown.k)
    blocks.figure(
        drawing(kept_map, relations, by="relation", names=labels_of(read(run_queries.relations, shown.db), shown.probe_set)),
        table=relations,
        stamp=stamp,
        name="kept-by-relation",
        caption="Of the facts of a relation that the last layer knows before the training, those that it knows at a step.",
        alt="Facts kept by relation and training step",
    )


def _one_fact(shown: Training, stamp: Stamp) -> None:
    facts = read(series.facts, shown.db, (shown.model,), (shown.probe_set,), shown.k)
    if facts.empty:
        return
    # Those that come and go first: they say most.
    facts = facts.sort_values(["events", "lost_step", "fact_id"], ascending=[False, True, True]).head(_MOST).set_index("fact_id")
    words = {
        row.Index: f"{row.subject} – {row.object} ({row.relation})" if isinstance(row.subject, str) else row.Index
        for row in facts.itertuples()
    }
    named = selection.of(CompareSelection).followed_fact
    chosen = selection.bound(
        st.selectbox,
        "One fact",
        "followed_fact",
        "forgetting",
        value=named if named in words else next(iter(words)),
        options=list(words),
        format_func=words.__getitem__,
    )
    cells = read(series.ranks_of_fact, shown.db, shown.model, shown.probe_set, chosen)
    blocks.figure(
        drawing(rank_map, cells),
        table=cells,
        stamp=stamp,
        name="fact-by-step",
        caption="Rank of the right answer by training step and layer.",
        alt="Rank of one fact's answer by training step and layer",
    )
