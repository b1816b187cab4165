"""The attention of one token in every layer of the models."""

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import streamlit as st

from probing.figures import theme
from probing.figures.tokens.attention_map import attention_map, head_map
from probing.figures.tokens.attention_panels import PANELS, attention_panels
from probing.ui.frame import selection
from probing.ui.frame.page import View
from probing.ui.live.answer_view import colours_of
from probing.ui.live.selection import LiveSelection
from probing.ui.live.sentence.controls import Two
from probing.ui.widgets import blocks
from probing.ui.widgets.export import Stamp
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.markdown import Markdown, filled, joined

if TYPE_CHECKING:
    from probing.models.changes.ask import OneModel, SentenceAttention

#: Maximum number of rows of a map; the table has all tokens.
MAX_TOKENS = 48
HELP = (
    "Entropy of the token's attention in the last layer: 0 if one token gets all of it, ln n if all n tokens get the same. The distance "
    "is the earth mover's: by how many tokens attention has to be moved on average to turn one model's into the other's."
)


def draw(view: View, two: Two, found: "SentenceAttention") -> None:
    """Draws the choice of token and head, one map per model, and the numbers by layer."""
    token, head = _chosen(view, found)
    heads = "all heads, mean" if head is None else f"head {head + 1}"
    stamp = Stamp(f"{', '.join(one.name for one in _models(found))}, attention of {found.tokens[token]}, {heads}, {' '.join(found.tokens)}")
    values = _values(found, token, head)
    st.markdown(_headline(view, found, values, token, heads), help=HELP)
    view.introduce()
    view.contents.section("What the token attends to")
    _maps(view, found, token, head, stamp)
    view.contents.section("Attention by layer")
    _panels(view, two, found, values, stamp)
    _heads(view, found, token, head, stamp)


def _models(found: "SentenceAttention") -> "list[OneModel]":
    return [one for one in (found.before, found.own) if one is not None]


def _chosen(view: View, found: "SentenceAttention") -> tuple[int, int | None]:
    """Draws the choice; returns the attending token and the head, both from 0; head None means the mean of all."""
    own, heads = selection.of(LiveSelection), found.own.maps.shape[1]
    token = own.attending if own.attending < len(found.tokens) else 0
    head = own.attention_head if own.attention_head <= heads else 0
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        selection.bound(
            st.selectbox,
            "Attention of",
            "attending",
            view.page,
            value=token,
            options=list(range(len(found.tokens))),
            width=260,
            format_func=lambda place: f"{place + 1}. {found.tokens[place]}",
        )
        selection.bound(
            st.selectbox,
            "Head",
            "attention_head",
            view.page,
            value=head,
            options=list(range(heads + 1)),
            width=260,
            format_func=lambda number: f"head {number}" if number else "mean of all heads",
        )
    return token, head - 1 if head else None


def _values(found: "SentenceAttention", token: int, head: int | None) -> pd.DataFrame:
    """``model, measure, layer, value``."""
    rows = [
        (model, measure, layer, float(value))
        for measure, model, values in found.by_layer(token, head)
        for layer, value in enumerate(values, start=1)
    ]
    return pd.DataFrame(rows, columns=["model", "measure", "layer", "value"])


def _headline(view: View, found: "SentenceAttention", values: pd.DataFrame, token: int, heads: str) -> Markdown:
    last = values[values["layer"] == values["layer"].max()].set_index(["measure", "model"])["value"]
    n = len(found.tokens)
    each = joined(
        ", ",
        [
            filled("{model} **{entropy:.2f} nats**", model=view.called(one.name), entropy=last["entropy", one.name])
            for one in _models(found)
        ],
    )
    words = filled(
        "Attention of **{token}** in the last layer ({heads}): entropy {each}; equal attention to all {n} tokens: {most:.2f}.",
        token=found.tokens[token],
        heads=heads,
        each=each,
        n=n,
        most=math.log(n),
    )
    if found.distance is None:
        return words
    far = "{words} Distance between the two: **{far:.2f} tokens** (equal models: 0; length of the sentence: {n})."
    return filled(far, words=words, far=last["distance", found.own.name], n=n)


