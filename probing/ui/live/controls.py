"""The controls of the live page: the sentence and the model, and everything else under "More options"."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from probing.core.perturb import rules
from probing.core.questions import with_masks
from probing.ui.frame import live_models, selection
from probing.ui.frame.page import View
from probing.ui.live.selection import EXAMPLES, OF_EXAMPLE, PERTURBATIONS, REPLACED, TOPS, LiveSelection
from probing.ui.widgets.markdown import escape, filled, listing

MAX_MODELS = 4
TYPED = "as typed"
#: Behaviour -> its label.
CHANGES = {"": TYPED, **rules.PERTURBATIONS}
RESTORED = {"": "no", "last": "the last n layers", "first": "the first n layers"}


def sentence() -> str:
    """The sentence to ask, with its gaps written ``[MASK]``."""
    return with_masks(selection.of(LiveSelection).prompt)


def tracked() -> str:
    """The tokens to track as typed; if none were typed and the sentence is an example, those of the example."""
    own = selection.of(LiveSelection)
    return own.watch if own.watch != OF_EXAMPLE else dict(EXAMPLES).get(own.prompt, "")


def draw(view: View) -> tuple[list[live_models.Choice], str]:
    """Draws the controls; returns the models, with ``live_model`` first, and the kind of heads, ``""`` if the user names none."""
    page, own, offered = view.page, selection.of(LiveSelection), live_models.choices()
    selection.bound(
        st.text_input,
        "A sentence with a gap: \\[MASK\\] or \\_\\_\\_",
        "prompt",
        page,
        max_chars=selection.MAX_TEXT,
        placeholder="Type a sentence with a gap, as in: The capital of France is ___.",
    )
    name = live_models.pick(selection.current().live_model, offered)
    others = [other for other in own.live_models if other in offered and other != name][: MAX_MODELS - 1]
    kind = own.live_head if own.live_head in live_models.HEADS else ""
    named = named_models(view, offered)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        # Enter and leaving the field already send the sentence; newcomers look for a button.
        st.button("Ask", type="primary", key="live.ask")
        choose_model(page, name, named, label_visibility="collapsed")
        with st.popover("More options", icon=":material/tune:"):
            _options(view, kind, {one: words for one, words in named.items() if one != name}, others)
    if words := _set(view, others, len(offered)):
        st.caption(filled("Set under More options: {words}.", words="; ".join(words)))
    left_aside(offered, name)
    return [offered[one] for one in (name, *others)], kind


def _options(view: View, head: str, named: Mapping[str, str], others: list[str]) -> None:
    """Draws the options that a first question does not need."""
    page = view.page
    st.pills("Ready examples", [prompt for prompt, _ in EXAMPLES], key="live.examples", on_change=_take_example, format_func=escape)
    choose_others(page, named, others)
    if len(others) == MAX_MODELS - 1 < len(named):
        st.caption(filled("{words}.", words=_most(len(named) + 1)))
    selection.bound(
        st.text_input,
        "Track tokens",
        "watch",
        page,
        value=tracked(),
        max_chars=200,
        placeholder="berlin, paris",
        help="Separated by commas; each must be one token of the model.",
    )
    with st.container(horizontal=True):
        choose_head(
            page,
            head,
            width=140,
            help="default: tied or, if none are trained, logit_lens. tied: a trained transform per layer, the vocabulary shared. "
            "logit_lens: the pre-trained head on every layer, no training. full: everything trained per layer. least_squares: the "
            "pre-trained head on top of the best-fitting affine map from the layer to the last. tuned_lens: such a map, trained to match "
            "the last layer's distribution.",
        )
        selection.bound(st.segmented_control, "Top-k per layer", "top", page, options=list(TOPS), required=True)
    selection.bound(
        st.segmented_control,
        "Change the sentence",
        "perturbation",
        page,
        options=list(PERTURBATIONS),
        required=True,
        format_func=CHANGES.__getitem__,
        help="Negated and misprimed (Kassner and Schütze 2020), shuffled and cut short (Ettinger 2020), or with another name whose origin "
        "may give the answer away (Poerner et al. 2020). Simple rules make these changes.",
    )
    selection.bound(
        st.segmented_control,
        "Restore base layers",
        "replaced",
        page,
        options=list(REPLACED),
        required=True,
        format_func=RESTORED.__getitem__,
        help="For n from 0 to all, n transformer layers of the fine-tuned model are replaced by those of its base, and the sentence is "
        "asked again. The embeddings and the head of the last layer stay those of the fine-tuned model.",
    )


def _most(offered: int) -> str:
    return f"{MAX_MODELS} of {offered} models are asked, the maximum at once"


def _set(view: View, others: list[str], offered: int) -> list[str]:
    """The options that differ from their defaults, in words; a link may have set them."""
    own, words = selection.of(LiveSelection), []
    if others:
        words.append(f"compared with {listing([view.label(one) for one in others])}")
        if len(others) == MAX_MODELS - 1 and offered > MAX_MODELS:
            words.append(_most(offered))
    if own.live_head in live_models.HEADS:
        words.append(f"head {own.live_head}")
    if own.top != LiveSelection().top:
        words.append(f"top {own.top} per layer")
    if own.perturbation:
        words.append(f"the sentence {CHANGES[own.perturbation]} below")
    if own.replaced:
        words.append(f"{RESTORED[own.replaced]} restored below")
    return words


def named_models(view: View, offered: Mapping[str, live_models.Choice]) -> dict[str, str]:
    """Model -> its name in menus, with the place of one that does not ship."""
    return {one: view.label(one) + ("" if choice.where == "shipped" else f" ({choice.where})") for one, choice in offered.items()}


def choose_others(page: str, named: Mapping[str, str], others: Sequence[str]) -> None:
    """Draws the choice of the models that are asked the same.

    Args:
        page: part of the widget's key.
        named: of ``named_models``, without the first model.
        others: the chosen ones.
    """
    selection.bound(
        st.multiselect,
        "Compare with",
        "live_models",
        page,
        value=tuple(others),
        options=list(named),
        format_func=named.__getitem__,
        max_selections=MAX_MODELS - 1,
        placeholder="the same sentence for other models",
    )


def choose_head(page: str, head: str, **more: Any) -> None:
    """Draws the choice of the decoding heads.

    Args:
        page: part of the widget's key.
        head: the chosen kind; empty for the default.
        more: as for ``st.selectbox``.
    """
    selection.bound(
        st.selectbox, "Head", "live_head", page, value=head, options=["", *live_models.HEADS], format_func=live_models.head_name, **more
    )


def choose_model(page: str, name: str, named: Mapping[str, str], resets: Mapping[str, Any] | None = None, **more: Any) -> None:
    """Draws the choice of the model.

    Args:
        page: part of the widget's key.
        name: the chosen one.
        named: of ``named_models``.
        resets: further fields that belong to one model, as the named base does.
        more: as for ``st.selectbox``.
    """
    selection.bound(
        st.selectbox,
        "Model",
        "live_model",
        page,
        value=name,
        options=list(named),
        format_func=named.__getitem__,
        resets={"live_base": "", **(resets or {})},
        **more,
    )


def left_aside(offered: Mapping[str, live_models.Choice], name: str) -> None:
    """Reports the models and heads of a link that are not in the menu, and models beyond the maximum."""
    own = selection.of(LiveSelection)
    models = [one for one in dict.fromkeys((selection.current().live_model, *own.live_models)) if one and one not in offered]
    heads = [own.live_head] if own.live_head and own.live_head not in live_models.HEADS else []
    if models or heads:
        st.info(filled("Ignored, not in this menu: {names}", names=listing([*models, *heads])), icon=":material/link_off:")
    beside = [one for one in own.live_models if one in offered and one != name][MAX_MODELS - 1 :]
    if beside:
        st.info(
            filled("At most {most} models are asked. Ignored: {names}", most=MAX_MODELS, names=listing(beside)),
            icon=":material/link_off:",
        )


def _take_example() -> None:
    prompt = st.session_state["live.examples"]
    if prompt:
        selection.update(prompt=prompt, watch=dict(EXAMPLES)[prompt], mask=1)
    # Pills act as buttons here: unselected, the same one can be pressed again.
    st.session_state["live.examples"] = None
