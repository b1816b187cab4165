"""The first screen: of 100 facts that the base knew, one bar per fine-tuned model, next to the yardstick."""

import pandas as pd
import streamlit as st

from probing.core.forgetting.excess import ABOVE, BELOW, UNKNOWN
from probing.core.forgetting.ways import NOT_RECOVERED, RELEARNED, USUAL_STEPS, WAYS
from probing.figures.forgetting.outcome_bars import outcome_bars
from probing.reports.forgetting.outcome import KEPT
from probing.ui.forgetting.page_view import Shown
from probing.ui.widgets import blocks
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.glossary import answer
from probing.ui.widgets.markdown import Markdown, filled
from probing.ui.widgets.paper.calls import plot

#: Verdict on a way -> the word that it allows.
WORDS = {
    ABOVE: "out of reach",
    BELOW: "not above every yardstick",
    UNKNOWN: "cannot tell",
}


def draw(shown: Shown) -> None:
    """The sentence, the bars and the excess over wrong answers; then every way next to its yardsticks."""
    answer(_sentence(shown))
    blocks.figure(
        drawing(outcome_bars, shown.outcome, labels={model: shown.view.label(model) for model in shown.runs["model"]}),
        table=shown.outcome,
        stamp=shown.stamp("outcome of known facts", whole=True),
        name="forgetting-outcome",
        call=plot("forgetting", probe_set=shown.run["probe_set"], k=int(shown.run["k"])),
        caption="Each lost fact counts at the cheapest way that brings it back. Out of reach: by a way above every yardstick, some facts "
        "as guesses. Hatched: the way is not above every yardstick. Dotted: cannot tell. A way back shows how near an answer is; recovered "
        "by training is not the same as used.",
        alt="Of 100 known facts, how many each model kept, and how the lost ones come back",
    )
    shown.view.introduce()
    _ways(shown)


def _sentence(shown: Shown) -> Markdown:
    parts, run = shown.parts, shown.run
    above = sum(parts.loc[way, "per_100"] for way in WAYS if parts.loc[way, "verdict"] == ABOVE)
    return filled(
        "Of 100 facts that {base} knew, {model} kept **{kept:.0f}**. Another **{above:.0f}** were out of reach, and **{left:.0f}** are not "
        "recovered by any of these ways. {yardstick}",
        base=shown.view.called(run["base"]),
        model=shown.view.label(shown.model),
        kept=parts.loc[KEPT, "per_100"],
        above=above,
        left=parts.loc[NOT_RECOVERED, "per_100"],
        yardstick=_yardstick(parts.loc[RELEARNED]),
    )


def _yardstick(row: pd.Series) -> Markdown:
    """The excess of relearning over wrong answers, in words."""
    if pd.isna(row["wrong_excess"]):
        return Markdown("There are no wrong answers to compare relearning with, so we cannot tell memory from guessing.")
    points = {name: 100 * row[f"wrong_{name}"] for name in ("excess", "low", "high")}
    if points["low"] <= 0 <= points["high"]:
        return filled(
            "Whether relearning brings right answers back more often than equally confident wrong guesses: cannot tell ({excess:+.1f} "
            "points, {low:+.1f} to {high:+.1f}).",
            **points,
        )
    more = "more" if points["low"] > 0 else "less"
    return filled(
        "Relearning brings right answers back {more} often than equally confident wrong guesses: {excess:+.1f} points ({low:+.1f} to "
        "{high:+.1f}).",
        more=more,
        **points,
    )


def _ways(shown: Shown) -> None:
    shown.view.contents.section("Each way next to its yardsticks")
    st.markdown(
        filled(
            "A wrong answer, or a fact that neither model knew, cannot have been forgotten; a body with random weights holds nothing. "
            "What a way brings back there shows how much comes back for other reasons. Relearning is shown after {steps} steps on other "
            "facts of other subjects.",
            steps=USUAL_STEPS,
        )
    )
    table = shown.parts.loc[list(WAYS)].reset_index()
    points = {
        "wrong_excess": "over wrong answers",
        "wrong_low": "from",
        "wrong_high": "to",
        "never_excess": "over never known",
        "never_low": "from ",
        "never_high": "to ",
        "random_excess": "over a random body",
        "random_low": "from  ",
        "random_high": "to  ",
    }
    top = pd.DataFrame({"way": table["part"], "verdict": table["verdict"].map(WORDS), "cheapest for": table["n"]})
    top = top.assign(**{words: 100 * table[name] for name, words in points.items()})
    blocks.table_with_download(
        table,
        shown=top,
        stamp=shown.stamp("ways back next to their yardsticks"),
        name="forgetting-ways",
        height="content",
        column_config={
            "way": st.column_config.TextColumn(pinned=True),
            "cheapest for": st.column_config.NumberColumn(format="%d facts"),
            **{words: st.column_config.NumberColumn(words.strip(), format="%+.1f") for words in points.values()},
        },
    )
