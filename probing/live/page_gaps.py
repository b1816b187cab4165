"""The tab of minimal pairs: which of two words is more probable at a gap, layer by layer."""

from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from probing.changes.minimal_pairs import KINDS, MinimalPair, by_guessing, read_minimal_pairs, typed_pair
from probing.changes.report import pair_rows, right_by_layer
from probing.choices import AskSelection
from probing.kernel.app import blocks, filters, selection
from probing.kernel.app.figure_cache import Stamp, drawing
from probing.kernel.app.frame import View
from probing.kernel.app.live_models import Choice
from probing.kernel.app.texts import filled
from probing.kernel.errors import ProbingError
from probing.kernel.figures import theme
from probing.kernel.figures.axis import layer_lines
from probing.kernel.questions import with_masks
from probing.live.page_models import choose, choose_others, chosen, labelled_colours, ready
from probing.live.page_models_kept import scores

MODELS = 2
CAPTION = (
    "Pairs in which the layer gives the better word more probability. Grey: what guessing reaches in 95 of 100 cases."
)
HOW = (
    "A pair is two words for one gap, or one gap in two sentences; the better word should be the more probable one."
    " Every layer is read by the model's own output layer (logit lens). Dotted: half of the pairs, as by guessing. A"
    " model whose line ends in the grey band is not better than guessing. Data: every pair with its kind; pairs with"
    " words that a model does not know are empty there and count for none."
)
ONE = "Above 0 the better word is more probable. Words of several pieces are at a disadvantage."


def draw(view: View) -> None:
    """Draws the results for all shipped pairs together, and for one pair."""
    with filters.bar(view, own={"live_models": "Compare with"}, label="Options") as place:
        choose(view)
        with place:
            choose_others(view, MODELS)
    try:
        shipped = read_minimal_pairs()
    except ProbingError as error:
        blocks.problem(error)
        return
    choices = ready(view, chosen(view, MODELS))
    if not choices:
        return
    with st.spinner("Asking the pairs …", show_time=True):
        table = _rows(choices, shipped)
    right = right_by_layer(table)
    if right.empty:
        st.info("None of the pairs can be asked of these models.", icon=":material/info:")
    else:
        _all(view, choices, table, right)
    st.header("One pair")
    _one(view, choices, shipped, table)


def _rows(choices: list[Choice], pairs: list[MinimalPair]) -> pd.DataFrame:
    return pd.concat(
        [pair_rows(choice.name, pairs, scores(choice, tuple(pairs)).logp, KINDS) for choice in choices],
        ignore_index=True,
    )


def _all(view: View, choices: list[Choice], table: pd.DataFrame, right: pd.DataFrame) -> None:
    last = right[right["layer"] == right["layer"].max()].iloc[0]
    n = int(last["pairs"])
    words = "{model} has {right} of {n} pairs right at its last layer; guessing reaches up to {most}."
    blocks.sentence(
        filled(words, model=view.name(last["model"]), right=int(last["right"]), n=n, most=by_guessing(n)[1])
    )
    colours = labelled_colours(view, [choice.name for choice in choices])
    blocks.figure(
        drawing(right_lines, right.assign(name=right["model"].map(view.label)), colours, n, by_guessing(n)),
        table=table,
        stamp=Stamp(f"{', '.join(choice.name for choice in choices)}, {n} minimal pairs"),
        name="live-minimal-pairs",
        caption=CAPTION,
        how=HOW,
        alt="Number of minimal pairs right, by layer",
    )


def right_lines(right: pd.DataFrame, colours: dict[str, str], pairs: int, guessed: tuple[int, int]) -> go.Figure:
    """Pairs right by layer, with what guessing reaches."""
    figure = layer_lines(right, "right", f"%{{y}} of {pairs}", colours=colours)
    figure.add_hline(y=pairs / 2, line={"color": theme.NEUTRAL, "width": 1.5, "dash": "dot"})
    figure.add_hrect(*guessed, fillcolor=theme.NEUTRAL, opacity=0.1, line_width=0, layer="below")
    figure.update_yaxes(title_text=f"right, of {pairs} pairs", range=[-0.5, pairs + 0.5])
    return figure


