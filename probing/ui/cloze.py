"""The live page: a sentence with a gap, and who is asked to fill it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

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
WITHOUT_HEAD = "{name} was saved without a masked-LM head, so the head of the model that it was fine-tuned from reads it."
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
            # A base is named for one model.
            resets={"live_base": ""},
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
    if len(words) > MOST_WATCHED:
        st.caption(filled("At most {most} words are followed.", most=MOST_WATCHED))
    ready = [found for number, choice in enumerate(choices) if (found := _ready(view, choice, head, first=number == 0))]
    gaps = _of_each(ready, lambda one: live_models.gaps(one, head, prompt))
    ready = [choice for choice in ready if choice.name in gaps]
    if not ready:
        return
    if max(gaps.values()) > 1:
        _ask_gaps(view, ready, head, prompt, words[:MOST_WATCHED], gaps)
        return
    asked = _followed(ready, head, prompt, words[:MOST_WATCHED], None)
    if not (answers := _answers(asked, head, prompt, None)):
        return
    cloze_answer.draw(view, answers)
    answered = [(one.choice, one.watch) for one in asked if one.choice.name in answers]
    cloze_behaviours.draw(view, answered, head, answers)
    cloze_replacement.draw(view, answered, head, prompt, None)


def _of_each(choices: Sequence[live_models.Choice], ask: "Callable[[live_models.Choice], Any]") -> dict[str, Any]:
    """Model -> what it gives; why a model cannot be asked is said, and what is wrong with the sentence for every model is said once."""
    found: dict[str, Any] = {}
    said: set[str] = set()
    for choice in choices:
        try:
            found[choice.name] = ask(choice)
        except ProbingError as error:
            if str(error) not in said:
                parts.problem(error)
            said.add(str(error))
    return found


def _ready(view: View, choice: live_models.Choice, head: str, *, first: bool) -> live_models.Choice | None:
    """Loads a model, with the base that the visitor names where it needs one; says what is missing if that fails."""
    if live_models.missing_shipped(choice.location):
        parts.missing(
            filled("The files of {name} are not here.", name=choice.name), "python -m probing pretrain && python -m probing train-heads"
        )
        return None
    fetch = st.session_state.pop(f"live.fetch.{choice.name}", False)
    if not (choice.here or fetch):
        st.info(filled("{name} is not on this machine.", name=choice.name), icon=":material/cloud_download:")
        # Only who presses it makes the server ask the hub: a link may be anybody's.
        label = filled("Fetch {name} from the Hugging Face hub", name=choice.name)
        st.button(label, key=f"live.fetch.{choice.name}.button", on_click=_fetch, args=(choice.name,))
        return None
    if live_models.lacks_head(choice):
        choice = _with_base(view, choice, first=first)
        if not choice.base:
            return None
    try:
        with st.spinner(filled("Loading {name} …", name=choice.name), show_time=True):
            live_models.load(choice, head, fetch)
    except ProbingError as error:
        parts.problem(error)
        if head != "lens":
            st.button(
                "Use the lens head, which needs no training", key=f"live.lens.{choice.name}", on_click=selection.update,
                kwargs={"live_head": "lens"},
            )  # fmt: skip
        return None
    return replace(choice, here=True)


def _fetch(name: str) -> None:
    st.session_state[f"live.fetch.{name}"] = True


def _with_base(view: View, choice: live_models.Choice, *, first: bool) -> live_models.Choice:
    """The choice with the base whose head reads it, once the visitor has named that; a link keeps it for the first model."""
    if not first:
        words = "{name} was saved without a masked-LM head. Choose it as the model, and its base can be named."
        st.info(filled(words, name=choice.name), icon=":material/help:")
        return choice
    options = live_models.bases(live_models.choices(), choice)
    base = selection.current().live_base if selection.current().live_base in options else ""
    st.info(filled(WITHOUT_HEAD, name=choice.name), icon=":material/help:")
    selection.bound(
        st.selectbox, filled("{name} was fine-tuned from", name=choice.name), "live_base", view.page, value=base, options=["", *options],
        format_func=lambda name: name or "choose its base",
    )  # fmt: skip
    return replace(choice, base=base)


def _followed(ready: Sequence[live_models.Choice], head: str, prompt: str, words: tuple[str, ...], mask: int | None) -> list[Asked]:
    """Each model with the words that are one token of it at the mask (at every mask, if none is chosen); names the others."""
    found = []
    for choice in ready:
        try:
            watch, refused = live_models.watchable(choice, head, words, prompt, mask)
        except PromptError:
            # Asking says why.
            watch, refused = (), ()
        found.append(Asked(choice, watch))
        if refused:
            name = choice.name if len(ready) > 1 else "this model"
            st.caption(filled("Not one token of {name}, so not followed: {names}.", name=name, names=listing(refused)))
    return found


def _answers(asked: Sequence[Asked], head: str, prompt: str, mask: int | None) -> "dict[str, Answer]":
    """Model -> answer; a model that cannot be asked this is named."""
    top, watch = max(selection.current().top, 1), {one.choice.name: one.watch for one in asked}
    return _of_each([one.choice for one in asked], lambda one: live_models.ask(one, head, prompt, top, watch[one.name], mask))


def _ask_gaps(
    view: View, ready: Sequence[live_models.Choice], head: str, prompt: str, words: tuple[str, ...], gaps: Mapping[str, int]
) -> None:
    masks = max(gaps.values())
    mask = min(selection.current().mask, masks)
    selection.bound(
        st.segmented_control, filled("The sentence has {n} gaps", n=masks), "mask", view.page, value=mask,
        options=[*range(1, masks + 1), 0],
        required=True, format_func=lambda number: f"read gap {number}" if number else "fill all, left to right",
    )  # fmt: skip
    if selection.current().behaviour:
        st.caption("Changed sentences (negated, misprimed, …) are asked with one gap only.")
    # One model writes its mask as [MASK], another as <mask>, and so sees fewer gaps.
    if fewer := [choice.name for choice in ready if gaps[choice.name] < mask]:
        st.info(filled("No gap {mask} in this sentence for {names}.", mask=mask, names=listing(fewer)), icon=":material/info:")
    ready = [choice for choice in ready if gaps[choice.name] >= mask]
    asked = _followed(ready, head, prompt, words, mask - 1 if mask else None)
    if not mask:
        _fill(view, asked, head, prompt)
    elif answers := _answers(asked, head, prompt, mask - 1):
        cloze_answer.draw(view, answers)
        answered = [(one.choice, one.watch) for one in asked if one.choice.name in answers]
        cloze_replacement.draw(view, answered, head, prompt, mask - 1)


def _fill(view: View, asked: Sequence[Asked], head: str, prompt: str) -> None:
    """Every gap filled by every model, and a tab a gap."""
    top, watch = max(selection.current().top, 1), {one.choice.name: one.watch for one in asked}
    given = _of_each([one.choice for one in asked], lambda one: live_models.fill(one, head, prompt, top, watch[one.name]))
    if not given:
        return
    for name, (text, _) in given.items():
        st.success(filled("{name}: {text}", name=name, text=text) if len(asked) > 1 else escape(text), icon=":material/edit:")
    st.caption("Each gap is filled with the last layer's best token before the next is asked.")
    # A model may see fewer gaps: one writes its mask as [MASK], another as <mask>.
    places = range(max(len(answers) for _, answers in given.values()))
    for place, tab in enumerate(st.tabs([filled("Gap {number}", number=place + 1) for place in places])):
        with tab:
            here = {name: answers[place] for name, (_, answers) in given.items() if place < len(answers)}
            cloze_answer.draw(view, here, suffix=f"-{place + 1}")
