"""Grammar: what each layer adds to syntax and meaning, a sentence word by word, and whole sentences."""

import numpy as np
import pandas as pd
import streamlit as st

from probing.choices import GRAMMAR_TABS as TABS
from probing.choices import LAYERWISE
from probing.edges.figures import order_matrix, place_rows, score_rows
from probing.edges.figures_layers import TITLES, axis_of, gain_panels, layer_bars, task_curves
from probing.edges.numbers import UNRESOLVED
from probing.edges.page_sentence import draw_sentence
from probing.edges.page_words import TRAIN_COMMAND, GrammarProbes, open_results
from probing.edges.report_panels import published_gains, share_of_first
from probing.edges.report_summary import models_in_order
from probing.edges.tasks import EDGE_TASKS
from probing.kernel.app import blocks, selection
from probing.kernel.app.figure_cache import drawing
from probing.kernel.app.frame import View, end, open_page
from probing.kernel.app.texts import Markdown, count, filled, listing
from probing.kernel.figures import theme
from probing.own_model.page_own_file import draw_own_file
from probing.sentences.page_probes import draw_sentences

GAINS = "Points of right labels that each layer adds to those below it. Grey: BERT-base as published, on its own data."
GAINS_HOW = (
    "A small classifier, a probe, labels a span of words, or a pair of spans, from the layers 0 to l; layer 0 is the"
    " word alone. A bar is the F1 of the probe on the layers 0 to l minus that on the layers 0 to l-1, in points, mean"
    " over seeds; all panels have one scale. The sentence above divides what layer 1 adds by what all layers add, both"
    " summed over the tasks. Published values are those of Tenney et al. (2019): on the development part, mostly of"
    " other data, and by layers of a model of another depth. Their tasks run from syntax to meaning in the order of the"
    " panels, and their gains reach ever later layers."
)
SCORES = "From words alone (open) to all layers (filled), with what a score has to beat."
SCORES_HOW = (
    "F1 is micro-averaged over labels. Words alone, P(0): the probe on word embeddings. All layers, P(L): the probe on"
    " a mix of all layers. Memory: the commonest training label of the same words. Commonest label: one label for all."
    " Ceiling: the highest F1 possible if equal inputs have different right labels. Cross: the same model with random"
    " weights. The dev part also decided when training stopped, as in the paper, so its F1s are slightly too high. The"
    " data have F1 on the other part, F1 of the most probable label without the threshold of 0.5, the gain above"
    " memory, and how many probes ended by patience; the others used all evaluations and may still have improved."
    " Published F1s are mostly on other data, so they are not drawn."
)
#: What is drawn layer by layer -> its name, how it is read, and the options of ``edges train`` that store it.
MODES = {
    "cumulative": ("layers 0 to l", "P(l) reads the layers 0 to l, so it can hide that a layer lost something.", ""),
    "at": (
        "each layer alone",
        "A probe reads one layer alone, so a layer that lost something shows.",
        " --kinds cumulative,at",
    ),
    "selectivity": (
        "selectivity",
        (
            "F1 minus that of an equal probe on control labels, which are drawn at random once per span text (Hewitt"
            " and Liang 2019): the part that memorising cannot explain. Only spans whose text occurs in training count,"
            " because no other control label can be known."
        ),
        " --labels task,control",
    ),
    "compression": (
        "compression",
        (
            "How many times shorter the online code of the labels is than the uniform code, which has compression 1"
            " (Voita and Titov 2020). Labels that are hard to learn lengthen the code."
        ),
        " --codes",
    ),
}
assert tuple(MODES) == LAYERWISE
CURVES = "Thin dotted: the same model with random weights. Bands are 95 % intervals."
CURVES_HOW = (
    "Levels are those of the scores above. Models of different depth are aligned by share of depth; published values"
    " are grey."
)
PLACES = "Open: mean layer of what the layers add (expected layer). Filled: mean layer of the mixing weights."
PLACES_HOW = (
    "Expected layer: the mean of the layers from 1 on, weighted by their gains; lines are 95 % intervals over sentences"
    " and seeds, for tasks with one seed over sentences only. It is not resolved if the layers do not clearly gain on"
    " the words alone, or if its interval leaves the layers; the data give the reason. Centre of gravity: the mean"
    " layer of the weights by which the probe mixes all layers. It leaves the middle only slowly; faint: the weights"
    " are near uniform, so it is no place. A published model without it: its paper gives none for the task. Models are"
    " aligned by share of their depth."
)
ORDER = "Does the row's task come earlier (blue) or later (orange) than the column's? ?: cannot be told."
ORDER_HOW = (
    "Expected layers are compared pair by pair. Intervals are over sentences and seeds, and simultaneous for all pairs;"
    " sentences that two tasks share are drawn together. For a task with one seed the variation over seeds is that of"
    " the model's tasks with several."
)
WEIGHTS = "Solid: how much each layer counts in the mix of all. Outlined: what it adds. Each as a share of its largest."
WEIGHTS_HOW = (
    "Mixing weights are those of the probe on all layers; gains are in F1. Layers with long vectors count more in the"
    " mix than their weights suggest (Fayyaz et al. 2021): times the norm shows that. Concentration (K) is the"
    " divergence from equal bars, in bits: high if few layers carry most of the weight or gain; it is a column of the"
    " data."
)
LABELS = "Mean layer of each label's gains, the commonest on top. A click lists its sentences."
LABELS_HOW = (
    "Each label's own F1 by layer gives its expected layer; lines are 95 % intervals. Labels without a resolved one are"
    " in the data."
)