def _one(view: View, choices: list[Choice], shipped: list[MinimalPair], table: pd.DataFrame) -> None:
    """Draws one pair: the difference of its two log-probabilities by layer."""
    number, own = _chosen(view, choices, shipped, table)
    pair = shipped[number - 1] if number else own
    if pair is None:
        return
    if not number:
        for why in sorted({why for choice in choices for why in scores(choice, (pair,)).why if why}):
            st.warning(filled("{why}", why=why), icon=":material/report:")
    rows = (table[table["pair"] == number] if number else _rows(choices, [pair])).dropna(subset=["difference"])
    st.markdown(filled("“{good}” should be more probable than “{bad}”.", good=pair.good.text, bad=pair.bad.text))
    if rows.empty:
        return
    colours = labelled_colours(view, [choice.name for choice in choices])
    blocks.figure(
        drawing(difference_lines, rows.assign(name=rows["model"].map(view.label)), colours),
        table=rows,
        stamp=Stamp(f"{', '.join(choice.name for choice in choices)}, {pair.good.text} / {pair.bad.text}"),
        name="live-minimal-pair",
        caption=ONE,
        alt="Difference of log-probability by layer",
    )


def difference_lines(lines: pd.DataFrame, colours: dict[str, str]) -> go.Figure:
    """The better word's log-probability minus the worse one's, by layer."""
    figure = layer_lines(lines, "difference", "%{y:.2f} nats", colours=colours)
    figure.add_hline(y=0, line={"color": theme.NEUTRAL, "width": 1.5, "dash": "dot"})
    figure.update_yaxes(title_text="better minus worse word, nats (log-probability)")
    return figure


def _chosen(
    view: View, choices: list[Choice], shipped: list[MinimalPair], table: pd.DataFrame
) -> tuple[int, MinimalPair | None]:
    """Draws the choice of a pair: the number of a shipped one, or 0 and the user's own if it is complete."""
    own = selection.of(AskSelection)
    right = table[
        (table["model"] == choices[0].name) & (table["layer"] == table["layer"].max()) & table["right"].eq(True)
    ]
    usual = int(right["pair"].iloc[0]) if len(right) else 1
    number = usual if own.minimal_pair is None or own.minimal_pair > len(shipped) else own.minimal_pair
    selection.bound(
        st.selectbox,
        "Pair",
        "minimal_pair",
        view.page,
        value=number,
        options=list(range(len(shipped) + 1)),
        format_func=lambda one: _named(one, shipped[one - 1]) if one else "a pair of your own",
        label_visibility="collapsed",
    )
    labels = {
        "likelier": ("Your own: the better sentence, or one with a gap", "The dogs in the garden bark ."),
        "unlikelier": ("The worse sentence, or two words: better, worse", "The dogs in the garden barks ."),
    }
    for place, (name, (label, example)) in zip(st.columns(2), labels.items(), strict=True):
        with place:
            more: dict[str, Any] = {"max_chars": 400, "resets": {"minimal_pair": 0}, "placeholder": example}
            selection.bound(st.text_input, filled("{label}", label=label), name, view.page, **more)
    if number:
        return number, None
    if not (own.likelier.strip() and own.unlikelier.strip()):
        st.info(
            "Type two sentences that differ in one place, or a sentence with a gap and two words.",
            icon=":material/edit:",
        )
        return 0, None
    try:
        return 0, typed_pair(with_masks(" ".join(own.likelier.split())), " ".join(own.unlikelier.split()))
    except ProbingError as error:
        blocks.problem(error)
        return 0, None


def _named(number: int, pair: MinimalPair) -> str:
    words = pair.good.text if pair.good.sentence != pair.bad.sentence else pair.good.sentence
    return (
        f"{number}. {words} ({pair.good.word} / {pair.bad.word})"
        if pair.good.word != pair.bad.word
        else f"{number}. {words}"
    )
