"""The live page: a sentence with a gap, and who is asked to fill it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import streamlit as st

from probing.core.errors import ProbingError, PromptError
from probing.core.facts.fact import MASK
from probing.core.questions import Question
from probing.ui.frame import live_models, selection
from probing.ui.frame.live_models import Asked
from probing.ui.frame.page import View
from probing.ui.live import answer_view, layer_swap, perturb
from probing.ui.live.selection import LiveSelection
from probing.ui.widgets import blocks
from probing.ui.widgets.markdown import escape, filled, listing

T = TypeVar("T")

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


def _typed() -> tuple[str, str]:
    """The sentence and the words to follow; where none is typed, those of the first example."""
    prompt, words = EXAMPLES[0]
    own = selection.of(LiveSelection)
    return own.prompt or prompt, own.watch if own.prompt else own.watch or words


def controls(view: View) -> tuple[list[live_models.Choice], str]:
    """Sentence, examples, watched words, models and head; returns the models, that of ``live_model`` first, and the head."""
    page, own, (prompt, words) = view.page, selection.of(LiveSelection), _typed()
    offered = live_models.choices()
    selection.bound(
        st.text_area, filled("A sentence with a gap, written {mask}", mask=MASK), "prompt", page,
        value=prompt, height=80,
        max_chars=selection.MAX_TEXT,
    )  # fmt: skip
    st.pills("Ready examples", [prompt for prompt, _ in EXAMPLES], key="live.examples", on_change=_take_example, format_func=escape)
    watched, model, head = st.columns([3, 2, 1])
    with watched:
        selection.bound(
            st.text_input, "Words to follow through the layers", "watch", page, value=words, max_chars=200,
            placeholder="berlin, paris", help="Separated by commas; each must be one token of the model.",
        )  # fmt: skip
    with model:
        name = live_models.pick(selection.current().live_model, offered)
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
        kind = own.live_head if own.live_head in live_models.HEADS else live_models.HEADS[0]
        selection.bound(
            st.selectbox, "Head", "live_head", page, value=kind, options=list(live_models.HEADS),
            help="tied: a trained transform per layer, the vocabulary shared. lens: the pre-trained head on every layer, no training. "
            "full: everything trained per layer. least_squares: the pre-trained head behind the affine map from the layer to the last that "
            "fits best. tuned_lens: such a map trained to the last layer's distribution.",
        )  # fmt: skip
    others = [other for other in own.live_models if other in offered and other != name][: MOST_MODELS - 1]
    selection.bound(
        st.multiselect, "Beside it", "live_models", page, value=tuple(others), options=[other for other in offered if other != name],
        format_func=lambda one: offered[one].label, max_selections=MOST_MODELS - 1, placeholder="the same sentence for other models",
    )  # fmt: skip
    _left_aside(offered, name)
    return [offered[one] for one in (name, *others)], kind


def _left_aside(offered: dict[str, live_models.Choice], name: str) -> None:
    """Says what a link names that cannot be asked here, or not beside the others."""
    own = selection.of(LiveSelection)
    models = [one for one in dict.fromkeys((selection.current().live_model, *own.live_models)) if one and one not in offered]
    heads = [own.live_head] if own.live_head and own.live_head not in live_models.HEADS else []
    if models or heads:
        st.info(filled("Not in this menu, so left aside: {names}", names=listing([*models, *heads])), icon=":material/link_off:")
    beside = [one for one in own.live_models if one in offered and one != name][MOST_MODELS - 1 :]
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
    prompt, typed = _typed()
    words = tuple(dict.fromkeys(word.strip() for word in typed.split(",") if word.strip()))
    if len(words) > MOST_WATCHED:
        st.caption(filled("At most {most} words are followed.", most=MOST_WATCHED))
    question = Question(prompt, head, max(selection.of(LiveSelection).top, 1), words[:MOST_WATCHED])
    ready = [found for number, choice in enumerate(choices) if (found := _ready(view, choice, head, first=number == 0))]
    gaps = _of_each([Asked(choice, question) for choice in ready], live_models.gaps)
    ready = [choice for choice in ready if choice.name in gaps]
    if not ready:
        return
    if max(gaps.values()) > 1:
        _ask_gaps(view, ready, question, gaps)
        return
    asked = _followed(ready, question)
    if not (answers := _of_each(asked, live_models.ask)):
        return
    answer_view.draw(view, answers)
    answered = [one for one in asked if one.choice.name in answers]
    perturb.draw(view, answered, answers)
    layer_swap.draw(view, answered)


def _of_each(asked: Sequence[Asked], ask: Callable[[live_models.Choice, Question], T]) -> dict[str, T]:
    """Model -> what it gives; why a model cannot be asked is said, and what is wrong with the sentence for every model is said once."""
    found: dict[str, T] = {}
    said: set[str] = set()
    for one in asked:
        try:
            found[one.choice.name] = ask(one.choice, one.question)
        except ProbingError as error:
            if str(error) not in said:
                blocks.problem(error)
            said.add(str(error))
    return found


def _ready(view: View, choice: live_models.Choice, head: str, *, first: bool) -> live_models.Choice | None:
    """Loads a model, with the base that the visitor names where it needs one; says what is missing if that fails."""
    if live_models.missing_shipped(choice.location):
        blocks.missing(
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
        blocks.problem(error)
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
    base = selection.of(LiveSelection).live_base if selection.of(LiveSelection).live_base in options else ""
    st.info(filled(live_models.WITHOUT_HEAD, name=choice.name), icon=":material/help:")
    selection.bound(
        st.selectbox, filled("{name} was fine-tuned from", name=choice.name), "live_base", view.page, value=base, options=["", *options],
        format_func=lambda name: name or "choose its base",
    )  # fmt: skip
    return replace(choice, base=base)


def _followed(ready: Sequence[live_models.Choice], question: Question) -> list[Asked]:
    """Each model with the question and those of its words that are one token of the model; names the others."""
    found = []
    for choice in ready:
        try:
            watch, refused = live_models.watchable(choice, question)
        except PromptError:
            # Asking says why.
            watch, refused = (), ()
        found.append(Asked(choice, replace(question, watch=watch)))
        if refused:
            name = choice.name if len(ready) > 1 else "this model"
            st.caption(filled("Not one token of {name}, so not followed: {names}.", name=name, names=listing(refused)))
    return found


def _ask_gaps(view: View, ready: Sequence[live_models.Choice], question: Question, gaps: Mapping[str, int]) -> None:
    masks = max(gaps.values())
    mask = min(selection.of(LiveSelection).mask, masks)
    selection.bound(
        st.segmented_control, filled("The sentence has {n} gaps", n=masks), "mask", view.page, value=mask,
        options=[*range(1, masks + 1), 0],
        required=True, format_func=lambda number: f"read gap {number}" if number else "fill all, left to right",
    )  # fmt: skip
    if selection.of(LiveSelection).behaviour:
        st.caption("Changed sentences (negated, misprimed, …) are asked with one gap only.")
    # One model writes its mask as [MASK], another as <mask>, and so sees fewer gaps.
    if fewer := [choice.name for choice in ready if gaps[choice.name] < mask]:
        st.info(filled("No gap {mask} in this sentence for {names}.", mask=mask, names=listing(fewer)), icon=":material/info:")
    ready = [choice for choice in ready if gaps[choice.name] >= mask]
    asked = _followed(ready, replace(question, mask=mask - 1 if mask else None))
    if not mask:
        _fill(view, asked)
    elif answers := _of_each(asked, live_models.ask):
        answer_view.draw(view, answers)
        layer_swap.draw(view, [one for one in asked if one.choice.name in answers])


def _fill(view: View, asked: Sequence[Asked]) -> None:
    """Every gap filled by every model, and a tab a gap."""
    given = _of_each(asked, live_models.fill)
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
            answer_view.draw(view, here, suffix=f"-{place + 1}")
