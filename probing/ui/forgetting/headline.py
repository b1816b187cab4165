"""The first screen: of 100 facts that the base knew, one bar per fine-tuned model; and every way next to its yardsticks."""

import pandas as pd
import streamlit as st

from probing.core.forgetting.memory import NO_TEST
from probing.core.forgetting.ways import KEPT, NOT_RECOVERED, RELEARNED, USUAL_STEPS, called, usual_protocol
from probing.figures.forgetting.outcome_bars import outcome_bars
from probing.reports.forgetting.outcome import in_words, ways
from probing.reports.forgetting.runs import usual
from probing.ui.forgetting.page_view import Shown
from probing.ui.widgets import blocks
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.glossary import answer
from probing.ui.widgets.markdown import Markdown, filled, joined
from probing.ui.widgets.paper.calls import plot

_POINTS = ("share", "yardstick_share", "difference", "low", "high")


def draw(shown: Shown) -> None:
    """The sentence and the bars."""
    answer(_sentence(shown))
    blocks.figure(
        drawing(outcome_bars, shown.outcome, labels={model: shown.view.label(model) for model in shown.runs["model"]}),
        table=shown.outcome,
        stamp=shown.stamp("outcome of known facts", whole=True),
        name="forgetting-outcome",
        call=plot("forgetting", probe_set=shown.run["probe_set"], k=int(shown.run["k"])),
        caption=f"Each lost fact counts once, at the first way that brings it back, relearning within {USUAL_STEPS} steps. That it comes "
        "back does not show that it is remembered.",
        alt="Of 100 known facts, how many each model kept, and how the lost ones come back",
    )
    shown.view.introduce()


def _sentence(shown: Shown) -> Markdown:
    """What became of the known facts, and the test of memory of relearning."""
    kept, left = (shown.parts.loc[part, "per_100"] for part in (KEPT, NOT_RECOVERED))
    return filled(
        "Of 100 facts that {base} knew, {model} keeps **{kept:.0f}**; **{back:.0f}** come back by one of these ways, **{left:.0f}** do "
        "not. {memory}",
        base=shown.view.called(shown.run["base"]),
        model=shown.view.label(shown.model),
        kept=kept,
        back=100 - kept - left,
        left=left,
        memory=_memory(shown.tests),
    )


def _memory(tests: pd.DataFrame) -> Markdown:
    found = tests[tests["protocol"] == usual_protocol(RELEARNED)]
    if found.empty:
        return Markdown(NO_TEST)
    return filled(
        "After relearning, stated facts minus equally confident ones that the text never had: {said}; of the group, not of single facts.",
        said=in_words(next(found.itertuples())),
    )


def ways_back(shown: Shown) -> None:
    """Every way next to its yardsticks."""
    shown.view.contents.section("Each way next to its yardsticks")
    notes = [filled("No layers are put back: {note}. ", note=note) for note in shown.parts["note"] if note]
    st.markdown(
        filled(
            "{notes}In per cent, and points with 95 % intervals; relearning after {steps} steps on other facts with other answers. Wrong "
            "answers and answers that the text never had are compared at equal confidence.",
            notes=joined("", notes),
            steps=USUAL_STEPS,
        )
    )
    table = usual(shown.report(ways, shown.of_model))
    blocks.table_with_download(
        table,
        shown=table[["way", "yardstick", *_POINTS, "n", "n_yardstick"]].assign(**{name: 100 * table[name] for name in _POINTS}),
        stamp=shown.stamp("ways back next to their yardsticks"),
        name="forgetting-ways",
        height="content",
        column_config={
            "way": st.column_config.TextColumn(pinned=True),
            "share": st.column_config.NumberColumn("lost facts, %", format="%.1f"),
            "yardstick_share": st.column_config.NumberColumn("yardstick, %", format="%.1f"),
            "n": "n lost",
            "n_yardstick": "n yardstick",
            **{name: st.column_config.NumberColumn(name, format="%+.1f") for name in ("difference", "low", "high")},
        },
    )
    tests = shown.tests
    if tests.empty:
        return
    st.markdown("**Memory, or good guesses?** Stated facts against right answers that the text never had, at equal confidence.")
    blocks.table_with_download(
        tests,
        shown=pd.DataFrame({"way": [*map(called, tests["way"], tests["protocol"])], "test": [*map(in_words, tests.itertuples())]}),
        stamp=shown.stamp("test of memory"),
        name="forgetting-memory",
        height="content",
    )