def _maps(view: View, found: "SentenceAttention", token: int, head: int | None, stamp: Stamp) -> None:
    models = _models(found)
    maps = [(one.maps.mean(1) if head is None else one.maps[:, head])[:, token] for one in models]
    most = max(float(one.max()) for one in maps)
    for number, (place, one, shares) in enumerate(
        zip(st.columns(2) if len(models) > 1 else [st.container()], models, maps, strict=True), start=1
    ):
        with place:
            st.markdown(filled("**{model}**", model=view.called(one.name)))
            shown = shares[:, :MAX_TOKENS]
            blocks.figure(
                drawing(attention_map, shown, found.tokens[:MAX_TOKENS], maximum=most, marked=token),
                table=_shares(found, one.name, shares),
                stamp=stamp,
                name=f"live-attention-{number}",
                alt=f"What {found.tokens[token]} attends to in {view.label(one.name)}",
            )
    st.caption("Each column sums to 1. Both figures have the same scale." if len(models) > 1 else "Each column sums to 1.")
    if len(found.tokens) > MAX_TOKENS:
        st.caption(filled("The figures show the first {most} of {n} tokens; the table has all.", most=MAX_TOKENS, n=len(found.tokens)))


def _shares(found: "SentenceAttention", model: str, shares: np.ndarray) -> pd.DataFrame:
    rows = [
        (model, layer, place + 1, token, shares[layer - 1, place])
        for layer in range(1, len(shares) + 1)
        for place, token in enumerate(found.tokens)
    ]
    return pd.DataFrame(rows, columns=["model", "layer", "place", "token", "share"])


def _panels(view: View, two: Two, found: "SentenceAttention", values: pd.DataFrame, stamp: Stamp) -> None:
    names, n = [one.name for one in _models(found)], len(found.tokens)
    drawn = values[values["measure"].isin(PANELS)]
    # Uniform attention gives each token 1/n. Separators and punctuation get no yardstick: their number depends on the sentence.
    equal = {"entropy": math.log(n), "first": 1 / n, "self": 1 / n}
    colours = {view.label(name): colour for name, colour in colours_of(view, names).items()}
    other = "" if two.related else " Neither model was fine-tuned from the other: the distance is from the left model to the right one."
    blocks.figure(
        drawing(
            attention_panels,
            drawn.assign(name=drawn["model"].map(view.label)),
            colours=colours,
            dashes={view.label(name): theme.line_dash(name in view.controls) for name in names},
            yardsticks=equal,
        ),
        table=values,
        stamp=stamp,
        name="live-attention-layers",
        alt="Entropy, distance and shares of attention by layer",
        caption=f"Entropy and distance as above; the table also has the total variation. Dotted: equal attention to all tokens.{other}"
        if len(names) > 1
        else "Dotted: equal attention to all tokens.",
    )


def _heads(view: View, found: "SentenceAttention", token: int, head: int | None, stamp: Stamp) -> None:
    """Draws every head of every layer: the distance of the two models or, for a single model, the entropy."""
    if found.distance is not None:
        values, what, unit = found.distance[..., token], "distance between the two models", "tokens"
    else:
        values, what, unit = found.own.entropy[..., token], "entropy", "nats"
    rows = [(layer + 1, number + 1, values[layer, number]) for layer in range(values.shape[0]) for number in range(values.shape[1])]
    blocks.figure(
        drawing(head_map, values, what=what, unit=unit, maximum=float(values.max()), marked=head),
        table=pd.DataFrame(rows, columns=["layer", "head", f"{what}, {unit}"]),
        stamp=stamp,
        name="live-attention-heads",
        caption=f"Every head of every layer: {what}, in {unit}. Click on a cell to choose its head.",
        alt=f"Heads by layer: {what}",
        on_point=_take_head,
    )


def _take_head(point: list) -> None:
    selection.update(attention_head=int(point[0]))
