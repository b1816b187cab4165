"""Predictions of all probes on one model, kept on disk, and accuracy on a user's own sentences, which is not stored."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import numpy as np
import torch

from probing.kernel.errors import SentenceDataError
from probing.kernel.models.arrays import stored_arrays
from probing.kernel.models.load import Encoder
from probing.kernel.models.torch_settings import thread_count
from probing.kernel.provenance import canonical_json, fingerprint_of
from probing.kernel.stats.intervals import wilson
from probing.kernel.version import __version__
from probing.sentences.examples import MLP, PARTS, POOLINGS, SentenceData, majority_right
from probing.sentences.mlp import code_lengths, fit_mlp, mlp_answers
from probing.sentences.numbers import surface_features
from probing.sentences.probes import Probes, answers, fit_probes, surface_right
from probing.sentences.splits import MAX_AT_ONCE
from probing.sentences.vectors import SentenceStates, pooled_states, sentence_rows


@dataclass(frozen=True)
class Split:
    """The probed sentences of a task, and their labels."""

    places: Mapping[str, np.ndarray]  #: train, dev, test -> numbers of the sentences among all, ascending
    gold: Mapping[str, np.ndarray]  #: train, dev, test -> (sentences,) label numbers
    classes: int
    protocol: str  #: one of ``PROTOCOLS``
    seed: int = 0  #: of the MLP's initial weights

    def portion(self, portion: int) -> np.ndarray:
        """Positions in the training part: of each class the first, one in ``portion`` but at least one, so nested."""
        gold = self.gold["train"]
        chosen = [np.flatnonzero(gold == label) for label in range(self.classes)]
        return np.sort(np.concatenate([of_label[: -(-len(of_label) // portion)] for of_label in chosen]))

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of everything except the states that decides a prediction."""
        digest = sha256()
        for part in sorted(self.places):
            digest.update(self.places[part].tobytes() + self.gold[part].tobytes())
        decides = [__version__, digest.hexdigest(), self.classes, self.protocol, self.seed, thread_count()]
        return fingerprint_of(canonical_json(decides))


@dataclass(frozen=True)
class Answer:
    """Predictions of the probes of one reading, for every pooling and layer."""

    c: np.ndarray | None  #: (poolings, layers) inverse strength of regularisation; None for MLPs
    dev_right: np.ndarray  #: (poolings, layers) number of correct sentences
    test: np.ndarray  #: (poolings, layers, sentences) label numbers
    n_train: int


