"""The live page: a sentence with a gap, and who is asked to fill it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from probing.core.errors import ProbingError, PromptError
from probing.core.facts import MASK
from probing.ui import cloze_answer, cloze_behaviours, cloze_replacement, live_models, parts, selection
from probing.ui.page import View
from probing.ui.text import escape, filled, listing

if TYPE_CHECKING:
    from probing.models.live import Answer

MOST_WATCHED = 6
MOST_MODELS = 4
EXAMPLES = (
    ("The capital of France is [MASK].", "paris, lyon"),
    ("Windows Media Player is a product made by [MASK].", "microsoft, apple"),
    ("Rocky Balboa was born in [MASK].", "philadelphia"),
    ("In San Marino, official documents are written in [MASK].", "italian, english"),
    ("Fresh snow is [MASK].", "white, black"),
    ("A robin is not a [MASK].", "bird"),
    ("[MASK] is the capital of [MASK].", "paris, france"),
)


@dataclass(frozen=True)
class Asked:
    """A model that is ready to be asked, and the followed words that it knows as one token."""

    choice: live_models.Choice
    watch: tuple[str, ...]


def controls(view: View) -> tuple[list[live_models.Choice], str]:
    """Sentence, examples, watched words, models and head; returns the models, that of ``live_model`` first, and the head."""
    page, chosen = view.page, selection.current()
    offered = live_models.choices()
    selection.bound(
        st.text_area, filled("A sentence with a gap, written {mask}", mask=MASK), "prompt", page,
        value=chosen.prompt or EXAMPLES[0][0], height=80,
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
    others = [other for other in chosen.live_models if other in offered and other != name][: MOST_MODELS - 1]
    selection.bound(
        st.multiselect, "Beside it", "live_models", page, value=tuple(others), options=[other for other in offered if other != name],
        format_func=lambda one: offered[one].label, max_selections=MOST_MODELS - 1, placeholder="the same sentence for other models",
    )  # fmt: skip
    _left_aside(chosen, offered, name)
    return [offered[one] for one in (name, *others)], kind


def _left_aside(chosen: selection.Selection, offered: dict[str, live_models.Choice], name: str) -> None:
    """Says what a link names that cannot be asked here, or not beside the others."""
    models = [one for one in dict.fromkeys((chosen.live_model, *chosen.live_models)) if one and one not in offered]
    heads = [chosen.live_head] if chosen.live_head and chosen.live_head not in live_models.HEADS else []
    if models or heads:
        st.info(filled("Not in this menu, so left aside: {names}", names=listing([*models, *heads])), icon=":material/link_off:")
    beside = [one for one in chosen.live_models if one in offered and one != name][MOST_MODELS - 1 :]
    if beside:
        st.info(
            filled("At most {most} models are asked, so left aside: {names}", most=MOST_MODELS, names=listing(beside)),
            icon=":material/link_off:",
        )


def _take_example() -> None:
    prompt = st.session_state["live.examples"]
    if prompt:
        selection.update(prompt=prompt, watch=dict(EXAMPLES)[prompt], mask=1)
    # A pill is a button here: pressed again it works again.
    st.session_state["live.examples"] = None


def answer(view: View, choices: list[live_models.Choice], head: str) -> None:
    """Asks, and draws what comes back."""
    chosen = selection.current()
    prompt = chosen.prompt or EXAMPLES[0][0]
    typed = chosen.watch if chosen.prompt else chosen.watch or EXAMPLES[0][1]
    words = tuple(dict.fromkeys(word.strip() for word in typed.split(",") if word.strip()))
    ready = [choice for choice in choices if _ready(choice, head)]
    asked = []
    for choice in ready:
        watch, refused = live_models.watchable(choice.location, head, words[:MOST_WATCHED])
        asked.append(Asked(choice, watch))
        if refused:
            name = choice.name if len(ready) > 1 else "this model"
            st.caption(filled("Not one token of {name}, so not followed: {names}.", name=name, names=listing(refused)))
    if len(words) > MOST_WATCHED:
        st.caption(filled("At most {most} words are followed.", most=MOST_WATCHED))
    if asked:
        _ask(view, asked, head, prompt)


def _ready(choice: live_models.Choice, head: str) -> bool:
    """Loads a model; says what is missing if that fails."""
    if live_models.missing_shipped(choice.location):
        parts.missing(
            filled("The files of {name} are not here.", name=choice.name), "python -m probing pretrain && python -m probing train-heads"
        )
        return False
    try:
        with st.spinner(filled("Loading {name} …", name=choice.name), show_time=True):
            live_models.load(choice.location, head)
    except ProbingError as error:
        parts.problem(error)
        if head != "lens":
            st.button(
                "Use the lens head, which needs no training", key=f"live.lens.{choice.name}", on_click=selection.update,
                kwargs={"live_head": "lens"},
            )  # fmt: skip
        return False
    return True


def _ask(view: View, asked: list[Asked], head: str, prompt: str) -> None:
    top = max(selection.current().top, 1)
    try:
        answers = _answers(asked, head, prompt, top, None)
    except PromptError as error:
        _ask_gaps(view, asked, head, prompt, len(error.positions))  # type: ignore[attr-defined]
        return
    if not answers:
        return
    cloze_answer.draw(view, answers)
    answered = [(one.choice, one.watch) for one in asked if one.choice.name in answers]
    cloze_behaviours.draw(view, answered, head, answers)
    cloze_replacement.draw(view, answered, head, prompt, None)


def _answers(asked: list[Asked], head: str, prompt: str, top: int, mask: int | None) -> "dict[str, Answer]":
    """Model -> answer; a model that cannot be asked this is named.

    Raises:
        PromptError: with ``positions``, if the sentence has several gaps and none is chosen.
    """
    answers: dict[str, Answer] = {}
    told: set[str] = set()
    for one in asked:
        try:
            answers[one.choice.name] = live_models.ask(one.choice.location, head, prompt, top, one.watch, mask)
        except ProbingError as error:
            # Not its class: that would load torch.
            if getattr(error, "positions", None):
                raise
            # What is wrong with the sentence is wrong for every model: it is said once.
            if str(error) not in told:
                parts.problem(error)
            told.add(str(error))
    return answers


def _ask_gaps(view: View, asked: list[Asked], head: str, prompt: str, masks: int) -> None:
    top = max(selection.current().top, 1)
    mask = min(selection.current().mask, masks)
    selection.bound(
        st.segmented_control, filled("The sentence has {n} gaps", n=masks), "mask", view.page, value=mask,
        options=[*range(1, masks + 1), 0],
        required=True, format_func=lambda number: f"read gap {number}" if number else "fill all, left to right",
    )  # fmt: skip
    if selection.current().behaviour:
        st.caption("Changed sentences (negated, misprimed, …) are asked with one gap only.")
    if mask:
        if answers := _answers(asked, head, prompt, top, mask - 1):
            cloze_answer.draw(view, answers)
            answered = [(one.choice, one.watch) for one in asked if one.choice.name in answers]
            cloze_replacement.draw(view, answered, head, prompt, mask - 1)
        return
    given = {}
    for one in asked:
        text, given[one.choice.name] = live_models.fill(one.choice.location, head, prompt, top, one.watch)
        st.success(filled("{name}: {text}", name=one.choice.name, text=text) if len(asked) > 1 else escape(text), icon=":material/edit:")
    st.caption("Each gap is filled with the last layer's best token before the next is asked.")
    for place, tab in enumerate(st.tabs([filled("Gap {number}", number=number + 1) for number in range(masks)])):
        with tab:
            cloze_answer.draw(view, {name: answers[place] for name, answers in given.items()}, suffix=f"-{place + 1}")
