"""The pictures of a sentence with a gap: grids of every layer's words, and the followed words through the layers."""

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from probing.choices import AskSelection
from probing.kernel.app import blocks, live_models, selection, token_grids
from probing.kernel.app.figure_cache import Stamp
from probing.kernel.app.frame import View
from probing.kernel.app.texts import filled
from probing.kernel.app.token_grids import Grid
from probing.kernel.questions import Answer
from probing.live.page_models import colours_of, is_tuned
from probing.live.report import lines_of, tokens_of

#: More lines than this in one figure cannot be distinguished.
MAX_LINES = 12
DASHES = ("solid", "dash", "dashdot", "longdash", "longdashdot")
CHANGED = "dot"
_WORDS = (
    "Each cell is a word that a layer gives for the gap; the first followed word is orange. Layer 0: before any layer."
)
_PUT_BACK = "A row has the words of the last layer with n layers of the base put back; n = 0: the fine-tuned model."
#: What a row is -> the line below the grids.
CAPTIONS = {"layer": _WORDS, "n": _PUT_BACK}
HOW = (
    f"Every layer of the model fills the gap, read by a decoding head; the last layer is on top. {token_grids.SHADES}"
    " Rank: the place of the first followed word in the layer's list of all words; without a word of yours that is the"
    " recorded answer of a stored sentence, else what the first model says at the end. A click on a word draws its"
    " curve."
)


def grid(view: View, answer: Answer, note: str = "") -> Grid:
    """One model's words; the first followed one is the right one, if there is any."""
    watched = {layer.layer: layer.watched[0] for layer in answer.layers if layer.watched}
    tokens = tokens_of(answer).assign(
        framed=[
            layer.layer in watched and token.id == watched[layer.layer].id
            for layer in answer.layers
            for token in layer.tokens
        ]
    )
    tuned = is_tuned(answer.model)
    return Grid(
        view.label(answer.model),
        tokens,
        {layer: token.rank for layer, token in watched.items()},
        {layer: token.probability for layer, token in watched.items()},
        note or ("after fine-tuning" if tuned else ""),
        tuned=tuned,
    )


def grids(
    view: View,
    answers: Sequence[Answer],
    word: str,
    *,
    name: str,
    how: str,
    note: str = "",
    steps: str = "layer",
    table: pd.DataFrame | None = None,
) -> None:
    """Draws one grid per model, two next to each other, and the row below them.

    ``how``: what this sentence adds to how the grids are read; ``note``: what the grids are; ``steps``: what a row is,
    if it is no layer; ``table``: the numbers, if they are others than those of the grids.
    """
    columns = selection.of(AskSelection).top
    drawn, abreast = [grid(view, answer, note) for answer in answers], 2 if columns == token_grids.COLUMNS else 1
    for place in range(0, len(drawn), abreast):
        row = drawn[place : place + abreast]
        token_grids.draw(row, answer=word, key=f"ask.{name}.{place}", columns=columns, steps=steps)
    first = answers[0]
    numbers = token_grids.numbers(zip((answer.model for answer in answers), drawn, strict=True))
    blocks.files(
        token_grids.as_figure(drawn[0], word or "right word", columns),
        table=numbers.dropna(axis="columns", how="all") if table is None else table,
        stamp=Stamp(f"{', '.join(answer.model for answer in answers)}, {first.head} heads, {first.prompt}"),
        name=name,
        caption=CAPTIONS[steps],
        how=f"{HOW} {how}",
    )


def computed(device: str) -> None:
    """Says which device computed what is shown."""
    st.caption(filled("Computed {device}.", device=live_models.on_device(device)))


def lines(answers: Mapping[str, Answer], changed: Mapping[str, Answer]) -> pd.DataFrame:
    """Rank, probability and entropy by model, word and layer; ``changed`` says in which of the two sentences."""
    parts = [
        lines_of(of_model).assign(changed=which)
        for which, got in ((False, answers), (True, changed))
        for of_model in got.values()
    ]
    return pd.concat(parts, ignore_index=True)


def named(
    view: View, table: pd.DataFrame, *, by_word: bool = True
) -> tuple[pd.DataFrame, dict[str, str], dict[str, str]]:
    """Names, colours and dashes of lines: models in colour, words (``by_word``) in dashes, and what is changed dotted.

    Returns the rows to draw with ``name``, name -> colour, name -> dash.
    """
    if "changed" not in table:
        table = table.assign(changed=False)
    models = list(dict.fromkeys(table["model"]))
    both, only = table["changed"].any(), not by_word or table["changed"].any()
    words = list(dict.fromkeys(table["word"]))[: 1 if only else max(MAX_LINES // len(models), 1)]
    drawn = table[table["word"].isin(words)]
    many, of_model = len(words) > 1, colours_of(view, models)
    colours, dashes, names = {}, {}, []
    for model, word, is_changed in drawn[["model", "word", "changed"]].itertuples(index=False):
        name = " · ".join([*([word] if many else []), view.label(model), *(["changed"] if is_changed else [])])
        colours[name] = of_model[model]
        dashes[name] = CHANGED if is_changed else DASHES[0 if both else words.index(word) % len(DASHES)]
        names.append(name)
    return drawn.assign(name=names), colours, dashes