def answer(probes: GrammarProbes, gains: pd.DataFrame) -> None:
    """The sentence: how much of all gains comes at layer 1, in the first model and in BERT-base."""
    share = share_of_first(gains, probes.models[0])
    published = published_gains(tuple(probes.tasks))
    if np.isnan(share):
        return
    blocks.sentence(
        filled(
            "Layer 1 brings **{share:.0f} %** of what the layers of {model} add to {tasks} of grammar, in BERT-base"
            " **{other:.0f} %**.",
            share=share * 100,
            model=probes.view.name(probes.models[0]),
            tasks=count(gains.loc[gains["model"] == probes.models[0], "task"].nunique(), "task"),
            other=share_of_first(published, published["model"].iloc[0]) * 100,
        )
    )


def picture(probes: GrammarProbes, gains: pd.DataFrame) -> None:
    """What each layer adds, one small panel per task."""
    blocks.figure(
        drawing(gain_panels, gains, colours=probes.colours, labels=probes.labels, titles=probes.tasks),
        table=gains,
        stamp=probes.stamp("gain in F1 by layer"),
        name="grammar-gains",
        caption=GAINS,
        how=f"{GAINS_HOW} {probes.marks}",
        alt="Points of F1 that each layer adds, one panel per task",
    )


def example(view: View) -> None:
    """What a page with results looks like: the published values of BERT-base."""
    gains, titles = published_gains(()), {name: task.title for name, task in EDGE_TASKS.items()}
    blocks.missing(
        "No probes of words and spans are stored yet; below are BERT-base's published values.", TRAIN_COMMAND
    )
    stamp = view.stamp("gain in F1 by layer, published", ())
    drawn = drawing(gain_panels, gains, colours={}, titles=titles)
    blocks.figure(drawn, table=gains, stamp=stamp, name="grammar-gains", caption=GAINS, how=GAINS_HOW)


def scores(probes: GrammarProbes) -> None:
    """F1 of words alone and of all layers, with the yardsticks."""
    rows = probes.panels.summary
    blocks.figure(
        drawing(
            score_rows,
            rows.assign(row=rows["task"]),
            colours=probes.colours,
            labels=probes.labels,
            titles=probes.tasks,
        ),
        table=pd.concat([rows, probes.panels.paper], ignore_index=True),
        stamp=probes.stamp("F1 of P(0) and P(L) with yardsticks"),
        name="grammar-scores",
        caption=SCORES,
        how=f"{SCORES_HOW} {probes.marks}",
        alt="F1 by task and model, with memory, commonest label, ceiling and random encoder",
    )


def curves(probes: GrammarProbes) -> None:
    st.header("Layer by layer", anchor="layer-by-layer")
    mode = selection.bound("layerwise", format_func=lambda mode: MODES[mode][0])
    name, words, options = MODES[mode]
    panel = probes.panels.curves(mode)
    if panel.rows.empty:
        command = f"python -m probing edges train --model {probes.models[0]} --tasks {','.join(probes.tasks)}{options}"
        return blocks.missing(
            filled("{name} is not stored for these models and tasks.", name=name.capitalize()), command
        )
    stored = [title for task, title in probes.tasks.items() if task in set(panel.rows["task"])]
    if len(stored) < len(probes.tasks):
        st.markdown(filled("Stored for {tasks} only.", tasks=listing(stored)))
    blocks.figure(
        drawing(
            task_curves,
            panel.rows,
            axis=axis_of(panel.rows, mode),
            colours=probes.colours,
            labels=probes.labels,
            **panel.options,
        ),
        table=panel.rows,
        stamp=probes.stamp(TITLES[mode]),
        name="grammar-curves",
        caption=CURVES,
        how=f"{words} {CURVES_HOW} {probes.marks}",
        alt=f"{name} by layer, one panel per task",
    )


def places(probes: GrammarProbes) -> None:
    """Expected layer and centre of gravity, one row per task."""
    panel = probes.panels.places()
    blocks.figure(
        drawing(place_rows, panel.rows, colours=probes.colours, labels=probes.labels, **panel.options),
        table=panel.rows.drop(columns="row"),
        stamp=probes.stamp("centre of gravity and expected layer"),
        name="grammar-places",
        caption=PLACES,
        how=f"{PLACES_HOW} {probes.marks}",
        alt="Expected layer and centre of gravity by task and model",
        call=probes.call("summary", published=probes.own.published),
    )


