"""The controls of the view of whole sentences: the sentence, the model and the model to compare with."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import streamlit as st

from probing.core.head_kinds import LOGIT_LENS
from probing.ui.frame import live_models, selection
from probing.ui.frame.live_models import Choice
from probing.ui.frame.page import View
from probing.ui.live import controls
from probing.ui.live.ask import ready
from probing.ui.live.selection import ALONE, SENTENCES, LiveSelection
from probing.ui.widgets.markdown import escape, filled


@dataclass(frozen=True)
class Two:
    """One or two models to ask.

    Attributes:
        model: the model; of two, the fine-tuned one.
        base: the model that it is compared with; None if there is none.
        related: whether ``model`` was fine-tuned from ``base``.
    """

    model: Choice
    base: Choice | None = None
    related: bool = True

    @property
    def all(self) -> list[Choice]:
        """The base first."""
        return [self.model] if self.base is None else [self.base, self.model]


def draw(view: View) -> tuple[Two | None, str, str]:
    """Draws the controls; returns the models that can be asked, the sentence, and the second sentence."""
    page = view.page
    selection.bound(
        st.text_area,
        "A sentence",
        "whole",
        page,
        height=68,
        max_chars=selection.MAX_TEXT,
        resets={"attending": 0, "swapped": 0},
        placeholder="Type a sentence; write a word twice to compare its two states.",
    )
    selection.bound(
        st.text_input,
        "A second sentence (optional)",
        "second",
        page,
        max_chars=selection.MAX_TEXT,
        resets={"attending": 0},
        placeholder="appended to the first one",
    )
    st.pills("Example sentences", list(SENTENCES), key="live.sentences", on_change=_take_example, format_func=escape)
    own = selection.of(LiveSelection)
    return models(view), " ".join(own.whole.split()), " ".join(own.second.split())


def models(view: View) -> Two | None:
    """Draws the choice of models and loads them; if none can be asked, shows the reason and returns None."""
    page, offered, own = view.page, live_models.choices(), selection.of(LiveSelection)
    name = live_models.pick(selection.current().live_model, offered)
    usual = _usual(offered, name, own.live_base)
    others = [one for one in offered if one != name]
    beside = own.beside if own.beside == ALONE or own.beside in others else usual or ALONE
    named = controls.named_models(view, offered)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        controls.choose_model(page, name, named, {"beside": ""}, width=260)
        selection.bound(
            st.selectbox,
            "Compare with",
            "beside",
            page,
            value=beside,
            options=[ALONE, *others],
            width=260,
            format_func=lambda one: "no other model" if one == ALONE else named[one],
        )
    controls.left_aside(offered, name)
    if own.beside and own.beside != ALONE and own.beside not in others and own.beside != name:
        st.info(filled("Ignored, not in this menu: {names}", names=own.beside), icon=":material/link_off:")
    if (model := ready(view, offered[name], LOGIT_LENS, first=True)) is None:
        return None
    base = live_models.base_of(model)
    if base and base not in offered and beside == ALONE:
        words = "{name} was fine-tuned from {base}, which is not in this menu, so it is shown alone."
        st.info(filled(words, base=base, name=view.called(name)), icon=":material/info:")
    if beside == ALONE or (other := ready(view, offered[beside], LOGIT_LENS, first=False)) is None:
        return Two(replace(model, here=True))
    return _ordered(model, other)


def _usual(offered: Mapping[str, Choice], name: str, named_base: str) -> str:
    """Name of the model's base, else of the first model that was fine-tuned from it, else ``""``."""
    base = live_models.base_of(offered[name]) or named_base
    if base:
        return base if base in offered and base != name else ""
    return next((one for one, choice in offered.items() if one != name and choice.here and live_models.base_of(choice) == name), "")


def _ordered(model: Choice, other: Choice) -> Two:
    if live_models.base_of(model) == other.name:
        return Two(model, other)
    return Two(other, model, related=live_models.base_of(other) == model.name)


def _take_example() -> None:
    if chosen := st.session_state["live.sentences"]:
        selection.update(whole=chosen, second="", attending=0, swapped=0)
    # Pills act as buttons here: unselected, the same one can be pressed again.
    st.session_state["live.sentences"] = None
