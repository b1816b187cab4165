"""The models that a sentence is asked and what is kept of questions; torch is loaded only when a model is asked."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import streamlit as st

from probing.changes.minimal_pairs import MinimalPair
from probing.choices import ALONE, AskSelection
from probing.edges.targets import Span
from probing.edges.words import SpanTrace
from probing.facts.page_clearest import clearest
from probing.kernel.app import blocks, selection
from probing.kernel.app.frame import View
from probing.kernel.app.memory import KeptByBytes
from probing.kernel.app.texts import Markdown, escape, filled, listing
from probing.kernel.errors import ProbingError, PromptError
from probing.kernel.fact import MASK
from probing.kernel.files import State, cache_folder
from probing.kernel.models.names import BERT, LOGIT_LENS
from probing.live import page_live_models as live_models
from probing.live.page_examples import base_runs
from probing.live.page_live_models import Choice

if TYPE_CHECKING:
    from probing.changes.passes import Attending, SentenceAttention
    from probing.edges.ask import TaskProbes as EdgeProbes
    from probing.kernel.models.queue import Turn
    from probing.live.ask import LiveModel
    from probing.sentences.ask import Verdicts
    from probing.sentences.probes import TaskProbes

T = TypeVar("T")
Q = TypeVar("Q")

MAX_MODELS = 4
_MARKS = ".,;:!?\"'()"
#: What belongs to the sentence, and is reset by another one.
_OF_SENTENCE = ("right", "mask", "cell", "span1", "span2", "attending", "swapped", "swap_into", "hidden_words")


def fresh() -> dict[str, Any]:
    """What a new sentence resets."""
    return {name: selection.default_of("ask", name) for name in (*_OF_SENTENCE, "unlikelier", "minimal_pair")}


def choose_example(key: str, examples: Mapping[str, Mapping[str, Any]]) -> None:
    """Draws example sentences behind a button, each with what it sets beside the sentence."""
    with st.popover("Examples", icon=":material/lightbulb:"):
        for number, (prompt, changes) in enumerate(examples.items()):
            st.button(
                escape(prompt),
                key=f"ask.{key}.{number}",
                type="tertiary",
                on_click=selection.update,
                kwargs={**fresh(), "prompt": prompt, **changes},
            )


def choose_word(sentence: str) -> None:
    """Draws the words of a sentence without a gap; the chosen one becomes the gap, and is the right word."""
    blocks.sentence(Markdown("This sentence has no gap: choose the word to ask for."))
    words = sentence.split()

    def take() -> None:
        at = st.session_state["ask.word"]
        gap = re.sub(r"\w(?:.*\w)?", MASK, words[at], count=1)
        right = words[at].strip(_MARKS)
        selection.update(prompt=" ".join([*words[:at], gap, *words[at + 1 :]]), right=right, mask=1)

    st.session_state["ask.word"] = None
    st.pills(
        "Words of the sentence",
        [at for at, word in enumerate(words) if re.search(r"\w", word)],
        key="ask.word",
        on_change=take,
        format_func=lambda at: escape(words[at].strip(_MARKS)),
        label_visibility="collapsed",
    )


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
    """Name of the model that is chosen, by default ``usual``."""
    name, offered = selection.current().live_model, live_models.choices()
    return name if name in offered else usual(view, offered) or next(iter(offered))


def usual(view: View, offered: Mapping[str, Choice]) -> str:
    """The model of this machine that is asked if none is chosen: BERT, else Home's, else the menu's first."""
    names = BERT, str(base_runs(view)["model"].iloc[0]) if len(view.runs) else ""
    return next((name for name in (*names, *offered) if name in offered and offered[name].here), "")


def usual_choices(view: View) -> list[Choice]:
    """That model and, of what is on this machine, its base or one that was fine-tuned from it."""
    offered = live_models.choices()
    names = (name := usual(view, offered)) and [name, _partner(view, offered, name)]
    return [offered[one] for one in names if one and offered[one].here]


def is_named(view: View, choice: Choice) -> bool:
    """Whether the user chose a model, so that what it lacks is said; of a default one nothing is."""
    return choice.name == first(view) or choice.name in selection.of(AskSelection).live_models


def _partner(view: View, offered: dict[str, Choice], name: str) -> str:
    """Its base, else what was fine-tuned from it, first the one with the clearest finding; ``""`` if none is here."""
    if base := live_models.base_of(offered[name]):
        return base
    stored = dict(zip(view.runs["model"], view.runs["base"], strict=True)) if len(view.runs) else {}
    tuned = [
        tuned_name
        for tuned_name, choice in offered.items()
        if choice.here and name in (live_models.base_of(choice), stored.get(tuned_name))
    ]
    telling = clearest(view)
    return next(iter(sorted(tuned, key=lambda option: option != telling)), "")


def _named(view: View, offered: dict[str, Choice], name: str) -> str:
    return view.label(name) + ("" if offered[name].where == "shipped" else f" ({offered[name].where})")


def choose(view: View) -> None:
    """Draws the choice of the first model, of those on this machine, and says what the link names in vain."""
    offered, own = live_models.choices(), selection.of(AskSelection)
    name = first(view)
    selection.bound(
        "live_model",
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
        blocks.note("At most {n} models are asked. Ignored: {names}", "link_off", n=MAX_MODELS, names=listing(left))
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
        "live_models",
        value=tuple(selected),
        options=[
            option for option, choice in offered.items() if option != name and (choice.here or option in selected)
        ],
        format_func=lambda option: _named(view, offered, option),
        max_selections=most - 1,
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
            "The files of {name} are missing.", "python -m probing pretrain && python -m probing train-heads", name=name
        )
        return None
    fetch = st.session_state.pop(f"ask.fetch.{choice.name}", False)
    if not (choice.here or fetch):
        if live_models.offline():
            words = (
                "{name} is not on this machine, and this server does not use the Hugging Face hub (HF\\_HUB\\_OFFLINE"
                " is set)."
            )
            blocks.note(words, "cloud_off", name=name)
            return None
        blocks.note("{name} is not on this machine.", "cloud_download", name=name)
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
    blocks.note(live_models.WITHOUT_HEAD, "help", name=view.name(choice.name))
    if not first:
        st.caption("To name its base, choose it as the first model.")
        return choice
    return replace(choice, base=named_base(view, choice, live_models.bases(live_models.choices(), choice)))


def named_base(view: View, choice: Choice, options: Sequence[str]) -> str:
    """Draws the choice of the base of a model without a recorded one; ``""`` if none is chosen."""
    words = {"": "choose its base", **{name: view.label(name) for name in options}}
    base: str = selection.bound(
        "live_base", filled("{name} was fine-tuned from", name=view.name(choice.name)), options=words
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


def labelled_colours(view: View, names: Sequence[str]) -> dict[str, str]:
    """The colours of models by their names in figures."""
    return {view.label(name): colour for name, colour in view.colours_of(names).items()}


#: Bytes of attention kept in memory: two sentences of 500 tokens in BERT-base, or a thousand short ones.
ATTENTION_BYTES = 320 << 20
Stamps = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class SpanQuestion:
    """The words of a sentence, and none, one or two chosen spans."""

    words: tuple[str, ...]
    spans: tuple[Span, ...]

    def text(self, span: Span) -> str:
        return " ".join(self.words[span[0] : span[1]])


@dataclass(frozen=True)
class Readers:
    """The probes that read a model, by task: its own, or its base's (``of``, with the identity of its ``weights``)."""

    choice: Choice
    of: Choice
    weights: str
    files: dict[str, Path]


