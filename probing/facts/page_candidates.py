"""The tab of Layers on answers of several words: ranks among candidates by layer, and by the answer's tokens."""

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from probing.choices import LayersSelection
from probing.facts.figures import candidate_curve
from probing.facts.report_candidates import alike, by_layer, by_length, newest
from probing.facts.requests import INDEPENDENT
from probing.facts.store_candidates import candidate_runs
from probing.kernel.app import blocks, filters, selection
from probing.kernel.app.figure_cache import drawing
from probing.kernel.app.frame import View, probe_command
from probing.kernel.app.save import plot
from probing.kernel.fact import PHRASES, PROBE_SETS
from probing.kernel.figures.looks import head_name, set_name
from probing.kernel.figures.yardsticks import ALONE, MAJORITY, SWAPPED
from probing.kernel.models.names import LOGIT_LENS
from probing.kernel.stats.intervals import MIN_FACTS, may_be_shown

#: Without other choices, what the command of an empty tab stores.
USUAL = {"probe_set": PHRASES, "measure": INDEPENDENT, "head": LOGIT_LENS, "dtype": "float32"}
MEASURE_WORDS = {
    "independent": "all its tokens masked (independent)",
    "answer_l2r": "left to right (answer_l2r)",
    "within_word_l2r": "left to right in words (within_word_l2r)",
}
#: Field of the page -> column of the runs, label, words of a value.
_MENUS = {
    "ranked_set": ("probe_set", "Facts (probe set)", set_name),
    "ranked_measure": ("measure", "A candidate's score (measure)", lambda name: MEASURE_WORDS.get(name, name)),
    "ranked_head": ("head", "Read with (head)", head_name),
    "ranked_file": ("candidates_file", "Candidates", lambda name: name or "the answers of the relation"),
    "ranked_dtype": ("dtype", "Numbers (dtype)", str),
}
CURVE = (
    "Share of facts whose right answer ranks first ({measure}; {head}). Dotted: a blind guess, the same answers asked"
    " about other subjects."
)
CURVE_HOW = (
    "Answers of any number of tokens are ranked among candidates, not among all words: the answers of the relation, or"
    " a list of yours. A candidate's score is its log-likelihood, the sum over its tokens. Independent: all tokens are"
    " masked; left to right: a token is scored with those before it visible, and of each layer the 50 best of"
    " independent are scored. Bands: 95 % intervals. Grey: chance, 1 / candidates, and the relation's commonest answer."
    " Dotted: how often prompts about other subjects of the relation, where the answer is wrong, put it first; where a"
    " line is no higher, the subject brings no more right answers. Other right answers of a prompt do not count against"
    " it; candidates that tie for the first place share it. Macro: every relation counts once; micro: every fact. Data"
    " has MRR and the mean rank beside chance, K and K* (Gekhman et al. 2025), the answer alone, the shortest"
    " candidates, and the score minus that of the answer alone (pmi)."
)
LENGTHS = (
    "Every fact counts once. At the last layer, and at the best one, chosen on these facts. No shares of fewer than"
    f" {MIN_FACTS} facts."
)


