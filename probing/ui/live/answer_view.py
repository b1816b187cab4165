"""The predictions of every layer of one or several models for a sentence, drawn."""

import math
from collections.abc import Mapping

import pandas as pd
import streamlit as st

from probing.core.questions import Answer
from probing.figures import theme
from probing.figures.model_looks import usual_colour
from probing.figures.tokens.entropy import entropy_by_layer, entropy_lines
from probing.figures.tokens.rank_lines import probability_lines, rank_lines
from probing.figures.tokens.token_grid import token_grid
from probing.reports.live_answer import entropy_of, tokens_of, tracked_ranks, watched_of
from probing.ui.frame import selection
from probing.ui.frame.page import View
from probing.ui.live import headline
from probing.ui.live.selection import SCALES, LiveSelection
from probing.ui.widgets import blocks
from probing.ui.widgets.export import Stamp
from probing.ui.widgets.markdown import escape, filled, joined, listing

#: More lines than this in one figure cannot be distinguished.
MAX_LINES = 12
DASHES = ("solid", "dot", "dash", "dashdot", "longdash", "longdashdot")
RANK_CAPTION = "Rank 1 is on top: the layer predicts this word."


def colours_of(view: View, models: list[str]) -> dict[str, str]:
    """Model -> colour, as on every page; models that are not in the store get unused colours."""
    colours = {name: colour for name, colour in view.colours.items() if name in models}
    for name in models:
        if name not in colours:
            free = [usual_colour(name), *theme.PALETTE]
            colours[name] = next((colour for colour in free if colour and colour not in colours.values()), theme.NEUTRAL)
    return colours


def best_word(got: Answer) -> str:
    """The last layer's best token."""
    return got.layers[-1].tokens[0].token


def draw(view: View, answers: Mapping[str, Answer], suffix: str = "") -> None:
    """Draws the predictions of one or several models for one sentence.

    Args:
        view: the page.
        answers: model -> its predictions.
        suffix: distinguishes the figures of several gaps; controls are drawn only without a suffix.
    """
    got = list(answers.values())
    # With several models chosen, only one of them may have an answer.
    several = len(got) > 1 or bool(selection.of(LiveSelection).live_models)
    says = [headline.says(view, one, several=several) for one in got]
    if sentence := None if suffix else headline.stored(view, got[0].prompt):
        says.append(sentence)
    st.markdown(joined("  \n", says), help=headline.HELP)
    headline.notes(got)
    stamp = Stamp(f"{', '.join(answers)}, {got[0].head} heads, {got[0].prompt}")
    _grids(view, got, stamp, suffix)
    if not suffix:
        view.introduce()
    view.contents.section("Tokens by layer", linked=not suffix)
    _followed(view, got, stamp, suffix)
    view.contents.section("Entropy by layer", linked=not suffix)
    _entropy(view, got, stamp, suffix)
    reads = "model reads" if len(got) == 1 else "models read"
    view.contents.section(f"The sentence as the {reads} it", linked=not suffix)
    read: dict[tuple[str, ...], list[str]] = {}
    for one in got:
        read.setdefault(one.pieces, []).append(view.label(one.model))
    for pieces, models in read.items():
        st.code("  ".join(pieces), language=None, wrap_lines=True)
        st.caption(filled("{n} word pieces.", n=len(pieces)) + (filled(" {names}", names=listing(models)) if len(read) > 1 else ""))


def _grids(view: View, got: list[Answer], stamp: Stamp, suffix: str) -> None:
    """Draws one grid per model, two per row; on a narrow screen one per row."""
    top = selection.of(LiveSelection).top
    tracked = list(dict.fromkeys(word.token for one in got for word in one.layers[-1].watched))
    caption = filled(
        "The predictions of each layer, best first, each read by a decoding head. The colour is the probability{framed}.",
        framed=f"; tracked tokens are framed: {', '.join(tracked)}" if tracked else "",
    )
    # Ten tokens of two models side by side would be too narrow to read.
    abreast = 1 if len(got) == 1 or top > 5 else 2
    for first in range(0, len(got), abreast):
        row = got[first : first + abreast]
        for number, (place, one) in enumerate(zip(st.columns(abreast) if abreast > 1 else [st.container()], row, strict=False), first):
            tokens = tokens_of(one)
            with place:
                if len(got) > 1:
                    st.markdown(filled("**{model}**", model=view.called(one.model)))
                own_stamp = Stamp(f"{one.model}, {one.head} heads, {one.prompt}")
                blocks.figure(
                    token_grid(tokens, columns=top, dark=blocks.dark(), **tracked_ranks(one)),
                    table=tokens.drop(columns="framed"),
                    stamp=own_stamp,
                    name=f"live-tokens{f'-model-{number + 1}' if len(got) > 1 else ''}{suffix}",
                    caption=_work(one) if len(got) > 1 else "",
                    alt=f"Top tokens of every layer of {view.label(one.model)} for: {one.prompt}",
                )
    st.caption(filled("{caption} {work}", caption=caption, work="" if len(got) > 1 else _work(got[0])))


