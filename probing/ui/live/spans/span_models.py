"""Cached edge probes and their predictions for spans. Torch is loaded only when a model is asked."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from probing.core.edges.traces import SpanTrace
from probing.core.paths import cache_folder
from probing.ui.frame import live_models
from probing.ui.frame.live_models import Choice
from probing.ui.live.spans.controls import SpanQuestion

if TYPE_CHECKING:
    from probing.models.edges.files import TaskProbes
    from probing.models.knowledge.ask import LiveModel
    from probing.models.runtime.request_queue import Turn


@dataclass(frozen=True)
class Readers:
    """The probes that read a model.

    Attributes:
        choice: the model that is read.
        of: the model that the probes were trained on: ``choice`` or its base.
        weights: identity of the weights of ``of``.
        files: task -> file of its probes.
    """

    choice: Choice
    of: Choice
    weights: str
    files: dict[str, Path]


def readers(choice: Choice, *, of_base: bool) -> Readers:
    """The probes of a model, or of its base if that is wanted and the base is on this machine.

    Raises:
        ModelError: if a model is missing.
    """
    base = live_models.choices().get(live_models.base_of(choice)) if of_base else None
    of = base if base is not None and base.here else choice

    def found(_turn: "Turn", live: "LiveModel") -> Readers:
        from probing.models.edges.files import found_probes

        encoder = live.encoder
        return Readers(choice, of, encoder.weights_id, found_probes(encoder.name, encoder.weights_id, cache_folder()))

    return live_models.in_turn(of, found)


def ask(reading: Readers, question: SpanQuestion) -> tuple[SpanTrace, ...]:
    """The predictions of all tasks that fit the chosen spans.

    Raises:
        ProbingError: if probes cannot be read, or the spans cannot be asked.
    """
    stamps = tuple((str(path), path.stat().st_mtime_ns) for path in reading.files.values())
    return _ask(reading.choice, reading.weights, stamps, question)


@st.cache_data(max_entries=64, show_spinner=False)
def _ask(choice: Choice, weights: str, stamps: tuple[tuple[str, int], ...], question: SpanQuestion) -> tuple[SpanTrace, ...]:
    probes = [_probes(path, changed) for path, changed in stamps]

    def answered(_turn: "Turn", live: "LiveModel") -> tuple[SpanTrace, ...]:
        from probing.models.edges.ask import ask_sentence

        span1, span2 = (*question.spans, None)[:2]
        assert span1 is not None
        return tuple(ask_sentence(live.encoder, probes, question.words, span1, span2, weights))

    return live_models.in_turn(choice, answered)


@st.cache_resource(max_entries=48, show_spinner=False)
def _probes(path: str, changed: int) -> "TaskProbes":
    from probing.models.edges.files import read_probes

    return read_probes(Path(path))
