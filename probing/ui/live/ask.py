"""The live page: a sentence with a gap, and the models that fill it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import streamlit as st

from probing.core.errors import ProbingError, PromptError
from probing.core.head_kinds import LOGIT_LENS, TIED
from probing.core.questions import SPELLINGS, Question
from probing.ui.frame import live_models, selection
from probing.ui.frame.live_models import Asked
from probing.ui.frame.page import View
from probing.ui.live import answer_view, controls, layer_swap, perturb
from probing.ui.live.selection import LiveSelection
from probing.ui.widgets import blocks
from probing.ui.widgets.markdown import escape, filled, listing

T = TypeVar("T")

MAX_WATCHED = 6


def answer(view: View, choices: list[live_models.Choice], head: str) -> None:
    """Asks the models and draws their predictions."""
    prompt = controls.sentence()
    if not prompt.strip():
        st.info(filled("Type a sentence with a gap, written {ways}.", ways=" or ".join(SPELLINGS)), icon=":material/edit:")
        return
    words = tuple(dict.fromkeys(word.strip() for word in controls.tracked().split(",") if word.strip()))
    if len(words) > MAX_WATCHED:
        st.caption(filled("At most {most} tokens are tracked.", most=MAX_WATCHED))
    wanted = head or LOGIT_LENS
    there = [found for number, choice in enumerate(choices) if (found := ready(view, choice, wanted, first=number == 0))]
    question = Question(prompt, head or _usual(view, there), max(selection.of(LiveSelection).top, 1), words[:MAX_WATCHED])
    gaps = _of_each([Asked(choice, question) for choice in there], live_models.gaps)
    there = [choice for choice in there if choice.name in gaps]
    if not there:
        return
    if max(gaps.values()) > 1:
        _ask_gaps(view, there, question, gaps)
        return
    asked = _followed(view, there, question)
    if not (answers := _of_each(asked, live_models.ask)):
        return
    answer_view.draw(view, answers)
    answered = [one for one in asked if one.choice.name in answers]
    perturb.draw(view, answered, answers)
    layer_swap.draw(view, answered)


def _usual(view: View, models: Sequence[live_models.Choice]) -> str:
    """The kind of heads that reads the models if the user names none; one line states that there are no trained ones."""
    lacking = live_models.untrained(models)
    if lacking:
        names = listing([view.label(choice.name) for choice in lacking])
        st.caption(filled(live_models.LENS_INSTEAD, names=names, head=TIED))
    return LOGIT_LENS if lacking else TIED


def _of_each(asked: Sequence[Asked], ask: Callable[[live_models.Choice, Question], T]) -> dict[str, T]:
    """Model -> result of ``ask``; shows errors, equal ones only once, such as an error of the sentence for every model."""
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


def ready(view: View, choice: live_models.Choice, head: str, *, first: bool) -> live_models.Choice | None:
    """Loads a model, with the base that the user names if it needs one; if that fails, shows the reason and returns None."""
    if live_models.missing_shipped(choice.location):
        blocks.missing(
            filled("The files of {name} are missing.", name=view.called(choice.name)),
            "python -m probing pretrain && python -m probing train-heads",
        )
        return None
    fetch = st.session_state.pop(f"live.fetch.{choice.name}", False)
    if not (choice.here or fetch):
        if live_models.offline():
            words = "{name} is not on this machine, and this server does not use the Hugging Face hub (HF\\_HUB\\_OFFLINE is set)."
            st.info(filled(words, name=view.called(choice.name)), icon=":material/cloud_off:")
            return None
        st.info(filled("{name} is not on this machine.", name=view.called(choice.name)), icon=":material/cloud_download:")
        # Only the button makes the server contact the hub, never a link, which may come from anybody.
        label = filled("Download {name} from the Hugging Face hub", name=view.called(choice.name))
        st.button(label, key=f"live.fetch.{choice.name}.button", on_click=_fetch, args=(choice.name,))
        return None
    if live_models.lacks_head(choice):
        choice = _with_base(view, choice, first=first)
        if not choice.base:
            return None
    try:
        with st.spinner(filled("Loading {name} …", name=view.called(choice.name)), show_time=True):
            live_models.load(choice, head, fetch)
    except ProbingError as error:
        blocks.problem(error)
        if head != LOGIT_LENS:
            st.button(
                "Use the logit lens, which needs no training",
                key=f"live.lens.{choice.name}",
                on_click=selection.update,
                kwargs={"live_head": LOGIT_LENS},
            )
        return None
    return replace(choice, here=True)


def _fetch(name: str) -> None:
    st.session_state[f"live.fetch.{name}"] = True


def _with_base(view: View, choice: live_models.Choice, *, first: bool) -> live_models.Choice:
    """The choice, completed by the base that the user names; only the first model's base can be named and is kept in links."""
    if not first:
        words = "{name} was saved without a masked-LM head. To name its base, choose it as the (first) model."
        st.info(filled(words, name=view.called(choice.name)), icon=":material/help:")
        return choice
    options = live_models.bases(live_models.choices(), choice)
    base = selection.of(LiveSelection).live_base if selection.of(LiveSelection).live_base in options else ""
    st.info(filled(live_models.WITHOUT_HEAD, name=view.called(choice.name)), icon=":material/help:")
    selection.bound(
        st.selectbox,
        filled("{name} was fine-tuned from", name=view.called(choice.name)),
        "live_base",
        view.page,
        value=base,
        options=["", *options],
        format_func=lambda name: view.label(name) if name else "choose its base",
    )
    return replace(choice, base=base)