def _work(one: Answer) -> str:
    """Device, time and number of layers."""
    return f"{one.device} · {one.seconds * 1000:,.0f} ms · {len(one.layers)} layers at once"


def _followed(view: View, got: list[Answer], stamp: Stamp, suffix: str) -> None:
    table = pd.concat([watched_of(one) for one in got], ignore_index=True)
    if table.empty:
        st.caption("No tokens are tracked (see More options). You could track one of these:")
        best = dict.fromkeys(layer.tokens[0].token for one in got for layer in one.layers)
        with st.container(horizontal=True):
            for number, word in enumerate([word for word in best if word.isalpha()][-4:]):
                st.button(escape(word), key=f"live.follow{suffix}.{number}", on_click=selection.update, kwargs={"watch": word})
        return
    if not suffix:
        selection.bound(st.segmented_control, "Show", "scale", view.page, options=list(SCALES), required=True)
    followed, colours, dashes = named(view, table, [one.model for one in got])
    if len(followed) < len(table):
        st.caption(
            filled(
                "More than {most} lines cannot be distinguished, so only these words are drawn: {names}.",
                most=MAX_LINES,
                names=listing(list(dict.fromkeys(followed["word"])), 6),
            )
        )
    by_rank = selection.of(LiveSelection).scale == "rank"
    draw_lines = rank_lines if by_rank else probability_lines
    blocks.figure(
        draw_lines(followed, colours=colours, dashes=dashes),
        table=table,
        stamp=stamp,
        name=f"live-followed{suffix}",
        caption=RANK_CAPTION if by_rank else "Probability of the word at each layer, over the whole vocabulary.",
        alt="Followed words by layer",
    )


def named(view: View, table: pd.DataFrame, models: list[str]) -> tuple[pd.DataFrame, dict[str, str] | None, dict[str, str] | None]:
    """Names, colours and dashes of lines: with one model, words differ in colour; with several, models in colour and words in dashes.

    Returns:
        The rows to draw with ``name``, name -> colour, name -> dash; None means the figure's defaults.
    """
    if len(models) == 1:
        return table.assign(name=table["word"]), None, None
    words = list(dict.fromkeys(table["word"]))[: max(MAX_LINES // len(models), 1)]
    lines = table[table["word"].isin(words)]
    lines = lines.assign(
        name=[
            f"{word} · {view.label(model)}" if len(words) > 1 else view.label(model)
            for model, word in zip(lines["model"], lines["word"], strict=True)
        ]
    )
    of_model, colours, dashes = colours_of(view, models), {}, {}
    for name, model, word in lines[["name", "model", "word"]].drop_duplicates().itertuples(index=False):
        colours[name], dashes[name] = of_model[model], DASHES[words.index(word)]
    return lines, colours, dashes


def _entropy(view: View, got: list[Answer], stamp: Stamp, suffix: str) -> None:
    entropies = pd.concat([entropy_of(one) for one in got], ignore_index=True)
    models = [one.model for one in got]
    if len(models) > 1:
        lines = entropies.assign(name=entropies["model"].map(view.label))
        drawn = entropy_lines(
            lines,
            colours={view.label(name): colour for name, colour in colours_of(view, models).items()},
            dashes={view.label(name): theme.line_dash(name in view.controls) for name in models},
        )
    else:
        drawn = entropy_by_layer(entropies)
    blocks.figure(
        drawn,
        table=entropies,
        stamp=stamp,
        name=f"live-entropy{suffix}",
        caption=f"Entropy of the layer's probabilities over the whole vocabulary, in nats: 0 if one token has probability 1, "
        f"{math.log(got[0].vocabulary):.1f} if all {got[0].vocabulary:,} tokens are equally probable.",
        alt="Entropy by layer",
    )