def readers(choice: Choice, *, of_base: bool) -> Readers:
    """The probes of a model, or of its base if that is wanted and the base is on this machine."""
    base = live_models.choices().get(live_models.base_of(choice)) if of_base else None
    of = base if base is not None and base.here else choice

    def found(_turn: "Turn", live: "LiveModel") -> Readers:
        from probing.edges.ask import find_probes

        encoder = live.encoder
        return Readers(choice, of, encoder.weights_id, find_probes(encoder.name, encoder.weights_id, cache_folder()))

    return live_models.in_turn(of, found)


def span_answers(reading: Readers, question: SpanQuestion) -> tuple[SpanTrace, ...]:
    """The predictions of all tasks that fit the chosen spans."""
    stamps = tuple((str(path), path.stat().st_mtime_ns) for path in reading.files.values())
    return _span_answers(reading.choice, reading.weights, stamps, question, live_models.state_of(reading.choice))


@st.cache_data(max_entries=64, show_spinner=False)
def _span_answers(
    choice: Choice, weights: str, stamps: Stamps, question: SpanQuestion, state: State
) -> tuple[SpanTrace, ...]:
    probes = [_edge_probes(path, changed) for path, changed in stamps]

    def answered(_turn: "Turn", live: "LiveModel") -> tuple[SpanTrace, ...]:
        from probing.edges.ask import ask_sentence

        span1, span2 = (*question.spans, None)[:2]
        assert span1 is not None
        return tuple(ask_sentence(live.encoder, probes, question.words, span1, span2, weights))

    return live_models.in_turn(choice, answered)


