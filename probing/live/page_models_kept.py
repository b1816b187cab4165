"""What is kept of questions on chosen words and whole sentences. Torch is loaded only when a model is asked."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
import streamlit as st

from probing.changes.minimal_pairs import MinimalPair
from probing.edges.targets import Span
from probing.edges.words import SpanTrace
from probing.kernel.app import live_models
from probing.kernel.app.live_models import Choice
from probing.kernel.app.memory import KeptByBytes
from probing.kernel.errors import PromptError
from probing.kernel.files import cache_folder
from probing.kernel.models.names import LOGIT_LENS

if TYPE_CHECKING:
    from probing.changes.passes import Attending, SentenceAttention
    from probing.edges.ask import TaskProbes as EdgeProbes
    from probing.kernel.models.queue import Turn
    from probing.live.ask import LiveModel
    from probing.sentences.ask import Verdicts
    from probing.sentences.probes import TaskProbes

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
    return _span_answers(reading.choice, reading.weights, stamps, question)


@st.cache_data(max_entries=64, show_spinner=False)
def _span_answers(
    choice: Choice, weights: str, stamps: tuple[tuple[str, int], ...], question: SpanQuestion
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
    key, cache = (choice, base, text, pair, _weights(choice, base)), _attention()
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


def _weights(*choices: Choice | None) -> tuple[str, ...]:
    """Identities of the loaded weights, as cache keys: the model in a folder may have been trained again."""
    return tuple(live_models.load(choice, LOGIT_LENS).encoder.weights_id for choice in choices if choice)


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


@st.cache_data(max_entries=128, show_spinner=False)
def verdicts(choice: Choice, stamps: Stamps, text: str, pair: str) -> "list[Verdicts]":
    """The predictions of all probes whose task has as many sentences."""
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
    return _scores(choice, pairs, _weights(choice))


@st.cache_data(max_entries=64, show_spinner=False)
def _scores(choice: Choice, pairs: tuple[MinimalPair, ...], weights: tuple[str, ...]) -> PairScores:
    def ask(turn: "Turn", live: "LiveModel") -> PairScores:
        from probing.changes.passes import pair_scores

        scored = pair_scores(pairs, live.encoder, turn.pause)
        none = np.full((live.encoder.layers, 2), np.nan)
        why = tuple(str(score) if isinstance(score, PromptError) else "" for score in scored)
        return PairScores(np.stack([none if isinstance(score, PromptError) else score for score in scored]), why)

    return live_models.in_turn(choice, ask)
