"""``probing.ForgettingCallback``: the facts that a training with the Trainer of transformers forgets, while it runs."""

import gc
import logging
import random
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase, Trainer, TrainerCallback

from probing.forgetting.follow import Training, series_config, series_files, write_series
from probing.forgetting.ranks import Questions, Ranks, affordable, ranks_by_layer
from probing.forgetting.recover import one_set
from probing.forgetting.series import COUNTS, AskedStates, counts, progress
from probing.kernel.errors import HeadError, ModelError, OptionError
from probing.kernel.fact import FactSet
from probing.kernel.files import runs_folder
from probing.kernel.models.arrays import read_sealed, write_sealed
from probing.kernel.models.catalogue import open_encoder
from probing.kernel.models.head import own_head
from probing.kernel.models.load import Encoder, encoder_of, weights_id_in_memory
from probing.kernel.models.torch_settings import thread_count
from probing.kernel.options import in_python
from probing.kernel.registry import name_of_model

_log = logging.getLogger(__name__)
#: File in the Trainer's output folder with which a resumed training goes on.
_FILE = "asked-facts.safetensors"
#: The counts that are logged.
_LOGGED = ("kept", "lost", "returned", "gained")


@dataclass(frozen=True)
class Asking:
    """When a model in training is asked, and for what."""

    facts: FactSet
    every: int = 100  #: training steps from one asking to the next
    layers: str | Sequence[int] = "all"  #: ``all``, ``last``, or numbers from 0, the embeddings
    seconds: float = 5.0  #: that one asking may take; decides the number of facts
    size: int | None = None  #: number of facts; None: as ``seconds`` allows
    k: int = 1  #: the rank up to which a fact is logged as known

    def of(self, depth: int) -> list[int]:
        """The layers that are asked, of a model with layers 0 to ``depth``."""
        if isinstance(self.layers, str):
            if self.layers not in ("all", "last"):
                raise OptionError(f"got layers={self.layers!r}; expected 'all', 'last' or numbers of layers")
            return list(range(depth + 1)) if self.layers == "all" else [depth]
        if strange := [layer for layer in self.layers if layer not in range(depth + 1)]:
            raise OptionError(
                f"got layers={list(self.layers)}; the model has the layers 0 to {depth}, and no layer {strange[0]}"
            )
        return sorted(set(self.layers))


@dataclass(frozen=True)
class Watched:
    """A training that was asked while it ran."""

    encoder: Encoder  #: the model at its end, with the identity of the model at the beginning
    last_weights: str  #: identity of its weights at the end
    questions: Questions
    asked: AskedStates
    history: Sequence[Mapping[str, Any]]  #: what the Trainer logged
    metric: str | None  #: by which the Trainer chooses the best state; None if it does not
    output: Path  #: the Trainer's folder