@st.cache_resource(max_entries=48, show_spinner=False)
def _edge_probes(path: str, changed: int) -> "EdgeProbes":
    from probing.edges.ask import read_probes

    return read_probes(Path(path))


def attention(choice: Choice, base: Choice | None, text: str, pair: str) -> "SentenceAttention":
    """The attention of a model, and of the model compared with it; refused if the two tokenise the text differently."""
    state = [live_models.state_of(model) for model in (choice, base) if model]
    key, cache = (choice, base, text, pair, *state), _attention()
    if (attention := cache.find(key)) is not None:
        return attention

    def ask(turn: "Turn", *live: "LiveModel") -> "SentenceAttention":
        from probing.changes.passes import ask_attention

        model, *further = [_attending(loaded) for loaded in live]
        return ask_attention(text, model, further[0] if further else None, pair, turn.pause)

    return cache.keep(key, live_models.in_turn(choice, ask, *([base] if base else [])))


@st.cache_resource(show_spinner=False)
def _attention() -> "KeptByBytes[SentenceAttention]":
    """The attention of the last sentences of all users."""
    return KeptByBytes(ATTENTION_BYTES)


@st.cache_resource(show_spinner=False)
def _eager() -> "WeakKeyDictionary[LiveModel, Attending]":
    """Copies of the loaded models that return attention; they share all weights, and are dropped with them."""
    return WeakKeyDictionary()


def _attending(live: "LiveModel") -> "Attending":
    """The copy of a model that returns attention; called while the device is held, so that it is made only once."""
    from probing.changes.passes import Attending

    copies = _eager()
    if live not in copies:
        copies[live] = Attending(live.encoder)
    return copies[live]


def probes_of(choice: Choice) -> Stamps:
    """The files of a model's sentence probes, each with the time of its last change."""
    from probing.sentences.probes import find_probes

    encoder = live_models.load(choice, LOGIT_LENS).encoder
    files = find_probes(encoder.name, encoder.weights_id, cache_folder())
    return tuple((str(path), path.stat().st_mtime_ns) for path in files.values())


@st.cache_resource(max_entries=128, show_spinner=False)
def read(path: str, changed: int) -> "TaskProbes":
    """The probes in a file."""
    from probing.sentences.probes import read_probes

    return read_probes(Path(path))


def verdicts(choice: Choice, stamps: Stamps, text: str, pair: str) -> "list[Verdicts]":
    """The predictions of all probes whose task has as many sentences."""
    return _verdicts(choice, stamps, text, pair, live_models.state_of(choice))


@st.cache_data(max_entries=128, show_spinner=False)
def _verdicts(choice: Choice, stamps: Stamps, text: str, pair: str, state: State) -> "list[Verdicts]":
    probes = [read(*stamp) for stamp in stamps]

    def ask(_turn: "Turn", live: "LiveModel") -> "list[Verdicts]":
        from probing.sentences.ask import ask_sentence

        return ask_sentence(live.encoder, probes, text, pair)

    return live_models.in_turn(choice, ask)


@dataclass(frozen=True)
class PairScores:
    """A model's scores of minimal pairs.

    ``logp`` (pairs, layers, 2): log-probabilities of the good and of the bad word; NaN if the pair cannot be asked.
    ``why`` (pairs,): why it cannot; empty if it can.
    """

    logp: np.ndarray
    why: tuple[str, ...]


def scores(choice: Choice, pairs: tuple[MinimalPair, ...]) -> PairScores:
    """The scores of pairs at every layer, by the logit lens."""
    return _scores(choice, pairs, live_models.state_of(choice))


@st.cache_data(max_entries=64, show_spinner=False)
def _scores(choice: Choice, pairs: tuple[MinimalPair, ...], state: State) -> PairScores:
    def ask(turn: "Turn", live: "LiveModel") -> PairScores:
        from probing.changes.passes import pair_scores

        scored = pair_scores(pairs, live.encoder, turn.pause)
        none = np.full((live.encoder.layers, 2), np.nan)
        why = tuple(str(score) if isinstance(score, PromptError) else "" for score in scored)
        return PairScores(np.stack([none if isinstance(score, PromptError) else score for score in scored]), why)

    return live_models.in_turn(choice, ask)
