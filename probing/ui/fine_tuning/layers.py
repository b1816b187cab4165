"""One model, layer by layer: all evidence in stacked panels, and the commands that add what is missing."""

import pandas as pd
import streamlit as st

from probing.core.metrics import METRICS
from probing.figures.changes.panels import evidence_panels
from probing.reports.comparability import as_long
from probing.reports.fine_tuning import evidence as panels
from probing.ui.fine_tuning.page_view import MEASURE_COMMAND, TRAIN_COMMAND, Shown
from probing.ui.widgets import blocks
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.glossary import answer
from probing.ui.widgets.markdown import Markdown, filled, joined, listing
from probing.ui.widgets.paper.calls import plot
from probing.ui.widgets.task_marks import marks_once, task_words

#: Number of panels in the page's first figure.
FIRST = 2
#: Evidence that can be missing -> the prefixes of its panels, and the command that makes it.
_KINDS = {
    "facts": ((panels.FACTS,), "python -m probing probe --facts all --head logit_lens --model"),
    "edge probes": ((panels.EDGES,), "python -m probing edges train --tasks all --model"),
    "sentence probes": ((panels.PROBE,), TRAIN_COMMAND),
    "attention, perplexity, similarity of states": ((panels.ENTROPY, panels.PERPLEXITY, panels.LIKENESS), MEASURE_COMMAND),
    "drift of weights": ((panels.DRIFT,), MEASURE_COMMAND),
}
#: Prefix of a panel's name -> what the caption adds if the panel is drawn.
_WORDS = {
    panels.PROBE: "Sentence probes: the model's own probes minus those of its base, on the same sentences.",
    panels.PERPLEXITY: "Perplexity at layer l: with the base's layers l to the last, 1 to l, or l alone put back; the dotted line is the "
    "unchanged model.",
}
#: The quantities of the panels, in their order.
_METRICS = ("attention_entropy", "attention_movers_distance", "masked_perplexity", "weight_drift", "cka", "same_token_cosine")


_WHAT = (
    "Facts, structure, sentences, attention, weights: all measurements of a fine-tuned model and its base, on one layer axis. "
    "Training changes a model even if the model learns nothing, so a control and other seeds are shown, too."
)


def lead(shown: Shown, where: Markdown) -> Markdown:
    """Draws the page's answer; returns the model's task score and what it is compared with, in words.

    Args:
        shown: the page.
        where: of how many cells a linear probe still reads a property; if empty, the answer is about the first panel.
    """
    view = shown.view
    answer(
        filled(
            "{model} was fine-tuned from {base}. {answer}",
            model=view.called(shown.model),
            base=view.called(shown.base),
            answer=where or _at_the_end(shown),
        )
    )
    return joined("\n\n", [Markdown(_WHAT), joined(" ", [one for one in _intro(shown) if one])])


#: Panel -> the sentence on its value at the last layer.
_ANSWERS = {
    panels.FACTS: "At its last layer it keeps **{value:.1f} %** of the facts that the base knows there{control}.",
    panels.EDGES: "At its last layer edge probes reach an F1 of **{value:.1f} %**, the base's {base:.1f} %{control}.",
}


def _at_the_end(shown: Shown) -> Markdown:
    """The last layer's value of the first panel that has a sentence, with that of the control; empty if there is none."""
    for panel, words in _ANSWERS.items():
        rows = shown.found[shown.found["panel"] == panel].dropna(subset=["value"]).sort_values("layer")
        if len(rows):
            last = rows.iloc[-1]
            beside = pd.notna(last["control_value"])
            control = filled("; the control {value:.1f} %", value=100 * last["control_value"]) if beside else "; no control is stored"
            return filled(words, value=100 * last["value"], base=100 * last["base_value"], control=control)
    return Markdown("")


def draw_first(shown: Shown) -> None:
    """The first panels, as many as fit into a first screen."""
    first = list(dict.fromkeys(shown.found["panel"]))[:FIRST]
    if first:
        _figure(shown, shown.found[shown.found["panel"].isin(first)], "fine-tuning-first")


