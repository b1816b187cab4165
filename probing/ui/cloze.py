"""The live page: a sentence with a gap, and every layer's answer."""

from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from probing.core.errors import ProbingError, PromptError
from probing.core.facts import MASK
from probing.figures.entropy import entropy_by_layer
from probing.figures.rank_lines import probability_lines, rank_lines
from probing.figures.token_grid import bare, token_grid
from probing.ui import live_models, parts, selection
from probing.ui.exports import Stamp
from probing.ui.page import View
from probing.ui.text import escape, listing

if TYPE_CHECKING:
    from probing.models.live import Answer

MOST_WATCHED = 6
EXAMPLES = (
    ("The capital of France is [MASK].", "paris, lyon"),
    ("Windows Media Player is a product made by [MASK].", "microsoft, apple"),
    ("Rocky Balboa was born in [MASK].", "philadelphia"),
    ("In San Marino, official documents are written in [MASK].", "italian, english"),
    ("Fresh snow is [MASK].", "white, black"),
    ("A robin is not a [MASK].", "bird"),
    ("[MASK] is the capital of [MASK].", "paris, france"),
)


def controls(view: View) -> tuple[live_models.Choice, str]:
    """Sentence, examples, watched words, model and head; returns model and head."""
    page, chosen = view.page, selection.current()
    offered = live_models.choices()
    selection.bound(
        st.text_area, f"A sentence with a gap, written {escape(MASK)}", "prompt", page, value=chosen.prompt or EXAMPLES[0][0], height=80,
        max_chars=selection.MAX_TEXT,
    )  # fmt: skip
    st.pills("Ready examples", [prompt for prompt, _ in EXAMPLES], key="live.examples", on_change=_take_example, format_func=escape)
    watched, model, head = st.columns([3, 2, 1])
    with watched:
        words = chosen.watch if chosen.prompt else chosen.watch or EXAMPLES[0][1]
        selection.bound(
            st.text_input, "Words to follow through the layers", "watch", page, value=words, max_chars=200,
            placeholder="berlin, paris", help="Separated by commas; each must be one token of the model.",
        )  # fmt: skip
    with model:
        name = live_models.pick(chosen.live_model, offered)
        selection.bound(
            st.selectbox,
            "Model",
            "live_model",
            page,
            value=name,
            options=list(offered),
            format_func=lambda one: offered[one].label,
        )
    with head:
        kind = chosen.live_head if chosen.live_head in live_models.HEADS else live_models.HEADS[0]
        selection.bound(
            st.selectbox, "Head", "live_head", page, value=kind, options=list(live_models.HEADS),
            help="tied: a trained transform per layer, the vocabulary shared. lens: the pre-trained head on every layer, no training. "
            "full: everything trained per layer.",
        )  # fmt: skip
    return offered[name], kind


def _take_example() -> None:
    prompt = st.session_state["live.examples"]
    if prompt:
        selection.update(prompt=prompt, watch=dict(EXAMPLES)[prompt], mask=1)
    # A pill is a button here: pressed again it works again.
    st.session_state["live.examples"] = None


def answer(view: View, choice: live_models.Choice, head: str) -> None:
    """Asks, and draws what comes back."""
    chosen = selection.current()
    prompt = chosen.prompt or EXAMPLES[0][0]
    typed = chosen.watch if chosen.prompt else chosen.watch or EXAMPLES[0][1]
    words = tuple(dict.fromkeys(word.strip() for word in typed.split(",") if word.strip()))
    model = choice.location
    if live_models.missing_shipped(model):
        parts.missing(f"The files of {escape(choice.name)} are not here.", "python -m probing pretrain && python -m probing train-heads")
        return
    try:
        with st.spinner(f"Loading {escape(choice.name)} …", show_time=True):
            live_models.load(model, head)
    except ProbingError as error:
        parts.problem(error)
        if head != "lens":
            st.button("Use the lens head, which needs no training", on_click=selection.update, kwargs={"live_head": "lens"})
        return
    watch, refused = live_models.watchable(model, head, words[:MOST_WATCHED])
    if refused:
        st.caption(f"Not one token of this model, so not followed: {escape(listing(refused))}.")
    if len(words) > MOST_WATCHED:
        st.caption(f"At most {MOST_WATCHED} words are followed.")
    try:
        _ask(view, model, head, prompt, watch)
    except ProbingError as error:
        parts.problem(error)