@dataclass(frozen=True)
class ModelAnswers:
    """Predictions of one model's own probes; in ``folder``, stored and new results have equal bytes."""

    states: SentenceStates
    split: Split
    folder: Path
    poolings: tuple[str, ...] = POOLINGS

    def own(self, portion: int = 1) -> tuple[Probes, Answer]:
        """The model's own linear probes, fitted on one in ``portion`` of the training sentences."""
        arrays = self._stored(f"own-{portion}", lambda: self._fitted(portion))
        parameters = {
            name.removeprefix("probes."): array for name, array in arrays.items() if name.startswith("probes.")
        }
        probes = Probes(**parameters, classes=self.split.classes)
        return probes, Answer(probes.c, probes.dev_right, arrays["test"], len(self.split.portion(portion)))

    def mlp(self) -> Answer:
        """MLP probes with one hidden layer."""
        arrays = self._stored(MLP, self._mlp)
        return Answer(None, arrays["dev_right"], arrays["test"], len(self.split.gold["train"]))

    def codes(self) -> np.ndarray:
        """(poolings, layers) bits of the online code of the training labels."""
        return self._stored("codes", self._codes)["bits"]

    def of_base(self, base: "ModelAnswers") -> Answer:
        """Predictions of the base's own probes on this model's states."""
        probes, _ = base.own()
        probes = part_of(probes, [POOLINGS.index(pooling) for pooling in self.poolings])
        chunks = [*self.states.chunks(len(self.poolings))]
        predictions = {
            part: [answers(layers_of(probes, layers), self.read(part, layers)) for layers in chunks]
            for part in ("dev", "test")
        }
        dev, test = (np.concatenate(of_part, 1) for of_part in predictions.values())
        return Answer(probes.c, (dev == self.split.gold["dev"]).sum(2), test, len(self.split.gold["train"]))

    def read(self, part: str, layers: slice) -> np.ndarray:
        """States of a part's sentences, (poolings, layers, sentences, hidden)."""
        return self.states.read(self.split.places[part], layers, [POOLINGS.index(pooling) for pooling in self.poolings])

    def _fitted(self, portion: int) -> dict[str, np.ndarray]:
        chosen, fitted, test = self.split.portion(portion), [], []
        for layers in self.states.chunks(len(self.poolings)):
            train = self.states.read(
                self.split.places["train"][chosen], layers, [POOLINGS.index(pooling) for pooling in self.poolings]
            )
            gold = self.split.gold
            probes = fit_probes(
                train,
                gold["train"][chosen],
                self.read("dev", layers),
                gold["dev"],
                self.split.classes,
                self.split.protocol,
            )
            del train
            test.append(answers(probes, self.read("test", layers)))
            fitted.append(probes)
        names = [field.name for field in fields(Probes) if field.name != "classes"]
        arrays = {f"probes.{name}": np.concatenate([getattr(chunk, name) for chunk in fitted], 1) for name in names}
        return arrays | {"test": np.concatenate(test, 1)}

    def _mlp(self) -> dict[str, np.ndarray]:
        gold, dev_right, test = self.split.gold, [], []
        for layers in self.states.chunks(len(self.poolings)):
            train, dev = self.read("train", layers), self.read("dev", layers)
            fitted = fit_mlp(train, gold["train"], dev, gold["dev"], self.split.classes, self.split.seed)
            dev_right.append((mlp_answers(fitted, dev) == gold["dev"]).sum(2))
            test.append(mlp_answers(fitted, self.read("test", layers)))
        return {"dev_right": np.concatenate(dev_right, 1), "test": np.concatenate(test, 1)}

    def _codes(self) -> dict[str, np.ndarray]:
        gold = self.split.gold["train"]
        chunks = self.states.chunks(len(self.poolings))
        bits = [code_lengths(self.read("train", layers), gold, self.split.classes) for layers in chunks]
        return {"bits": np.concatenate(bits, 1)}

    def _stored(self, name: str, make: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
        which = "" if self.poolings == POOLINGS else "-" + "-".join(self.poolings)
        path = self.folder / f"{name}{which}-{self.split.fingerprint}.safetensors"
        return stored_arrays(path, make)


def part_of(probes: Probes, poolings: Sequence[int]) -> Probes:
    """The probes of some poolings."""
    return _changed(probes, lambda array: array[list(poolings)])


def layers_of(probes: Probes, layers: slice) -> Probes:
    """The probes of some layers."""
    return _changed(probes, lambda array: array[:, layers])


def _changed(probes: Probes, change: Callable[[np.ndarray], np.ndarray]) -> Probes:
    arrays = {field.name: change(getattr(probes, field.name)) for field in fields(Probes) if field.name != "classes"}
    return Probes(**arrays, classes=probes.classes)


#: The encoder's share of the work on a small model.
_READING = 0.8
#: Tokens per forward pass: BERT-base takes about a second for them on two cores, and other users wait for no longer
#: than that.
_TOKENS = 512


@dataclass(frozen=True)
class Curve:
    """Accuracy of own probes on a user's sentences."""

    right: np.ndarray  #: (poolings, layers), number of correct test sentences
    low: np.ndarray  #: (poolings, layers), Wilson's 95 % interval of the accuracy
    high: np.ndarray  #: (poolings, layers)
    c: np.ndarray  #: (poolings, layers), the strength that the development part selected
    dev_right: np.ndarray  #: (poolings, layers), number of its correct sentences
    n_train: int  #: that the model can take
    n_dev: int
    n_test: int
    majority: int  #: correct test sentences of the majority label
    surface: int  #: of the surface baseline
    too_long: int


def check_size(data: SentenceData) -> None:
    """Raises a ``SentenceDataError`` for more sentences than a page accepts."""
    if (number := sum(map(len, data.parts.values()))) > MAX_AT_ONCE:
        raise SentenceDataError(
            f"{data.task} has {number:,} sentences, expected at most {MAX_AT_ONCE:,} here; give fewer, or train from"
            " the command line: python -m probing sentences train --tasks FILE"
        )


def quick_curve(
    data: SentenceData,
    encoder: Encoder,
    progress: Callable[[float], None] | None = None,
    pause: Callable[[], None] | None = None,
) -> Curve:
    """Trains probes on a user's sentences; ``progress`` gets the finished share.

    ``pause`` is called between pieces of work, when the model is not in use. SentenceDataError: too many sentences, or
    too few that the model can take.
    """
    check_size(data)
    rows = {part: sentence_rows(data.parts[part], encoder) for part in PARTS}
    readable = {
        part: [(row, example) for row, example in zip(rows[part], data.parts[part], strict=True) if row is not None]
        for part in PARTS
    }
    known = [{example.label for _, example in readable[part]} for part in PARTS]
    if not all(known) or known[0] != set(data.labels):
        raise SentenceDataError(
            f"{data.task}: too few sentences fit {encoder.name}, which takes {encoder.max_pieces} word pieces; give"
            " shorter sentences"
        )
    total, done = sum(map(len, readable.values())), 0

    def report(share: float) -> None:
        if pause:
            pause()
        if progress:
            progress(share)

    def passed(number: int) -> None:
        nonlocal done
        done += number
        report(_READING * done / total)

    number_of = {label: number for number, label in enumerate(data.labels)}
    gold = {part: np.array([number_of[example.label] for _, example in readable[part]], np.uint8) for part in PARTS}
    vectors = {
        part: pooled_states([row for row, _ in readable[part] if row is not None], encoder, passed, _TOKENS)
        for part in PARTS
    }
    probes, hits = [], []
    for layer in range(encoder.layers):
        train, dev, test = (vectors[part][:, layer : layer + 1] for part in PARTS)
        with torch.inference_mode():
            probes.append(fit_probes(train, gold["train"], dev, gold["dev"], len(data.labels), data.protocol, pause))
            hits.append((answers(probes[-1], test) == gold["test"]).sum(2))
        report(_READING + (1 - _READING) * layer / (encoder.layers))
    right = np.concatenate(hits, 1)
    examples = {part: [example for _, example in readable[part]] for part in PARTS}
    words = [surface_features(examples["train"], examples[part]) for part in PARTS]
    surface = surface_right(
        (words[0], words[1], words[2]), (gold["train"], gold["dev"], gold["test"]), len(data.labels), pause
    )
    if progress:
        progress(1.0)
    limits = np.array([wilson(count, len(gold["test"])) for count in right.flat]).reshape(*right.shape, 2)
    return Curve(
        right=right,
        low=limits[..., 0],
        high=limits[..., 1],
        c=np.concatenate([of_layer.c for of_layer in probes], 1),
        dev_right=np.concatenate([of_layer.dev_right for of_layer in probes], 1),
        n_train=len(gold["train"]),
        n_dev=len(gold["dev"]),
        n_test=len(gold["test"]),
        majority=majority_right(examples["train"], examples["test"]),
        surface=surface,
        too_long=sum(row is None for part in PARTS for row in rows[part]),
    )
