"""The models that a sentence is asked: their choice, and loading them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import streamlit as st

from probing.choices import ALONE, AskSelection
from probing.kernel.app import blocks, live_models, selection
from probing.kernel.app.frame import View
from probing.kernel.app.live_models import Choice
from probing.kernel.app.texts import Markdown, filled, listing
from probing.kernel.errors import ProbingError
from probing.kernel.figures import theme
from probing.kernel.figures.looks import usual_colour
from probing.kernel.models.names import LOGIT_LENS
from probing.live.page_examples import base_runs

T = TypeVar("T")
Q = TypeVar("Q")

MAX_MODELS = 4


def chosen(view: View, most: int = MAX_MODELS) -> list[Choice]:
    """The models to ask, a base before those that were fine-tuned from it; by default those of Home."""
    offered, own = live_models.choices(), selection.of(AskSelection)
    name = first(view)
    others = [
        other for other in own.live_models or (_partner(view, offered, name),) if other in offered and other != name
    ]
    choices = [offered[choice] for choice in (name, *others)][:most]
    base = live_models.base_of(choices[0]) or own.live_base
    return sorted(choices, key=lambda choice: choice.name != base)


def first(view: View) -> str:
    """Name of the model that is chosen, by default Home's."""
    usual = str(base_runs(view)["model"].iloc[0]) if len(view.runs) else ""
    return live_models.pick(selection.current().live_model or usual, live_models.choices())


def is_named(view: View, choice: Choice) -> bool:
    """Whether the user chose a model, so that what it lacks is said; of a default one nothing is."""
    return choice.name == first(view) or choice.name in selection.of(AskSelection).live_models


def _partner(view: View, offered: dict[str, Choice], name: str) -> str:
    """Its base, else what was fine-tuned from it, first the one with the clearest finding; ``""`` if none is here."""
    if base := live_models.base_of(offered[name]):
        return base
    tuned = [
        tuned_name for tuned_name, choice in offered.items() if choice.here and live_models.base_of(choice) == name
    ]
    return next(iter(sorted(tuned, key=lambda option: not (view.clearest and option == view.clearest.model))), "")


def _named(view: View, offered: dict[str, Choice], name: str) -> str:
    return view.label(name) + ("" if offered[name].where == "shipped" else f" ({offered[name].where})")


def choose(view: View) -> None:
    """Draws the choice of the first model, of those on this machine, and says what the link names in vain."""
    offered, own = live_models.choices(), selection.of(AskSelection)
    name = first(view)
    selection.bound(
        st.selectbox,
        "Model",
        "live_model",
        view.page,
        value=name,
        options=[option for option, choice in offered.items() if choice.here or option == name],
        format_func=lambda option: _named(view, offered, option),
        resets={"live_base": "", "live_models": ()},
        label_visibility="collapsed",
        width=200,
    )
    left = [option for option in dict.fromkeys(own.live_models) if option in offered and option != name][
        MAX_MODELS - 1 :
    ]
    if left:
        words = "At most {most} models are asked. Ignored: {names}"
        st.info(filled(words, most=MAX_MODELS, names=listing(left)), icon=":material/link_off:")
    blocks.say_ignored(
        [
            option
            for option in dict.fromkeys((selection.current().live_model, *own.live_models))
            if option not in ("", ALONE, *offered)
        ],
        "this menu",
    )


def choose_others(view: View, most: int = MAX_MODELS) -> None:
    """Draws the choice of the models to compare with, and of one that would have to be fetched first."""
    offered, fetched = live_models.choices(), f"{view.page}.fetch"
    name = first(view)
    selected = [choice.name for choice in chosen(view) if choice.name != name]
    selection.bound(
        st.multiselect,
        "Compare with",
        "live_models",
        view.page,
        value=tuple(selected),
        options=[
            option for option, choice in offered.items() if option != name and (choice.here or option in selected)
        ],
        format_func=lambda option: _named(view, offered, option),
        max_selections=most - 1,
        placeholder="no other model",
    )
    elsewhere = [option for option, choice in offered.items() if not choice.here]
    if elsewhere and not live_models.offline():
        st.selectbox(
            "Fetch a model",
            elsewhere,
            index=None,
            key=fetched,
            on_change=lambda: selection.update(live_model=st.session_state[fetched] or name, live_models=(ALONE,)),
            placeholder="from the Hugging Face hub",
        )