class AskingCallback(TrainerCallback):
    """Asks a model in training for facts, logs the outcomes and gives all ranks to ``finished``.

    The training is not changed: modes, gradients and all random states are the same after an asking as before it.
    ``opens_base`` opens the model whose head reads one that has none.
    """

    def __init__(self, asking: Asking, opens_base: Callable[[], Encoder] | None = None):
        if asking.every < 1 or asking.seconds <= 0 or (asking.size is not None and asking.size < 1):
            raise OptionError(
                f"got every={asking.every}, seconds={asking.seconds}, size={asking.size}; expected a step or more, a"
                " time above 0 and, if a size is given, a fact or more"
            )
        self._asking, self._opens_base = asking, opens_base
        self._encoder: Encoder | None = None
        self._questions: Questions
        self._layers: list[int] = []
        self._found: dict[int, Ranks] = {}
        self._seconds, self._began = 0.0, 0.0
        self._trainer: Callable[[], Trainer | None] = lambda: None

    def finished(self, watched: Watched) -> None:
        """Called at the end of the training; does nothing here."""

    @property
    def asked(self) -> AskedStates:
        """The ranks so far."""
        ranks, swapped = (np.stack(parts) for parts in zip(*self._found.values(), strict=True))
        return AskedStates(tuple(self._found), self._layers, ranks, swapped, self._questions.relations)

    def on_train_begin(self, args, state, control, model=None, processing_class=None, **_):
        if not state.is_world_process_zero:
            return
        self._began, self._seconds, self._found = time.perf_counter(), 0.0, {}
        with in_python(), self._unnoticed(model):
            self._open(model, processing_class, Path(args.output_dir), state.global_step)
            self._trainer = _trainer_of(self)
        if state.global_step not in self._found:
            if state.global_step:
                _log.warning(
                    "no facts were asked before step %d of this training, so facts that are known then count as known"
                    " before it",
                    state.global_step,
                )
            self._ask(model, args, state, control)

    def on_step_end(self, args, state, control, model=None, **_):
        if self._encoder is not None and (
            state.global_step % self._asking.every == 0 or state.global_step == state.max_steps
        ):
            self._ask(model, args, state, control)

    def on_train_end(self, args, state, control, model=None, **_):
        if self._encoder is None:
            return
        # A training that was stopped early; the Trainer may have loaded its best state by now, which is none of this
        # step.
        if state.global_step not in self._found and not args.load_best_model_at_end:
            self._ask(model, args, state, control, log=False)
        body, head = _parts(model)
        last = weights_id_in_memory(body, head or self._encoder.head)
        metric = args.metric_for_best_model
        output, states = Path(args.output_dir), self.asked
        seconds = time.perf_counter() - self._began
        others = max(seconds - self._seconds, 1e-9)
        print(
            f"asked {len(self._questions.facts):,} facts {len(states.steps):,} times in {self._seconds:.1f} s, "
            f"{100 * self._seconds / others:.1f} % of the {others:.1f} s that the training took without it"
        )
        self.finished(Watched(self._encoder, last, self._questions, states, list(state.log_history), metric, output))
        (output / _FILE).unlink(missing_ok=True)

    @contextmanager
    def _unnoticed(self, model: nn.Module) -> Iterator[None]:
        """In this context the model is in eval mode; afterwards its modes and all random states are restored."""
        start = time.perf_counter()
        modes = [(module, module.training) for module in model.modules()]
        plain, arrays = random.getstate(), np.random.get_state()
        devices = [device.index for device in {weight.device for weight in model.parameters()} if device.type == "cuda"]
        try:
            with torch.random.fork_rng(devices):
                model.eval()
                yield
        finally:
            for module, mode in modes:
                module.training = mode
            random.setstate(plain)
            np.random.set_state(arrays)
            self._seconds += time.perf_counter() - start

    def _open(self, model: nn.Module, tokenizer: PreTrainedTokenizerBase | None, output: Path, step: int) -> None:
        """Prepares the questions; a training that goes on from a checkpoint asks those that it asked before."""
        body, head = _parts(model)
        base = self._opens_base() if self._opens_base and head is None else None
        if tokenizer is None:
            if base is None:
                raise ModelError("got no tokenizer to ask facts with; give it to the Trainer (processing_class=)")
            tokenizer = base.tokenizer
        whole = model if isinstance(model, PreTrainedModel) else body
        first = encoder_of(whole, tokenizer, base=(lambda: base) if base else None, device=str(body.device))
        # Not the copy, but the model that is trained.
        encoder = replace(first, body=body, head=head or first.head)
        layers = self._asking.of(encoder.depth)
        stored = _stored(output / _FILE) if step else {}
        size = len(stored["swapped"][0, 0]) if stored else self._asking.size
        size = affordable(encoder, self._asking.facts, layers, self._asking.seconds) if size is None else size
        questions = Questions.of(self._asking.facts, encoder, size)
        if (
            stored
            and stored["facts"].tobytes() == bytes.fromhex(questions.sha256)
            and stored["layers"].tolist() == layers
        ):
            rows = zip(stored["steps"].tolist(), stored["own"], stored["swapped"], strict=True)
            self._found = {at: Ranks(own, swapped) for at, own, swapped in rows if at <= step}
        self._encoder, self._questions, self._layers = encoder, questions, layers

    def _ask(self, model: nn.Module, args, state, control, log: bool = True) -> None:
        assert self._encoder is not None
        body, head = _parts(model)
        encoder = replace(self._encoder, body=body, head=head or self._encoder.head, device=body.device)
        with self._unnoticed(model):
            encoder.head.eval().to(body.device)
            self._found[state.global_step] = ranks_by_layer(encoder, self._questions, self._layers)
        states = self.asked
        facts = np.frombuffer(bytes.fromhex(self._questions.sha256), np.uint8)
        arrays: dict[str, np.ndarray] = {
            "steps": np.asarray(states.steps, np.int64),
            "layers": np.asarray(states.layers, np.int64),
            "facts": facts,
        }
        write_sealed(arrays | {"own": states.ranks, "swapped": states.swapped}, Path(args.output_dir) / _FILE)
        trainer = self._trainer()
        if log and trainer is not None:
            # Logging switches off the log of the loss that is due at this step.
            due = control.should_log
            trainer.log(log_entries(states, self._asking.k))
            control.should_log = trainer.control.should_log = due


def log_entries(states: AskedStates, k: int) -> dict[str, float]:
    """What is logged of the newest state: counts of facts and the share known beyond the swapped subject, at the last
    layer and by layer.

    >>> ranks = np.array([[[1, 1, 9]], [[1, 7, 1]]], np.uint32)
    >>> log_entries(AskedStates((0, 5), (8,), ranks, np.full_like(ranks, 2), ["P1"] * 3), k=1)["forgetting_lost"]
    1
    """
    whole = AskedStates(states.steps, states.layers, states.ranks, states.swapped, [""] * len(states.relations))
    entries: dict[str, float] = {}
    for layer, numbers in zip(states.layers, counts(whole, k)[-1, :, 0].tolist(), strict=True):
        row = dict(zip(COUNTS, numbers, strict=True))
        values: dict[str, float] = {name: row[name] for name in _LOGGED}
        if row["paired"]:
            values["own_minus_swapped"] = (row["own"] - row["swapped"]) / row["paired"]
        entries |= {f"forgetting_{name}_layer_{layer}": value for name, value in values.items()}
        if layer == states.layers[-1]:
            entries |= {f"forgetting_{name}": value for name, value in values.items()}
    return entries