def _ask(view: View, model: str, head: str, prompt: str, watch: tuple[str, ...]) -> None:
    top = max(selection.current().top, 1)
    try:
        draw(view, live_models.ask(model, head, prompt, top, watch, None), watch)
        return
    except PromptError as error:
        # Not its class: that would load torch.
        positions = getattr(error, "positions", None)
        if not positions:
            raise
    masks = len(positions)
    mask = min(selection.current().mask, masks)
    selection.bound(
        st.segmented_control, f"The sentence has {masks} gaps", "mask", view.page, value=mask, options=[*range(1, masks + 1), 0],
        required=True, format_func=lambda number: f"read gap {number}" if number else "fill all, left to right",
    )  # fmt: skip
    if mask:
        draw(view, live_models.ask(model, head, prompt, top, watch, mask - 1), watch)
        return
    filled, answers = live_models.fill(model, head, prompt, top, watch)
    st.success(escape(filled), icon=":material/edit:")
    st.caption("Each gap is filled with the last layer's best token before the next is asked.")
    for place, (tab, one) in enumerate(zip(st.tabs([f"Gap {number + 1}" for number in range(masks)]), answers, strict=True)):
        with tab:
            draw(view, one, watch, suffix=f"-{place + 1}")


def tokens_of(got: "Answer") -> pd.DataFrame:
    """Long form: ``layer, place, token, probability``."""
    return pd.DataFrame(
        [(one.layer, place, token.token, token.probability) for one in got.layers for place, token in enumerate(one.tokens, 1)],
        columns=["layer", "place", "token", "probability"],
    )


def watched_of(got: "Answer") -> pd.DataFrame:
    """Long form: ``name, layer, rank, probability``."""
    return pd.DataFrame(
        [(token.token, one.layer, token.rank, token.probability) for one in got.layers for token in one.watched],
        columns=["name", "layer", "rank", "probability"],
    )


def draw(view: View, got: "Answer", watch: tuple[str, ...], suffix: str = "") -> None:
    """Everything about one answer."""
    page, last = view.page, got.layers[-1]
    best = last.tokens[0]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"The last layer says **{escape(best.token)}** ({best.probability * 100:.1f} %).", width="content")
        st.badge(f"{got.device} · {got.seconds * 1000:,.0f} ms · {len(got.layers)} layers at once", icon=":material/memory:", color="gray")
    stamp = Stamp(f"{got.model}, {got.head} heads, {got.prompt}")
    tokens = tokens_of(got)
    if not suffix:
        selection.bound(st.segmented_control, "Tokens a layer", "top", page, options=[3, 5, 10], required=True)
    parts.figure(
        token_grid(tokens, marked=watch, columns=selection.current().top), table=tokens, stamp=stamp, name=f"live-tokens{suffix}",
        caption="What each layer would fill in, best first; words you follow are framed, the stronger the tint, the more probable.",
        alt=f"Top tokens of every layer for: {got.prompt}",
    )  # fmt: skip
    _followed(view, got, stamp, suffix)
    st.markdown("#### How undecided each layer is")
    entropies = pd.DataFrame([(one.layer, one.entropy) for one in got.layers], columns=["layer", "entropy"])
    parts.figure(
        entropy_by_layer(entropies), table=entropies, stamp=stamp, name=f"live-entropy{suffix}",
        caption="Entropy of the layer's probabilities over the whole vocabulary: 0 where one word has it all.", alt="Entropy by layer",
    )  # fmt: skip
    st.markdown("#### The sentence as the model reads it")
    st.code("  ".join(got.pieces), language=None, wrap_lines=True)
    st.caption(f"{len(got.pieces)} word pieces.")


def _followed(view: View, got: "Answer", stamp: Stamp, suffix: str) -> None:
    st.markdown("#### Words through the layers")
    followed = watched_of(got)
    if followed.empty:
        st.caption("Type words to follow above; one of these, perhaps:")
        best = dict.fromkeys(bare(one.tokens[0].token) for one in got.layers)
        with st.container(horizontal=True):
            for number, word in enumerate([word for word in best if word.isalpha()][-4:]):
                st.button(escape(word), key=f"live.follow{suffix}.{number}", on_click=selection.update, kwargs={"watch": word})
        return
    if not suffix:
        selection.bound(st.segmented_control, "Show", "scale", view.page, options=list(selection.SCALES), required=True)
    drawn = rank_lines(followed) if selection.current().scale == "rank" else probability_lines(followed)
    parts.figure(
        drawn, table=followed, stamp=stamp, name=f"live-followed{suffix}",
        caption="On top is first: rank 1 means that the layer would fill in this word."
        if selection.current().scale == "rank"
        else "What the layer's head gives the word, out of the whole vocabulary.",
        alt="Followed words by layer",
    )  # fmt: skip
