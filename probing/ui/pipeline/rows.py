"""Tasks as rows: where the probes read them, and F1 with the baselines it has to beat (Figure 1 of the paper)."""

import pandas as pd
import streamlit as st

from probing.figures.edges.place_rows import place_rows
from probing.figures.edges.score_rows import score_rows
from probing.ui.pipeline.page_view import TRAIN_COMMAND, Shown
from probing.ui.widgets import blocks
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.markdown import Markdown, filled

_PERCENT = {
    "f1_first": "F1 of P(0)", "f1_last": "F1 of P(L)", "f1_last_low": "F1 of P(L), low", "f1_last_high": "F1 of P(L), high",
    "memory": "memory", "majority": "majority label", "random": "random encoder, P(L)", "ceiling": "ceiling", "f1_last_dev": "P(L) on dev",
    "f1_last_test": "P(L) on test", "f1_first_top": "P(0), most probable label", "f1_last_top": "P(L), most probable label",
    "gain_above_memory": "gain above memory", "gain_above_memory_low": "above memory, low", "gain_above_memory_high": "above memory, high",
    "selectivity_seen": "selectivity on seen spans",
}  # fmt: skip
_LAYERS = {
    "centre_of_gravity": "centre of gravity",
    "expected_layer": "expected layer",
    "expected_layer_low": "expected, low",
    "expected_layer_high": "expected, high",
    "k_weights": "K(s), bits",
    "k_gains": "K(Δ), bits",
}
_MARKS = {
    "expected_layer_reason": "not resolved because",
    "weights_near_uniform": "weights near uniform",
    "probes": "probes",
    "probes_stopped": "ended by patience",
}


def draw_places(shown: Shown, words: Markdown) -> None:
    """Centre of gravity and expected layer of every task and model; below them ``words``, the page's answer at length."""
    panel, summary = shown.panels.places(), shown.panels.summary
    table, shares = panel.rows.drop(columns="row"), panel.options["shares"]
    if table.empty:
        shown.view.introduce()
        blocks.missing("No cumulative probes are stored for these models and tasks.", TRAIN_COMMAND)
        return
    unresolved = int(summary["expected_layer"].isna().sum())
    near = int(summary["weights_near_uniform"].fillna(False).sum())
    blocks.figure(
        drawing(place_rows, panel.rows, colours=shown.colours, labels=shown.labels, **panel.options),
        table=table,
        stamp=shown.stamp("centre of gravity and expected layer"),
        name="pipeline-places",
        call=shown.call("summary", published=shown.own.published),
        caption=filled(
            "Filled: centre of gravity, the mean layer of the mixing weights of the probe on all layers; it moves away from the middle "
            "only slowly, so it shows less than it seems to. Open: expected layer, the mean layer of the gains in F1 from layer 1 on; "
            "lines are 95 % intervals over sentences and seeds.{single} {unresolved}{near}{shares} {key}",
            unresolved=f"Not resolved ({unresolved}), with the reason: the layers do not clearly gain on layer 0, or the interval leaves "
            "the layers. "
            if unresolved
            else "",
            single=_single(summary),
            near=f"Faint ({near}): the weights are near uniform, so their centre is no place. " if near else "",
            shares="Models of different depth are aligned by share of depth." if shares else "",
            key=shown.key(),
        ),
        alt="Centre of gravity and expected layer by task and model",
    )
    shown.view.introduce()
    blocks.in_words(words)
    number = st.column_config.NumberColumn
    wide = table.assign(name=table["task"].map(shown.tasks))
    columns = ["name", "model", "seeds", *_LAYERS, *_MARKS, *_PERCENT]
    blocks.table_with_download(
        wide.drop(columns="name"),
        shown=wide[[column for column in columns if column in wide]],
        stamp=shown.stamp("summary by task"),
        name="pipeline-summary",
        column_config={
            "name": st.column_config.TextColumn("task", pinned=True),
            **{name: number(words, format="%.2f") for name, words in _LAYERS.items()},
            **_MARKS,
            **{name: number(words, format="percent") for name, words in _PERCENT.items()},
        },
    )


def _single(table: pd.DataFrame) -> str:
    """How many intervals leave out the variation over seeds."""
    placed = table[table["expected_layer"].notna() & table["seeds"].notna()]
    single = int((placed["seeds"] == 1).sum())
    if not single:
        return ""
    return (
        f" {single} of {len(placed)} are of tasks with one seed, so over sentences only and too short; the order of the tasks adds the "
        "variation over seeds, and corrects for the number of pairs."
    )


def draw_scores(shown: Shown) -> None:
    """F1 of P(0) and P(L), with the yardsticks."""
    shown.view.contents.section("F1 and what it has to beat")
    rows = shown.panels.places().rows
    table = rows.drop(columns="row")
    if table.empty:
        return
    top = table["f1_last_top"].notna().any() if "f1_last_top" in table else False
    blocks.figure(
        drawing(score_rows, rows, colours=shown.colours, labels=shown.labels, titles=shown.tasks),
        table=table,
        stamp=shown.stamp("F1 of P(0) and P(L) with yardsticks"),
        name="pipeline-scores",
        caption=filled(
            "Open: the probe on word embeddings alone, P(0); filled: on all layers, P(L), with its 95 % interval. Memory: the commonest "
            "training label of the same span text. Majority label: one label for all. Ceiling: the highest F1 possible if equal inputs "
            "have different right labels. Cross: the same model with random weights.{ended}{top}{dev}{paper} {key}",
            ended=_ended(shown.panels.summary),
            top=" The table above also has F1 of the most probable label, without the threshold of 0.5."
            if top
            else " F1 of the most probable label is not stored for these probes.",
            dev=" The dev part also decided when training stopped." if shown.own.edge_part == "dev" else "",
            paper=" Published F1s are on dev parts and mostly on other data (dependencies and relations: on the same), so they are not "
            "compared with ours."
            if len(shown.panels.paper)
            else "",
            key=shown.key(),
        ),
        alt="F1 by task and model, with memory, majority label, ceiling and random encoder",
    )


def _ended(table: pd.DataFrame) -> str:
    """How many probes patience stopped."""
    probes, stopped = (int(table[column].sum()) for column in ("probes", "probes_stopped"))
    if not probes:
        return ""
    return f" Patience ended the training of {stopped} of {probes} probes; the others used all evaluations and may still have improved."
