"""The predictions of the sentence probes of every layer, and their changes when two words are swapped."""

import shlex

import pandas as pd
import streamlit as st

from probing.core.errors import ProbingError
from probing.figures.sentences.looks import POOLING_NAMES
from probing.figures.sentences.verdict_hover import with_hover
from probing.figures.tokens.verdict_map import verdict_map
from probing.reports.sentences.accuracy import accuracies
from probing.reports.sentences.best_probes import best_predicting
from probing.ui.frame import selection
from probing.ui.frame.live_models import Choice
from probing.ui.frame.page import View
from probing.ui.live.selection import LiveSelection
from probing.ui.live.sentence import sentence_models
from probing.ui.live.sentence.controls import Two
from probing.ui.widgets import blocks
from probing.ui.widgets.export import Stamp
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.markdown import Markdown, count, filled, joined, listing

AS_TYPED, SWAPPED = "as typed", "two words swapped"
HELP = (
    "Each line shows the task's best probe: the one that is right for most development sentences (of equal ones, that of the lowest "
    "layer). If development results are not stored, it is the one that is right for most test sentences, and its share is a little too "
    "high. Majority: always predicting the most frequent training label."
)
COLUMNS = [
    "model", "task", "title", "pooling", "layer", "label", "number", "p", "margin", "accuracy", "majority", "classes", "chance",
]  # fmt: skip


def draw(view: View, two: Two, text: str, pair: str) -> None:
    """Draws the predictions of each model's own probes; if there are none, shows the command that trains them."""
    view.contents.section("Predictions of probes")
    found: dict[str, pd.DataFrame] = {}
    for choice in two.all:
        if (table := _verdicts(view, choice, text, pair)) is not None and len(table):
            found[choice.name] = table
    if not found:
        return
    other = _swapped(view, text)
    try:
        changed = {choice.name: _table(choice, other, pair) for choice in two.all if choice.name in found} if other else {}
    except ProbingError as error:
        # In its new place a word may have more word pieces, so that the sentence becomes too long.
        blocks.problem(error)
        other, changed = "", {}
    st.markdown(joined("\n", [filled("- {line}", line=line) for line in _lines(view, found, changed)]), help=HELP)
    _maps(view, found, text, AS_TYPED if other else "")
    if other:
        _maps(view, changed, other, SWAPPED)
    st.caption(
        "One row per task and vector, one column per layer. The colour and the letters show the label (its first letters); the shade and "
        "the number show its probability in per cent. Grey: on test sentences the probe is not significantly better than always predicting "
        "the most frequent label, so its prediction is meaningless."
    )


def _verdicts(view: View, choice: Choice, text: str, pair: str) -> pd.DataFrame | None:
    """The predictions of a model's probes; if it has no probes, or asking fails, shows a message and returns None."""
    stamps = sentence_models.probes_of(choice)
    if not stamps:
        what = filled("No sentence probes are trained on the layers of {name} yet.", name=view.called(choice.name))
        blocks.missing(what, f"python -m probing sentences train --model {shlex.quote(choice.location)} --tasks all")
        return None
    try:
        table = _table(choice, text, pair)
    except ProbingError as error:
        blocks.problem(error)
        return None
    if table.empty:
        one, more = ("pairs of sentences", "one sentence alone") if not pair else ("one sentence", "two sentences")
        words = "All probes of {name} are for {one}, so none is applied to {more}."
        st.info(filled(words, name=view.called(choice.name), one=one, more=more), icon=":material/info:")
    else:
        titles = {read.title for stamp in stamps if (read := sentence_models.read(*stamp)).pairs != bool(pair)}
        if titles:
            needs = "they are for a single sentence" if pair else "they need a second sentence"
            words, name = "Not applied to {name}: {titles}, as {needs}.", view.called(choice.name)
            st.caption(filled(words, name=name, titles=listing(sorted(titles), 8), needs=needs))
    return table


def _table(choice: Choice, text: str, pair: str) -> pd.DataFrame:
    rows = [row for one in sentence_models.verdicts(choice, sentence_models.probes_of(choice), text, pair) for row in one.rows(choice.name)]
    return pd.DataFrame(rows, columns=COLUMNS)