def _followed(view: View, ready: Sequence[live_models.Choice], question: Question) -> list[Asked]:
    """Each model with the question, which tracks only words that are one token of the model; lists the other words."""
    found = []
    for choice in ready:
        try:
            watch, refused = live_models.watchable(choice, question)
        except PromptError:
            # Asking the model will report the error.
            watch, refused = (), ()
        found.append(Asked(choice, replace(question, watch=watch)))
        if refused:
            name = view.called(choice.name) if len(ready) > 1 else "this model"
            st.caption(filled("Not one token of {name}, so not tracked: {names}.", name=name, names=listing(refused)))
    return found


def _ask_gaps(view: View, ready: Sequence[live_models.Choice], question: Question, gaps: Mapping[str, int]) -> None:
    masks = max(gaps.values())
    mask = min(selection.of(LiveSelection).mask, masks)
    fillable = masks <= live_models.MAX_FILLED
    if not (mask or fillable):
        words = "The sentence has {n} gaps; at most {most} are filled here."
        st.info(filled(words, n=masks, most=live_models.MAX_FILLED), icon=":material/info:")
        mask = 1
    selection.bound(
        st.segmented_control,
        filled("The sentence has {n} gaps", n=masks),
        "mask",
        view.page,
        value=mask,
        options=[*range(1, masks + 1), *([0] if fillable else [])],
        required=True,
        format_func=lambda number: f"read gap {number}" if number else "fill all, left to right",
    )
    if selection.of(LiveSelection).perturbation:
        st.caption("Changed sentences (negated, misprimed, …) need exactly one gap.")
    # A mask in one model's own spelling is not a gap for other models.
    if fewer := [view.label(choice.name) for choice in ready if gaps[choice.name] < mask]:
        st.info(filled("No gap {mask} in this sentence for {names}.", mask=mask, names=listing(fewer)), icon=":material/info:")
    ready = [choice for choice in ready if gaps[choice.name] >= mask]
    asked = _followed(view, ready, replace(question, mask=mask - 1 if mask else None))
    if not mask:
        _fill(view, asked)
    elif answers := _of_each(asked, live_models.ask):
        answer_view.draw(view, answers)
        layer_swap.draw(view, [one for one in asked if one.choice.name in answers])


def _fill(view: View, asked: Sequence[Asked]) -> None:
    """Draws the sentence filled by every model, and one of its gaps."""
    given = _of_each(asked, live_models.fill)
    if not given:
        return
    for name, (text, _) in given.items():
        st.success(filled("{name}: {text}", name=view.called(name), text=text) if len(asked) > 1 else escape(text), icon=":material/edit:")
    st.caption("Each gap is filled with the last layer's best token before the next gap is asked.")
    # A model may recognise fewer gaps than another.
    places = range(max(len(answers) for _, answers in given.values()))
    with selection.open_tab("gap", {n + 1: filled("Gap {number}", number=n + 1) for n in places}, view.page) as place:
        here = {name: answers[place - 1] for name, (_, answers) in given.items() if place <= len(answers)}
        answer_view.draw(view, here, suffix=f"-{place}")
