"""Grammar: what each layer adds to syntax and meaning, a sentence word by word, and whole sentences."""

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from probing.choices import GRAMMAR_TABS as TABS
from probing.choices import LAYERWISE
from probing.edges.figures import half_rows, order_matrix, place_rows, score_rows
from probing.edges.figures_layers import TITLES, axis_of, layer_bars, task_curves
from probing.edges.numbers import UNRESOLVED
from probing.edges.page_sentence import draw_sentence
from probing.edges.page_words import TRAIN_COMMAND, GrammarProbes, open_results
from probing.edges.report_panels import published_halves
from probing.edges.tasks import EDGE_TASKS
from probing.kernel.app import blocks, selection
from probing.kernel.app.figure_cache import drawing
from probing.kernel.app.frame import View, show
from probing.kernel.app.texts import count, filled, listing
from probing.kernel.figures import theme
from probing.own_model.page_own_file import draw_own_file
from probing.sentences.page_probes import draw_sentences

HALVES = "Dot: the layer by which half of the gain is there. Beside it: the whole gain. Grey: BERT-base as published."
HALVES_HOW = (
    "A small classifier, a probe, labels a span of words, or a pair of spans, from the layers 0 to l; layer 0 is the"
    " word alone. What the layers add is the F1 of the probe on all layers minus that on layer 0, in points, mean over"
    " seeds. The dot is the first layer whose probe has half of it; lines are 95 % intervals over sentences and seeds."
    " It cannot be told if less than one point is added, or the interval in brackets reaches 0. Published values are"
    " those of Tenney et al. (2019): of a deeper model, on the development part, mostly of other data."
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
ORDER = "Does the row's task come earlier (blue) or later (orange) than the column's? ?: cannot be told."
ORDER_HOW = (
    "Compared are expected layers, the mean of the layers from 1 on, weighted by their gains; the data of the scores"
    " have them. Intervals are over sentences and seeds, and simultaneous for all pairs; sentences that two tasks share"
    " are drawn together. For a task with one seed the variation over seeds is that of the model's tasks with several."
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


def answer(probes: GrammarProbes, halves: pd.DataFrame) -> None:
    """The sentence: by which layers half of the gain is there, in the first model and in BERT-base."""
    model = probes.models[0]
    ours = halves[halves["model"] == model].set_index("task")["half"]
    if ours.isna().all():
        return
    unknown = [probes.tasks[task] for task in ours.index[ours.isna()]]
    words = "Half of what the layers of {model} add to grammar is there **by {layers}**"
    words += " (for {tasks} it cannot be told)" if unknown else ""
    blocks.sentence(
        filled(
            words + ", in BERT-base by {published}.",
            model=probes.view.name(model),
            layers=by_layers(ours),
            tasks=listing(unknown) if len(unknown) < 3 else count(len(unknown), "task"),
            published=by_layers(published_halves(tuple(probes.tasks))["half"]),
        )
    )


def by_layers(layers: pd.Series) -> str:
    """The least and the most of layers: "layer 1", "layers 1 to 5"."""
    low, high = int(layers.min()), int(layers.max())
    return f"layer {low}" if low == high else f"layers {low} to {high}"


def picture(view: View, probes: GrammarProbes | None, sentence_place: DeltaGenerator) -> None:
    """The sentence, and the layer by which half of the gain is there, one row per task; BERT-base's without results."""
    if probes is None:
        blocks.missing(
            "No probes of words and spans are stored yet; below are BERT-base's published values.", TRAIN_COMMAND
        )
        halves, stamp, how = published_halves(()), view.stamp("layer of half the gain, published", ()), HALVES_HOW
        looks = {"colours": {}, "titles": {name: task.title for name, task in EDGE_TASKS.items()}}
    else:
        halves, stamp, how = (
            probes.panels.halves(),
            probes.stamp("layer of half the gain"),
            f"{HALVES_HOW} {probes.marks}",
        )
        looks = {"colours": probes.colours, "labels": probes.labels, "titles": probes.tasks}
        with sentence_place:
            answer(probes, halves)
    blocks.figure(
        drawing(half_rows, halves, **looks),
        table=halves,
        stamp=stamp,
        name="grammar-halves",
        caption=HALVES,
        how=how,
        alt="Layer by which half of the gain is there, one row per task",
    )


def scores(probes: GrammarProbes) -> None:
    """F1 of words alone and of all layers, with the yardsticks."""
    rows = probes.panels.summary
    own = rows[rows["model"] == probes.models[0]].dropna(subset=["gain"]).set_index("task")
    gains = 100 * own["gain"]
    if len(gains) > 1:
        least = gains.idxmin()
        ends = {"most": probes.tasks[gains.idxmax()], "least": probes.tasks[least]}
        words = "The layers add most to {most}, **{high:+.1f} points**, and least to {least}, {low:+.1f}."
        if not own["gain_low"][least] > 0:
            words = "The layers add most to {most}, **{high:+.1f} points**; whether they add to {least} cannot be told."
        st.markdown(filled(words, high=gains.max(), low=gains.min(), **ends))
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
    mode = selection.bound("layerwise", format_func=lambda mode: MODES[mode][0])
    name, words, options = MODES[mode]
    panel = probes.panels.curves(mode)
    if panel.rows.empty:
        command = f"python -m probing edges train --model {probes.models[0]} --tasks {','.join(probes.tasks)}{options}"
        return blocks.missing("{name} is not stored for these models and tasks.", command, name=name.capitalize())
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


def order(probes: GrammarProbes) -> None:
    """Which of two tasks comes first in a model."""
    st.header("Which task comes first?", anchor="order")
    probes.choose_model()
    model = probes.model
    pairs = probes.panels.order(model).rows
    if pairs.empty:
        st.info("An order needs probes of at least two tasks.", icon=":material/info:")
    elif (pairs["verdict"] == UNRESOLVED).all():
        words = (
            "Of {pairs} of tasks, none can be put in an order in {model}: their mean layers do not lie clearly apart."
        )
        blocks.tab_sentence(words, pairs=count(len(pairs), "pair"), model=probes.view.name(model))
    else:
        words = "Of {pairs} of tasks, {n} can be put in an order in {model}."
        numbers = {"pairs": count(len(pairs), "pair"), "n": int((pairs["verdict"] != UNRESOLVED).sum())}
        blocks.tab_sentence(words, model=probes.view.name(model), **numbers)
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
        selection.bound("labels_of", options=probes.tasks)
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
        blocks.folded("Layer by layer", lambda: curves(probes), key="layer-by-layer", icon="show_chart")
    else:
        order(probes)
        weights(probes)
        labels(probes)


def draw(view: View) -> None:
    sentence_place = st.container()
    probes = open_results(view)
    picture(view, probes, sentence_place)
    draw_tab(view, probes)


@st.fragment
def draw_tab(view: View, probes: GrammarProbes | None) -> None:
    with selection.open_tab("grammar_tab", TABS, view.page) as tab:
        if tab == "whole":
            draw_sentences(view)
        elif tab == "own":
            draw_own_file(view)
        else:
            tab_of_words(view, probes, tab)


show("grammar", "Grammar", "Where is grammar?", draw, needs_results=False)