def _swapped(view: View, text: str) -> str:
    """Draws the choice of a word; returns the sentence with this and the next word swapped, or ``""`` if none is chosen."""
    words = text.split()
    if len(words) < 2:
        return ""
    chosen = selection.of(LiveSelection).swapped
    chosen = chosen if chosen < len(words) else 0
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        selection.bound(
            st.number_input,
            "Swap a word with the next one",
            "swapped",
            view.page,
            value=chosen,
            min_value=0,
            max_value=len(words) - 1,
            step=1,
            width=260,
            help="Number of the word, from 1; 0 leaves the sentence unchanged.",
        )
    if not chosen:
        return ""
    first, second = words[chosen - 1 : chosen + 1]
    swapped = [*words[: chosen - 1], second, first, *words[chosen + 1 :]]
    before, after = " ".join(words[: chosen - 1]), " ".join(words[chosen + 1 :])
    st.markdown(filled("> {before} **{second} {first}** {after}", before=before, second=second, first=first, after=after))
    return " ".join(swapped)


def _lines(view: View, found: dict[str, pd.DataFrame], changed: dict[str, pd.DataFrame]) -> list[Markdown]:
    """One line per model and task: the prediction of the best probe, and how many probes change theirs."""
    lines = []
    stored = _stored(view, tuple(found))
    for model, table in found.items():
        for task, task_rows in table.groupby("task", sort=False):
            best = task_rows.loc[best_predicting(task_rows, stored[(stored["model"] == model) & (stored["task"] == task)])]
            line = filled(
                "{title}, {model}: the best probe (layer {layer}, {pooling}) predicts **{label}** ({p:.0f} %). "
                ":small[:gray[Right for {right:.1f} % of test sentences, majority {majority:.1f} %{chance}.]]",
                title=best["title"],
                model=view.called(model),
                label=best["label"],
                p=best["p"] * 100,
                layer=int(best["layer"]),
                pooling=POOLING_NAMES[best["pooling"]],
                right=best["accuracy"] * 100,
                majority=best["majority"] * 100,
                chance=", so no better than chance" if best["chance"] else "",
            )
            if model in changed:
                line = line + _turned(task_rows, changed[model], str(task), best.name)
            lines.append(line)
    return lines


def _stored(view: View, models: tuple[str, ...]) -> pd.DataFrame:
    """The stored accuracies of the models' own probes, with the number of development sentences right."""
    if view.database is None:
        return pd.DataFrame(columns=["model", "task", "pooling", "layer", "accuracy", "dev_right"])
    return view.read(accuracies, models)


def _turned(task_rows: pd.DataFrame, changed: pd.DataFrame, task: str, best: object) -> Markdown:
    """How many predictions change when the words are swapped; both tables have the same rows."""
    other = changed.loc[task_rows.index]
    turns, counts = task_rows["number"] != other["number"], ~task_rows["chance"]
    now = other.loc[best]
    return filled(
        " With the words swapped: **{label}** ({p:.0f} %); {n} of {all} above chance change{s} the prediction.",
        label=now["label"],
        p=now["p"] * 100,
        n=int((turns & counts).sum()),
        all=count(int(counts.sum()), "probe"),
        s="s" if (turns & counts).sum() == 1 else "",
    )


def _maps(view: View, found: dict[str, pd.DataFrame], text: str, which: str) -> None:
    end = "-swapped" if which == SWAPPED else ""
    for number, (place, (model, table)) in enumerate(
        zip(st.columns(2) if len(found) > 1 else [st.container()], found.items(), strict=True), start=1
    ):
        with place:
            st.markdown(filled("**{model}**{which}", model=view.called(model), which=f", {which}" if which else ""))
            blocks.figure(
                drawing(verdict_map, with_hover(table)),
                table=table.drop(columns=["number", "classes"]),
                stamp=Stamp(f"{model}, {text}"),
                name=f"live-verdicts-{number}{end}",
                alt=f"Predictions of the probes of {view.label(model)} for: {text}",
            )