def draw_candidates(view: View) -> None:
    """The tab: the chosen models by layer, and by the number of tokens of the right answer."""
    st.header("Answers of several words")
    stored = newest(view.read(candidate_runs))
    stored = stored[stored["seed"] == 0]
    if stored.empty:
        asked = {column: getattr(selection.of(LayersSelection), field) for field, (column, *_) in _MENUS.items()}
        # What a link names is part of a command only if it is known.
        asked["probe_set"] *= asked["probe_set"] in PROBE_SETS
        blocks.missing("No ranks among candidates are stored.", _command(view, asked))
        return
    runs, values = _compared(view, stored)
    if runs.empty:
        blocks.missing("The chosen models have no such ranks.", _command(view, values))
        return
    average = view.chosen.average
    points = view.read(by_layer, runs, (average,))
    words = ", ".join([set_name(values["probe_set"]), *filter(None, list(values.values())[1:])])
    labels = {model: view.label(model) for model in view.all_colours}
    chosen = {"model": list(runs["model"]), **values}
    last = points[(points["model"] == runs["model"].iloc[0]) & points["value"].notna()].sort_values("layer").tail(1)
    for row in last.itertuples():
        said = "At its last layer {model} gives {value:.1f} % of these answers; by chance it would be {chance:.1f} %."
        shares = {"value": 100 * row.value, "chance": 100 * row.chance}
        blocks.tab_sentence(said, model=view.name(row.model), **shares)
    filters.say_size(points)
    if view.filtered:
        st.info("All facts are counted here: these ranks have no such filters.", icon=":material/filter_alt_off:")
    blocks.figure(
        drawing(
            candidate_curve, points, average=average, colours=view.all_colours, labels=labels, controls=view.controls
        ),
        table=points,
        stamp=view.stamp(f"P@1 among candidates, {average}, {words}", tuple(runs["run_id"])),
        name="candidates",
        caption=CURVE.format(measure=values["measure"], head=head_name(values["head"])),
        how=CURVE_HOW,
        alt=f"P@1 among candidates by layer for {', '.join(labels[model] for model in runs['model'])}",
        call=plot("candidates", "layers", {**chosen, "average": average}, False),
    )
    _by_length(view, runs, labels, words)


def _command(view: View, values: Mapping[str, str]) -> str:
    """The command that ranks answers by the first of the page's models, with these values of the menus or the usual."""
    run = USUAL | {name: value for name, value in values.items() if value}
    command = f"{probe_command(run | {'model': view.chosen.models[0]})} --measure {run['measure']}"
    return f"{command} --dtype {run['dtype']}" + (" --candidates FILE" if "candidates_file" in run else "")


def _compared(view: View, stored: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, str]]:
    """Draws the filters; the runs of the page's models, and of those that its menu lacks, and the one value of each."""
    own = selection.of(LayersSelection)
    wanted = {column: (value,) for field, (column, *_) in _MENUS.items() if (value := getattr(own, field))}
    shown = alike(stored, **wanted)
    left, values = stored, dict[str, str]()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="candidate-filters"):
        for field, (column, label, words) in _MENUS.items():
            value = values[column] = shown[column].iloc[0]
            there = sorted(set(left[column]))
            if len(there) > 1:
                selection.bound(field, label, value=value, options=there, format_func=words, width=320)
            left = left[left[column] == value]
    models = {*view.chosen.models, *(set(stored["model"]) - set(view.colours))}
    order = [model for model in view.all_colours if model in models]
    shown = shown[shown["model"].isin(order)]
    return shown.sort_values("model", key=lambda names: names.map(order.index), ignore_index=True), values


def _by_length(view: View, runs: pd.DataFrame, labels: dict[str, str], words: str) -> None:
    """A row for each model, number of tokens of the right answer, and its last and best layer."""
    st.markdown("### By the length of the answer")
    st.caption(LENGTHS)
    table = view.read(by_length, runs)
    number = st.column_config.NumberColumn
    shares = {"value": "right (P@1)", "low": "low", "high": "high", "swapped": SWAPPED, "majority": MAJORITY}
    shares |= {"alone": ALONE, "shortest": "shortest"}
    enough, hidden = table["n"].map(may_be_shown), (*shares, "mrr")
    blocks.table_with_download(
        table,
        shown=table.assign(model=table["model"].map(labels), **{name: table[name].where(enough) for name in hidden}),
        stamp=view.stamp(f"P@1 among candidates by the tokens of the answer, micro, {words}", tuple(runs["run_id"])),
        name="candidate-lengths",
        height=38 + 35 * min(len(table), 6),
        column_order=["model", "pieces", "layer", "n", *hidden],
        column_config={
            "model": st.column_config.TextColumn(pinned=True),
            "pieces": number("tokens"),
            "n": number("facts"),
            **{name: number(title, format="percent") for name, title in shares.items()},
            "mrr": number("MRR", format="%.2f"),
        },
    )
