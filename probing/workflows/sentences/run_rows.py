"""What is stored of a run: scores, pairs, answers, and its row, which comes last."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from probing.core.sentences.example import LEFT_OUT, MEAN, MLP, OWN
from probing.core.sentences.run import SentenceRunConfig
from probing.models.sentences.training.answered import Answer

#: Reading and portion of the training sentences.
Which = tuple[str, int]
#: A quarter of the training sentences, at which fates compare own probes, too.
QUARTER = 4


def run_tables(predictions: bool) -> list[str]:
    """The tables of a run, in the order in which they are written."""
    return ["sentence_scores", "sentence_pairs", *["sentence_predictions"] * predictions, "sentence_runs"]


@dataclass(frozen=True)
class Answered:
    """All answers of a run, and of the base that it is compared with.

    Attributes:
        model, base: their names; ``base`` is the model's own where it is a base.
        poolings: of the run; the base's are all of ``base_poolings``.
        asked: (sentences,) bool, the test sentences that models can take.
        gold: (asked sentences,) uint8.
        n_dev: sentences of dev that were asked.
        own: reading and portion -> answers of the run.
        of_base: the same of the base; of a base its own.
        codes: (poolings, layers) bits, where they were computed.
        left_out: part -> reason -> sentences.
    """

    model: str
    base: str
    poolings: Sequence[str]
    base_poolings: Sequence[str]
    asked: np.ndarray
    gold: np.ndarray
    n_dev: int
    own: Mapping[Which, Answer]
    of_base: Mapping[Which, Answer]
    codes: np.ndarray | None
    left_out: Mapping[str, Mapping[str, int]]


def rows_of_run(config: SentenceRunConfig, given: Answered, width: int) -> dict[str, list[dict]]:
    """Table -> rows of one run, without what only the moment knows.

    Args:
        config: the run.
        given: its answers.
        width: size of a vector.
    """
    run = {"run_id": config.fingerprint}
    layers = next(iter(given.own.values())).test.shape[1]
    row = (
        run
        | {name: getattr(config, name) or None for name in ("model_revision", "base", "objective", "code_version")}
        | {name: getattr(config, name) for name in ("model", "task", "protocol", "seed")}
        | {"layers": layers, "width": width, "n_test": int(given.asked.sum())}
        | {"left_out": json.dumps({part: dict(why) for part, why in given.left_out.items() if why}, sort_keys=True)}
        | {"config": config.canonical()}
    )
    pairs = _base_pairs(given, layers) if given.model == given.base else _tuned_pairs(given, layers)
    return {
        "sentence_scores": [run | one for one in _score_rows(given)],
        "sentence_pairs": [run | one for one in pairs],
        "sentence_predictions": [run | one for one in _prediction_rows(given)],
        "sentence_runs": [row],
    }


def _cells(given: Answered) -> Iterator[tuple[dict[str, Any], Answer, int, int]]:
    """Columns of every cell of the run, the answers of its reading, and its place among them."""
    for (reading, portion), answer in given.own.items():
        for place, pooling in enumerate(given.poolings):
            for layer in range(answer.test.shape[1]):
                yield {"pooling": pooling, "layer": layer, "reading": reading, "portion": portion}, answer, place, layer


def _score_rows(given: Answered) -> Iterator[dict]:
    for cell, answer, place, layer in _cells(given):
        coded = given.codes is not None and (cell["reading"], cell["portion"]) == (OWN, 1)
        yield cell | {
            "c": None if answer.c is None else float(answer.c[place, layer]),
            "n_train": answer.n_train,
            "dev_right": int(answer.dev_right[place, layer]),
            "n_dev": given.n_dev,
            "right": int((answer.test[place, layer] == given.gold).sum()),
            "n_test": len(given.gold),
            "code_length": float(given.codes[place, layer]) if coded and given.codes is not None else None,
        }


def _prediction_rows(given: Answered) -> Iterator[dict]:
    for cell, answer, place, layer in _cells(given):
        predicted = np.full(len(given.asked), LEFT_OUT, np.uint8)
        predicted[given.asked] = answer.test[place, layer]
        yield cell | {"predicted": predicted.tolist()}


class _Pairs:
    """Rows of ``sentence_pairs``, each pair of probes once."""

    def __init__(self, given: Answered):
        self._given = given
        self.rows: dict[tuple, dict] = {}

    def add(self, which: Which, cell: tuple[str, int], other: Which, other_cell: tuple[str, int]) -> None:
        """Compares this run's probe with one of the base, each named by reading and portion, pooling and layer."""
        given = self._given
        if (
            which not in given.own
            or other not in given.of_base
            or cell[0] not in given.poolings
            or other_cell[0] not in given.base_poolings
        ):
            return
        ours = given.own[which].test[given.poolings.index(cell[0]), cell[1]] == given.gold
        theirs = given.of_base[other].test[given.base_poolings.index(other_cell[0]), other_cell[1]] == given.gold
        counts = (ours & theirs).sum(), (ours & ~theirs).sum(), (~ours & theirs).sum(), (~ours & ~theirs).sum()
        row = {
            "pooling": cell[0], "layer": cell[1], "reading": which[0], "portion": which[1], "with_model": given.base,
            "with_pooling": other_cell[0], "with_layer": other_cell[1], "with_reading": other[0], "with_portion": other[1],
        }  # fmt: skip
        self.rows[tuple(row.values())] = row | dict(zip(("both", "only_this", "only_other", "neither"), map(int, counts), strict=True))


def _tuned_pairs(given: Answered, layers: int) -> list[dict]:
    """A fine-tuned model's probes beside its base's.

    Every reading beside the base's own probe; own probes of a quarter, and MLPs, beside the base's; own probes beside the base's of the
    mean; the best own layer, as dev chooses it, beside the base's best.
    """
    pairs, own, quarter, mlp = _Pairs(given), (OWN, 1), (OWN, QUARTER), (MLP, 1)
    for pooling in given.poolings:
        for layer in range(layers):
            cell = (pooling, layer)
            for which in given.own:
                other = which if which in (quarter, mlp) else own
                if which[1] in (1, QUARTER):
                    pairs.add(which, cell, other, cell)
            pairs.add(own, cell, own, (MEAN, layer))
        if own in given.own and own in given.of_base:
            best = best_layer(given.own[own], given.poolings.index(pooling))
            pairs.add(own, (pooling, best), own, (pooling, best_layer(given.of_base[own], given.base_poolings.index(pooling))))
    return list(pairs.rows.values())


def _base_pairs(given: Answered, layers: int) -> list[dict]:
    """A base's own probes beside those of the mean, and beside its MLPs."""
    pairs = _Pairs(given)
    for pooling in given.poolings:
        for layer in range(layers):
            if pooling != MEAN:
                pairs.add((OWN, 1), (pooling, layer), (OWN, 1), (MEAN, layer))
            pairs.add((OWN, 1), (pooling, layer), (MLP, 1), (pooling, layer))
    return list(pairs.rows.values())


def best_layer(answer: Answer, pooling: int) -> int:
    """The layer whose probe has most of dev right; of several the lowest."""
    return int(np.argmax(answer.dev_right[pooling]))
