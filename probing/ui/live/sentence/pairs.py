"""Minimal pairs: which of two words is more probable at a gap, layer by layer."""

import numpy as np
import pandas as pd
import streamlit as st

from probing.core.changes.minimal_pairs import KINDS, MinimalPair, by_guessing, read_minimal_pairs, typed_pair
from probing.core.errors import ProbingError
from probing.core.questions import with_masks
from probing.figures import theme
from probing.figures.layer_lines import layer_lines
from probing.ui.frame import selection
from probing.ui.frame.page import View
from probing.ui.live.answer_view import colours_of
from probing.ui.live.selection import LiveSelection
from probing.ui.live.sentence import sentence_models
from probing.ui.live.sentence.controls import Two
from probing.ui.widgets import blocks
from probing.ui.widgets.export import Stamp
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.markdown import Markdown, filled, joined

COLUMNS = ["pair", "kind", "good", "good_word", "bad", "bad_word", "model", "layer", "good_logp", "bad_logp", "difference", "right"]


def draw(view: View, two: Two | None) -> None:
    """Draws the results for all shipped pairs together, and for one pair."""
    if two is None:
        return
    try:
        shipped = read_minimal_pairs()
    except ProbingError as error:
        blocks.problem(error)
        return
    st.caption("Two words for one gap, or one gap in two sentences: a layer is right if it gives the better one more probability.")
    with st.spinner("Asking the pairs …", show_time=True):
        table = _table(two, shipped)
    st.markdown(joined("  \n", _lines(view, two, table)))
    view.introduce()
    view.contents.section("All pairs by layer")
    _all(view, two, table, len(shipped))
    view.contents.section("One pair by layer")
    _one(view, two, shipped, table)


def _table(two: Two, pairs: list[MinimalPair]) -> pd.DataFrame:
    """One row per pair, model and layer; ``right`` is None if the pair cannot be asked of the model."""
    rows = []
    for choice in two.all:
        found = sentence_models.scores(choice, tuple(pairs))
        for number, (pair, logp) in enumerate(zip(pairs, found.logp, strict=True), start=1):
            what = (number, pair.kind, pair.good.sentence, pair.good.word, pair.bad.sentence, pair.bad.word, choice.name)
            for layer, (good, bad) in enumerate(logp):
                right = None if np.isnan(good) else bool(good > bad)
                rows.append((*what, layer, float(good), float(bad), float(good - bad), right))
    return pd.DataFrame(rows, columns=COLUMNS)


def _lines(view: View, two: Two, table: pd.DataFrame) -> list[Markdown]:
    """For each model, one line: the number of pairs that its last layer has right, by kind, with chance."""
    lines = []
    for choice in two.all:
        model_rows = table[(table["model"] == choice.name) & table["right"].notna()]
        last = model_rows[model_rows["layer"] == model_rows["layer"].max()]
        if last.empty:
            lines.append(filled("None of the pairs can be asked of {model}.", model=view.called(choice.name)))
            continue
        low, high = by_guessing(len(last))
        kinds = [
            filled("{kind} {right} of {n}", kind=KINDS.get(str(kind), str(kind)), right=int(rows["right"].sum()), n=len(rows))
            for kind, rows in last.groupby("kind", sort=False)
        ]
        lines.append(
            filled(
                "The last layer of {model} has **{right} of {n}** pairs right ({kinds}; chance: {half:g}, 95 % interval {low} to {high}).",
                model=view.called(choice.name),
                right=int(last["right"].sum()),
                n=len(last),
                kinds=joined(", ", kinds),
                half=len(last) / 2,
                low=low,
                high=high,
            )
        )
    return lines


def _all(view: View, two: Two, table: pd.DataFrame, pairs: int) -> None:
    known = table[table["right"].notna()]
    right = known.assign(right=known["right"].astype(int)).groupby(["model", "layer"], sort=False, as_index=False)["right"].sum()
    low, high = by_guessing(pairs)
    blocks.figure(
        drawing(_right_lines, right.assign(name=right["model"].map(view.label)), _colours(view, two), pairs, (low, high)),
        table=table,
        stamp=Stamp(f"{', '.join(one.name for one in two.all)}, {pairs} minimal pairs"),
        name="live-minimal-pairs",
        caption="Number of pairs in which the layer gives the better word more probability, read by the pre-trained head (logit lens). "
        f"Dotted: chance, {pairs / 2:g}. Grey band: {low} to {high}, 95 % of results of guessing.",
        alt="Number of minimal pairs right, by layer",
    )
    for choice in two.all:
        left = table.loc[(table["model"] == choice.name) & table["right"].isna(), "pair"].nunique()
        if left:
            st.caption(filled("{n} pairs have words unknown to {model}, so they are left out.", n=left, model=view.called(choice.name)))