def draw(shown: Shown) -> None:
    """All panels, and how to read them."""
    shown.view.contents.section("Layer by layer")
    if len(shown.found):
        _figure(shown, shown.found, "fine-tuning-layers")
        _meanings()
    _missing(shown)


def _intro(shown: Shown) -> list[Markdown]:
    """The task score, and the control."""
    view = shown.view
    beside = (
        filled(
            "Grey is {control}, which was trained {long} on the base's own text, without a task.",
            control=view.called(shown.control),
            long="for as long" if as_long(shown.control, [shown.model])[0] else "further, though not known to be for as long,",
        )
        if shown.control
        else Markdown("It is the control itself: it was trained further on its base's own text.")
        if shown.model in shown.controls
        else Markdown("No control is stored, so nothing here shows how much any further training would change.")
    )
    return [task_words(view, shown.model), beside]


def _figure(shown: Shown, found: pd.DataFrame, name: str) -> None:
    view = shown.view
    names = [view.label(shown.model), view.label(shown.base), view.label(shown.control) if shown.control else ""]
    colours = [view.all_colours[shown.model], view.all_colours.get(shown.base, "#0072B2")]
    seeds = bool((found["seeds"].fillna(1) > 1).any())
    blocks.figure(
        drawing(evidence_panels, found, names=names, colours=colours, tasks=shown.titles),
        table=found,
        stamp=shown.stamp("what fine-tuning changed by layer"),
        name=name,
        call=_call(shown) if found is shown.found else "",
        caption=filled(
            "Point at a layer to read it in all panels.{control} Bands are 95 % intervals.{seeds}{panels} {key}",
            panels=" ".join(["", *[words for panel, words in _WORDS.items() if found["panel"].str.startswith(panel).any()]])
            + _edge_words(found),
            control=" Thin and grey: the control; grey points changed no more than it did." if shown.control else "",
            seeds=" Whiskers: the range over several fine-tuning seeds." if seeds else "",
            key=marks_once(view, [shown.model, *([shown.control] if shown.control else [])]),
        ),
        alt=f"All that fine-tuning changed in {names[0]}, layer by layer",
    )


def _call(shown: Shown) -> str:
    facts = {} if shown.facts is None else {"head": shown.facts.head, "probe_set": shown.facts.probe_set, "k": shown.facts.k}
    return plot("changes", model=shown.model, **facts, filtered=shown.view.filtered)


def _meanings() -> None:
    """What the panels measure."""
    with st.expander("What the panels measure", icon=":material/info:"):
        lines = [
            filled("- **{name}** ({unit}): {words}", name=one.label, unit=one.unit, words=one.definition)
            for one in map(METRICS.get, _METRICS)
            if one
        ]
        st.markdown(joined("\n", lines))


def _edge_words(found: pd.DataFrame) -> str:
    of = found.loc[found["panel"] == panels.EDGES, "of"]
    if of.empty:
        return ""
    kind, tasks = of.iloc[0].split(": ")
    reads = "each layer alone" if kind == "at" else "all layers up to one"
    return f" Edge probes read {reads}, on {listing(tasks.split(', '))}."


def _missing(shown: Shown) -> None:
    """The evidence that is not stored for the model, and the commands that make it."""
    there = tuple(set(shown.found["panel"])) if len(shown.found) else ()
    lacking = {name: command for name, (wanted, command) in _KINDS.items() if not any(panel.startswith(wanted) for panel in there)}
    if not lacking:
        return
    st.info(
        filled(
            "Not measured for {model}: {what}. {these} it:",
            model=shown.view.called(shown.model),
            what=joined("; ", lacking),
            these="This command measures" if len(set(lacking.values())) == 1 else "These commands measure",
        ),
        icon=":material/info:",
    )
    st.code("\n".join(dict.fromkeys(f"{command} {shown.model}" for command in lacking.values())), language="shell", wrap_lines=True)