def _parts(model: nn.Module) -> tuple[Any, Any]:
    """The body of a model in training and its own masked-LM head, not copied; None if it has another task's head."""
    body = model.base_model if isinstance(model, PreTrainedModel) else getattr(model, "body", None)
    if not isinstance(body, PreTrainedModel):
        raise ModelError(
            f"got {type(model).__name__}, expected a transformers model (of a wrapped one, the model inside)"
        )
    if body is model:
        return body, None
    try:
        return body, own_head(model)  # type: ignore[arg-type]
    except (AttributeError, HeadError):
        return body, None


def trained_encoder(model: nn.Module, base: Encoder) -> Encoder:
    """A copy of a trained model as an encoder with its own masked-LM head, or its base's if it has none."""
    whole = model if isinstance(model, PreTrainedModel) else _parts(model)[0]
    return encoder_of(whole, base.tokenizer, base=lambda: base, device=str(base.device))


def _stored(path: Path) -> dict[str, np.ndarray]:
    """The ranks of a training that was interrupted; empty if there are none."""
    try:
        return read_sealed(path)
    except OSError:
        return {}


def _trainer_of(callback: TrainerCallback) -> Callable[[], Trainer | None]:
    """A weak reference to the Trainer that calls a callback.

    A Trainer does not hand over itself, and only its ``log`` reports to what ``report_to`` names. Types are compared,
    because asking a stranger's object for its class may run its code.
    """
    for candidate in gc.get_objects():
        handler = getattr(candidate, "callback_handler", None) if issubclass(type(candidate), Trainer) else None
        if handler is not None and any(callback is other for other in handler.callbacks):
            return weakref.ref(candidate)
    _log.warning("the Trainer was not found, so what is forgotten is stored at the end, but not logged")
    return lambda: None


class ForgettingCallback(AskingCallback):
    """Asks a model for facts while it is trained, logs what it forgets, and stores a series.

    Add it to any ``transformers.Trainer``. At the first step, at every ``every`` steps and at the last one, the model
    predicts the same facts at every layer. Facts that it answers rightly before the training count as known; of these,
    the Trainer logs how many are *kept*, *lost* and *returned*, how many others are *gained*, and the share known
    beyond the swapped subject, at the last layer (``forgetting_lost``) and by layer (``forgetting_lost_layer_3``).
    ``report_to`` of the Trainer decides who gets them. The training
    itself is unchanged: its weights are those of a training without the callback.

    Args:
        facts: name of shipped facts, such as ``trex``; a LAMA folder; or a file of own facts.
        every: training steps from one asking to the next.
        layers: ``all``, ``last``, or numbers of layers from 0, the embeddings.
        base: name, hub id or folder of the model that the training begins with. Its masked-LM head reads a model that
            has none, such as a classifier; a model with its own head is read by that.
        seconds: how long one asking may take; as many facts are asked as this allows.
        size: number of facts, if not as ``seconds`` allows. A larger sample has all facts of a smaller one.
        name: of the trained model in results; by default the name of the Trainer's folder.
        out: folder of the results; by default the folder ``runs`` of the cache, which ``probing.results()`` and the
            pages read.

    Raises:
        FactsError: if there are no such facts, or several sets of them.
        OptionError: for a number that is out of range.

    >>> import probing
    >>> callback = probing.ForgettingCallback(facts="trex", every=100, size=500, base="nesia-mini")
    """

    def __init__(
        self,
        facts: str | Path = "trex",
        every: int = 100,
        layers: str | Sequence[int] = "all",
        base: str | Path | None = None,
        seconds: float = 5.0,
        size: int | None = None,
        name: str | None = None,
        out: str | Path | None = None,
    ):
        asking = Asking(one_set(str(facts)), every, layers, seconds, size)
        super().__init__(asking, None if base is None else partial(open_encoder, str(base), device="cpu"))
        self._name, self._out, self._base = (
            name,
            None if out is None else Path(out),
            None if base is None else str(base),
        )

    def finished(self, watched: Watched) -> None:
        """Stores the series."""
        first, asked = watched.encoder, watched.asked
        base = first.base if first.opens_base else name_of_model(self._base) if self._base else first.name
        training = Training(self._name or name_of_model(watched.output), base, first.weights_id)
        config = series_config(
            training, first, watched.last_weights, watched.questions, (asked.steps, asked.layers), thread_count()
        )
        files = series_files(config, self._out or runs_folder())
        write_series(files, first, asked, watched.questions, progress(watched.history, watched.metric))
        print(f"what was forgotten is stored as {files.file('series_runs')}")