def order(probes: GrammarProbes) -> None:
    """Which of two tasks comes first in a model, and in which of two models a task comes first; the layers' weights."""
    st.header("Which task comes first?", anchor="order")
    probes.choose_model(Markdown("Model"))
    model = probes.model
    pairs = probes.panels.order(model).rows
    if pairs.empty:
        st.info("An order needs probes of at least two tasks.", icon=":material/info:")
    elif (pairs["verdict"] == UNRESOLVED).all():
        words = (
            "Of {pairs} of tasks, none can be put in an order in {model}: their mean layers do not lie clearly apart."
        )
        blocks.tab_sentence(filled(words, pairs=count(len(pairs), "pair"), model=probes.view.name(model)))
    else:
        words = "Of {pairs} of tasks, {n} can be put in an order in {model}."
        numbers = {"pairs": count(len(pairs), "pair"), "n": int((pairs["verdict"] != UNRESOLVED).sum())}
        blocks.tab_sentence(filled(words, model=probes.view.name(model), **numbers))
        blocks.figure(
            drawing(order_matrix, pairs, titles=probes.tasks),
            table=pairs,
            stamp=probes.stamp(f"order of tasks, {probes.view.label(model)}"),
            name="grammar-order",
            caption=ORDER,
            how=ORDER_HOW,
            alt="Square of tasks: whether the row's expected layer is earlier or later than the column's",
            call=probes.call("tasks", {"model": model}),
        )
    if len(probes.models) > 1:
        table = probes.report(
            models_in_order,
            probes.models,
            tuple(probes.tasks),
            part=probes.own.edge_part,
            unseen=probes.own.unseen,
        )
        labels = {side: table[side].map(probes.view.label) for side in ("first", "second")}
        named = table.assign(task=table["task"].map(probes.tasks), **labels)
        blocks.table_with_download(
            table, shown=named, stamp=probes.stamp("order of models by task"), name="grammar-models"
        )


def weights(probes: GrammarProbes) -> None:
    """Mixing weights and gains of one model (Figure 2 of the paper)."""
    st.header("What each layer counts", anchor="weights")
    table, model = probes.panels.bars(probes.model), probes.model
    if table.empty:
        st.info("No cumulative probes are stored for this model and these tasks.", icon=":material/info:")
        return
    selection.bound("normed")
    of_model = probes.panels.summary[probes.panels.summary["model"] == model]
    blocks.figure(
        drawing(
            layer_bars,
            table,
            colour=probes.colours.get(model, theme.NEUTRAL),
            titles=probes.tasks,
            weights="normed" if probes.own.normed else "weight",
        ),
        table=table.merge(of_model[["task", "k_weights", "k_gains", "weights_near_uniform"]], on="task", how="left"),
        stamp=probes.stamp(f"mixing weights and gains of {probes.view.label(model)}"),
        name="grammar-weights",
        caption=WEIGHTS,
        how=WEIGHTS_HOW,
        alt=f"Mixing weights and gains by layer of {probes.view.label(model)}, one panel per task",
    )


def labels(probes: GrammarProbes) -> None:
    """One task label by label; a click lists the label's sentences."""
    st.header("Label by label", anchor="labels")
    task = probes.own.labels_of if probes.own.labels_of in probes.tasks else next(iter(probes.tasks))
    if len(probes.tasks) > 1:
        titles = probes.tasks
        selection.bound("labels_of", value=task, options=list(titles), format_func=titles.__getitem__)
    panel = probes.panels.labels(task)
    if panel.table is None or panel.rows.empty:
        st.info("For no label can its mean layer be told.", icon=":material/info:")
        return
    blocks.figure(
        drawing(place_rows, panel.rows, colours=probes.colours, labels=probes.labels, **panel.options),
        table=panel.table,
        stamp=probes.stamp(f"labels of {probes.tasks[task]}"),
        name="grammar-labels",
        caption=LABELS,
        how=f"{LABELS_HOW} {probes.marks}",
        alt=f"Expected layer of each label of {probes.tasks[task]}",
        call=probes.call("labels", {"task": task}),
        on_point=lambda point: selection.update(
            grammar_tab="sentence",
            trace_task=task,
            trace_label=point[0],
            trace_part=probes.own.edge_part,
            trace_page=1,
            text_hash="",
        ),
    )


def tab_of_words(view: View, probes: GrammarProbes | None, tab: str) -> None:
    """The tabs on words and spans."""
    if tab == "sentence":
        draw_sentence(view)
    elif probes is None:
        st.info("Nothing is stored for this tab yet.", icon=":material/info:")
    elif tab == "scores":
        scores(probes)
        curves(probes)
    else:
        places(probes)
        order(probes)
        weights(probes)
        labels(probes)


view = open_page("grammar", "Grammar", "Where is grammar?", needs_results=False)
sentence_place = st.container()
probes = open_results(view)
if probes is None:
    example(view)
else:
    gains = probes.panels.gains()
    with sentence_place:
        answer(probes, gains)
    picture(probes, gains)
with selection.open_tab("grammar_tab", TABS, view.page) as tab:
    if tab == "whole":
        draw_sentences(view)
    elif tab == "own":
        draw_own_file(view)
    else:
        tab_of_words(view, probes, tab)
end(view)
