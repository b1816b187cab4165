"""All tokens of a sentence and all layers: the best token of each cell as a table, and the best tokens of the cell that is opened."""

import re

import numpy as np
import pandas as pd
import streamlit as st

from probing.core.errors import ProbingError
from probing.core.head_kinds import LOGIT_LENS, TIED
from probing.core.questions import EveryToken, with_masks
from probing.figures.theme import ink_on
from probing.figures.tokens.token_grid import tint
from probing.reports.live_answer import every_token_of
from probing.ui.frame import live_models, selection
from probing.ui.frame.live_models import Choice
from probing.ui.frame.page import View
from probing.ui.live import controls
from probing.ui.live.ask import ready
from probing.ui.live.selection import LiveSelection
from probing.ui.widgets import blocks, export
from probing.ui.widgets.export import Stamp
from probing.ui.widgets.markdown import filled

#: Tokens that an opened cell lists.
TOP = 20
_TABLE = "live.every-token"
#: Rows and head of the table, in pixels, and how many rows are shown before it scrolls.
_ROW, _ROWS = 35, 18


def draw(view: View) -> None:
    """Draws the controls and, for a sentence, the table."""
    choice, head = _controls(view)
    text = with_masks(selection.of(LiveSelection).prompt)
    if not text.strip():
        st.info("Type a sentence; it needs no gap.", icon=":material/edit:")
        return
    if (there := ready(view, choice, head or LOGIT_LENS, first=True)) is None:
        return
    try:
        usual = LOGIT_LENS if live_models.untrained([there]) else TIED
        got = live_models.every_token(there, text, head or usual, TOP)
    except ProbingError as error:
        blocks.problem(error)
        return
    if not head and usual == LOGIT_LENS:
        st.caption(filled(live_models.LENS_INSTEAD, names=view.label(choice.name), head=TIED))
    _headline(view, got)
    view.introduce()
    stamp = Stamp(f"{got.model}, {got.head} heads, {got.text}")
    _table(got, stamp)
    _cell(view, got, stamp)


def _controls(view: View) -> tuple[Choice, str]:
    """Draws the sentence, the model and its heads; returns the last two."""
    page, own, offered = view.page, selection.of(LiveSelection), live_models.choices()
    selection.bound(st.text_input, "A sentence, with or without a gap", "prompt", page, max_chars=selection.MAX_TEXT, resets={"cell": ""})
    name = live_models.pick(selection.current().live_model, offered)
    head = own.live_head if own.live_head in live_models.HEADS else ""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.button("Ask", type="primary", key="live.ask")
        controls.choose_model(page, name, controls.named_models(view, offered), width=260)
        controls.choose_head(page, head, width=160)
    controls.left_aside(offered, name)
    return offered[name], head


def _headline(view: View, got: EveryToken) -> None:
    """At how many tokens the last layer's best token is the token itself, next to layer 0."""
    first, last = (int((got.ids[layer, :, 0] == np.array(got.own)).sum()) for layer in (0, -1))
    st.markdown(
        filled(
            "The last layer of {model} predicts {last:,} of the {n:,} tokens themselves, the embeddings (layer 0) {first:,}.",
            model=view.called(got.model),
            last=last,
            n=len(got.pieces),
            first=first,
        )
    )


def _table(got: EveryToken, stamp: Stamp) -> None:
    """One row per token of the sentence, one column per layer; a click on a cell opens it."""
    best, dark = every_token_of(got), blocks.dark()
    words, odds = (best.pivot(index="position", columns="layer", values=name) for name in ("token", "probability"))
    words.columns, odds.columns = ([f"layer {layer}" for layer in one.columns] for one in (words, odds))
    shades = odds.map(lambda share: f"background-color: {tint(share, dark=dark)}; color: {ink_on(tint(share, dark=dark))}")
    words.insert(0, "token", list(got.pieces))
    shades.insert(0, "token", "")

    def opened() -> None:
        cells = st.session_state[_TABLE].selection.cells
        layers = [(row, column.removeprefix("layer ")) for row, column in cells if column.startswith("layer ")]
        selection.update(cell=f"{layers[0][1]}-{layers[0][0]}" if layers else "")

    st.dataframe(
        words.style.apply(lambda _: shades, axis=None),
        key=_TABLE,
        hide_index=True,
        height=_ROW * (min(len(words), _ROWS) + 1) + 3,
        column_config={"token": st.column_config.TextColumn("token", pinned=True, width=92)}
        | {name: st.column_config.TextColumn(name, width=80) for name in words.columns[1:]},
        on_select=opened,
        selection_mode="single-cell",
    )
    st.download_button(
        "CSV",
        lambda: export.csv_bytes(every_token_of(got, TOP), stamp),
        export.file_name("live-every-token", stamp, ".csv"),
        "text/csv",
        key="live.every-token.csv",
        on_click="ignore",
        icon=":material/download:",
        help="The best tokens of all cells.",
    )
    st.caption(
        filled(
            "Each cell is the best token of a layer at a token of the sentence, read by a decoding head; the colour is its probability. "
            "A click on a cell lists its best {top} tokens. {device} · {time:,.0f} ms.",
            top=TOP,
            device=got.device,
            time=got.seconds * 1000,
        )
    )


def _cell(view: View, got: EveryToken, stamp: Stamp) -> None:
    """The best tokens of the opened cell."""
    every = every_token_of(got, TOP)
    opened = selection.of(LiveSelection).cell
    at = _opened(opened, got)
    if at is None:
        if opened:
            blocks.say_ignored([opened])
        return
    layer, position = at
    view.contents.section("One cell")
    st.markdown(filled("Layer {layer} at token {position}, {piece}:", layer=layer, position=position + 1, piece=got.pieces[position]))
    cell_tokens = every[(every["layer"] == layer) & (every["position"] == position)]
    blocks.table_with_download(
        cell_tokens,
        shown=pd.DataFrame({"rank": cell_tokens["place"], "token": cell_tokens["token"], "probability": cell_tokens["probability"]}),
        stamp=stamp,
        name="live-cell",
        column_config={"probability": st.column_config.NumberColumn(format="percent")},
    )


def _opened(text: str, got: EveryToken) -> tuple[int, int] | None:
    """Layer and token of a cell of the link; None if there is no such cell."""
    if not (found := re.fullmatch(r"(\d{1,3})-(\d{1,5})", text)):
        return None
    layer, position = map(int, found.groups())
    return (layer, position) if layer < len(got.ids) and position < len(got.pieces) else None