def _right_lines(right: pd.DataFrame, colours: dict[str, str], pairs: int, guessed: tuple[int, int]):
    figure = layer_lines(right, "right", f"%{{y}} of {pairs}", colours=colours)
    figure.add_hline(y=pairs / 2, line={"color": theme.NEUTRAL, "width": 1.5, "dash": "dot"})
    figure.add_hrect(*guessed, fillcolor=theme.NEUTRAL, opacity=0.1, line_width=0, layer="below")
    figure.update_yaxes(title_text=f"right, of {pairs}", range=[-0.5, pairs + 0.5])
    return figure


def _colours(view: View, two: Two) -> dict[str, str]:
    return {view.label(name): colour for name, colour in colours_of(view, [one.name for one in two.all]).items()}


def _one(view: View, two: Two, shipped: list[MinimalPair], table: pd.DataFrame) -> None:
    """Draws one pair: the difference of its two log-probabilities by layer."""
    number, own = _chosen(view, shipped)
    if not number:
        if own is None:
            return
        refused = {why for choice in two.all for why in sentence_models.scores(choice, (own,)).why if why}
        for why in sorted(refused):
            st.warning(filled("{why}", why=why), icon=":material/report:")
        pair_rows, pair = _table(two, [own]), own
    else:
        pair_rows, pair = table[table["pair"] == number], shipped[number - 1]
    pair_rows = pair_rows.dropna(subset=["difference"])
    st.markdown(
        filled(
            "**{good}** in “{sentence}” should be more probable than **{bad}** in “{other}”.",
            good=pair.good.word,
            sentence=pair.good.sentence,
            bad=pair.bad.word,
            other=pair.bad.sentence,
        )
        if pair.good.sentence != pair.bad.sentence
        else filled(
            "“{sentence}”: **{good}** should be more probable than **{bad}**.",
            sentence=pair.good.sentence,
            good=pair.good.word,
            bad=pair.bad.word,
        )
    )
    if pair_rows.empty:
        return
    blocks.figure(
        drawing(_difference_lines, pair_rows.assign(name=pair_rows["model"].map(view.label)), _colours(view, two)),
        table=pair_rows,
        stamp=Stamp(f"{', '.join(one.name for one in two.all)}, {pair.good.text} / {pair.bad.text}"),
        name="live-minimal-pair",
        caption="Above 0, the better word is more probable; 0 is chance. Words of several word pieces are at a disadvantage.",
        alt="Difference of log-probability by layer",
    )


def _difference_lines(lines: pd.DataFrame, colours: dict[str, str]):
    figure = layer_lines(lines, "difference", "%{y:.2f} nats", colours=colours)
    figure.add_hline(y=0, line={"color": theme.NEUTRAL, "width": 1.5, "dash": "dot"})
    figure.update_yaxes(title_text="log-probability, better − worse, nats")
    return figure


def _chosen(view: View, shipped: list[MinimalPair]) -> tuple[int, MinimalPair | None]:
    """Draws the choice of a pair; returns the number of a shipped pair and None, or 0 and the user's own pair, if it is complete."""
    page, own = view.page, selection.of(LiveSelection)
    number = own.minimal_pair if own.minimal_pair <= len(shipped) else 1
    selection.bound(
        st.selectbox,
        "Pair",
        "minimal_pair",
        page,
        value=number,
        options=list(range(len(shipped) + 1)),
        format_func=lambda one: _named(one, shipped[one - 1]) if one else "a pair of your own",
    )
    left, right = st.columns(2)
    with left:
        selection.bound(
            st.text_input,
            "Your own pair: the better sentence, or one with a gap",
            "likelier",
            page,
            max_chars=400,
            resets={"minimal_pair": 0},
            placeholder="The dogs in the garden bark .",
        )
    with right:
        selection.bound(
            st.text_input,
            "The worse sentence, or two words: better, worse",
            "unlikelier",
            page,
            max_chars=400,
            resets={"minimal_pair": 0},
            placeholder="The dogs in the garden barks .",
        )
    if number:
        return number, None
    if not (own.likelier.strip() and own.unlikelier.strip()):
        st.info("Type two sentences that differ in one place, or a sentence with a gap and two words.", icon=":material/edit:")
        return 0, None
    try:
        return 0, typed_pair(with_masks(" ".join(own.likelier.split())), " ".join(own.unlikelier.split()))
    except ProbingError as error:
        blocks.problem(error)
        return 0, None


def _named(number: int, pair: MinimalPair) -> str:
    words = pair.good.text if pair.good.sentence != pair.bad.sentence else pair.good.sentence
    return f"{number}. {words} ({pair.good.word} / {pair.bad.word})" if pair.good.word != pair.bad.word else f"{number}. {words}"