def ready(view: View, choices: Sequence[Choice], head: str = LOGIT_LENS) -> list[Choice]:
    """Those of the models that can be loaded; says why the others cannot."""
    first_name = first(view)
    return [
        ready_choice
        for choice in choices
        if (ready_choice := _ready(view, choice, head, first=choice.name == first_name))
    ]


def _ready(view: View, choice: Choice, head: str, *, first: bool) -> Choice | None:
    name = view.name(choice.name)
    if live_models.missing_shipped(choice.location):
        blocks.missing(
            filled("The files of {name} are missing.", name=name),
            "python -m probing pretrain && python -m probing train-heads",
        )
        return None
    fetch = st.session_state.pop(f"ask.fetch.{choice.name}", False)
    if not (choice.here or fetch):
        if live_models.offline():
            words = (
                "{name} is not on this machine, and this server does not use the Hugging Face hub (HF\\_HUB\\_OFFLINE"
                " is set)."
            )
            st.info(filled(words, name=name), icon=":material/cloud_off:")
            return None
        st.info(filled("{name} is not on this machine.", name=name), icon=":material/cloud_download:")
        # Only the button makes the server contact the hub, never a link, which may come from anybody.
        label = filled("Download {name} from the Hugging Face hub", name=name)
        st.button(label, key=f"ask.fetch.{choice.name}.button", on_click=_fetch, args=(choice.name,))
        return None
    if live_models.lacks_head(choice):
        choice = _with_base(view, choice, first=first)
        if not choice.base:
            return None
    try:
        with st.spinner(filled("Loading {name} …", name=name), show_time=True):
            live_models.load(choice, head, fetch)
    except ProbingError as error:
        blocks.problem(error)
        if head != LOGIT_LENS:
            label = Markdown("Read with its own output layer, which needs no training")
            st.button(label, key=f"ask.lens.{choice.name}", on_click=selection.update, kwargs={"live_head": LOGIT_LENS})
        return None
    return replace(choice, here=True)


def _fetch(name: str) -> None:
    st.session_state[f"ask.fetch.{name}"] = True


def _with_base(view: View, choice: Choice, *, first: bool) -> Choice:
    """The choice, completed by the base that the user names, which links keep for the first model only."""
    st.info(filled(live_models.WITHOUT_HEAD, name=view.name(choice.name)), icon=":material/help:")
    if not first:
        st.caption("To name its base, choose it as the first model.")
        return choice
    return replace(choice, base=named_base(view, choice, live_models.bases(live_models.choices(), choice)))


def named_base(view: View, choice: Choice, options: Sequence[str]) -> str:
    """Draws the choice of the base of a model without a recorded one; ``""`` if none is chosen."""
    base = selection.of(AskSelection).live_base if selection.of(AskSelection).live_base in options else ""
    selection.bound(
        st.selectbox,
        filled("{name} was fine-tuned from", name=view.name(choice.name)),
        "live_base",
        view.page,
        value=base,
        options=["", *options],
        format_func=lambda name: view.label(name) if name else "choose its base",
    )
    return base


def of_each(questions: Mapping[Choice, Q], ask: Callable[[Choice, Q], T]) -> dict[str, T]:
    """Name of each model -> what ``ask`` returns for it and its question; shows errors, equal ones once."""
    answers: dict[str, T] = {}
    messages: set[str] = set()
    for choice, question in questions.items():
        try:
            answers[choice.name] = ask(choice, question)
        except ProbingError as error:
            if str(error) not in messages:
                blocks.problem(error)
            messages.add(str(error))
    return answers


def is_tuned(name: str) -> bool:
    """Whether a model of the menu was fine-tuned from another one, as far as is known."""
    choice = live_models.choices().get(name)
    return choice is not None and bool(live_models.base_of(choice))


def colours_of(view: View, names: Sequence[str]) -> dict[str, str]:
    """Model -> colour: the first base and the first fine-tuned one as in the grids, further ones as on other pages."""
    colours: dict[str, str] = {}
    for name in names:
        free = [
            theme.TUNED if is_tuned(name) else theme.BASE,
            view.all_colours.get(name),
            usual_colour(name),
            *theme.PALETTE,
        ]
        colours[name] = next((colour for colour in free if colour and colour not in colours.values()), theme.NEUTRAL)
    return colours


def labelled_colours(view: View, names: Sequence[str]) -> dict[str, str]:
    """The same by the names in figures."""
    return {view.label(name): colour for name, colour in colours_of(view, names).items()}
