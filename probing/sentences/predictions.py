"""Predictions of the probes on one model: its own, its base's, and MLPs; each is computed once and kept on disk."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import numpy as np

from probing import __version__
from probing.kernel.models.arrays import stored_arrays
from probing.kernel.models.torch_settings import thread_count
from probing.kernel.provenance import canonical_json, fingerprint_of
from probing.sentences.examples import MLP, POOLINGS
from probing.sentences.mlp import fit_mlp, mlp_answers
from probing.sentences.mlp_codes import code_lengths
from probing.sentences.probes_probes import Probes, answers, fit_probes
from probing.sentences.vectors import SentenceStates


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
