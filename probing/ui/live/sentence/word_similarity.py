"""The same word twice: the similarity of its states at every layer."""

from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from probing.figures import theme
from probing.figures.layer_lines import layer_lines
from probing.reports.changes.measures import values
from probing.ui.frame.page import View
from probing.ui.live.answer_view import named
from probing.ui.widgets import blocks
from probing.ui.widgets.export import Stamp
from probing.ui.widgets.markdown import Markdown, filled, joined

if TYPE_CHECKING:
    from probing.models.changes.ask import SentenceAttention

ANISOTROPY = "anisotropy"


def draw(view: View, found: "SentenceAttention") -> None:
    """Draws one line per word and model."""
    view.contents.section("The same word twice")
    if not found.repeated:
        st.caption("No word occurs twice in this sentence. Write a word twice to compare its states at every layer.")
        return
    models = [one.name for one in (found.before, found.own) if one is not None]
    rows = [
        (model, word.word, len(word.places), layer, float(value))
        for word in found.repeated
        for model, similarity in zip(models, (word.before, word.similarity) if len(models) > 1 else (word.similarity,), strict=True)
        for layer, value in enumerate(similarity if similarity is not None else ())
    ]
    table = pd.DataFrame(rows, columns=["model", "word", "times", "layer", "similarity"])
    stored = _stored(view, models)
    st.markdown(_headline(view, table, models))
    lines, colours, dashes = named(view, table, models)
    drawn = pd.concat([lines, stored.assign(name=[f"{ANISOTROPY} · {view.label(model)}" for model in stored["model"]])], ignore_index=True)
    dashes = dict.fromkeys(stored_names(drawn), "longdashdot") | (dashes or {})
    if colours is not None:
        colours = {f"{ANISOTROPY} · {view.label(model)}": view.all_colours.get(model, theme.NEUTRAL) for model in models} | colours
    figure = layer_lines(drawn, "similarity", "%{y:.3f}", colours=colours, dashes=dashes)
    figure.update_yaxes(title_text="cosine")
    beside = (
        " Anisotropy is the mean cosine of different words on the stored sentences, the yardstick for these values."
        if len(stored)
        else " Different words also have a cosine above 0; `changes measure` stores this yardstick (anisotropy)."
    )
    blocks.figure(
        figure,
        table=table,
        stamp=Stamp(f"{', '.join(models)}, same word, {' '.join(found.tokens)}"),
        name="live-same-word",
        caption=f"Mean cosine of a word's states: 1 if they are equal. At layer 0 they differ only by position.{beside}",
        alt="Self-similarity by layer",
    )


def stored_names(drawn: pd.DataFrame) -> list[str]:
    """Names of the lines that come from the store."""
    return [name for name in dict.fromkeys(drawn["name"]) if str(name).startswith(f"{ANISOTROPY} · ")]


def _stored(view: View, models: list[str]) -> pd.DataFrame:
    """``model, layer, similarity``: the stored anisotropy."""
    if view.database is None:
        return pd.DataFrame(columns=["model", "layer", "similarity"])
    similarities = view.read(values, tuple(models), (ANISOTROPY,))
    return similarities.rename(columns={"value": "similarity"})[["model", "layer", "similarity"]]


def _headline(view: View, table: pd.DataFrame, models: list[str]) -> Markdown:
    """A sentence on the word with the lowest similarity in the last layer of the last model."""
    last, first = (table[table["layer"] == layer].set_index(["word", "model"])["similarity"] for layer in (table["layer"].max(), 0))
    word = last.xs(models[-1], level="model").idxmin()
    says = [filled("{model} {value:.2f}", model=view.called(model), value=last[word, model]) for model in models]
    times = int(table.loc[table["word"] == word, "times"].iloc[0])
    return filled(
        "**{word}** ({times} times) has the lowest similarity in the last layer: cosine {says} (layer 0: {before:.2f}).",
        word=word,
        times=times,
        says=joined(", ", says),
        before=first[word, models[-1]],
    )
