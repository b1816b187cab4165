"""Sentence probes: the solver against scikit-learn's, and all layers and poolings from one pass against a pass for each."""

import warnings
from collections.abc import Sequence
from statistics import median

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression

from probing.core.sentences.example import POOLINGS, Example
from probing.models.encoders.catalogue import open_encoder
from probing.models.encoders.hidden_states import all_hidden_states, batches_by_length
from probing.models.encoders.load import Encoder
from probing.models.runtime.torch_settings import thread_count
from probing.models.sentences import vectors as ours
from probing.models.sentences.probes import CS, labels_of
from probing.models.sentences.scaling import own_scale, standardised
from probing.models.sentences.solver import GRADIENT, Solution, solve
from probing.models.sentences.vectors import Row, pooled_states, sentence_rows
from tests.speed.edge_slices import sentences
from tests.speed.measurement import Measurement, alternate, require_equal

#: Sentences that probes are trained on, and those that must be answered alike.
TRAIN, HELD = 5000, 1000
#: Number of sentences that both ways encode.
ENCODED = 400
#: Weights that differ by less are equal, and at least this share of predictions must be equal.
NEAR, ALIKE = 1e-3, 0.999


def measure(quick: bool = False) -> list[Measurement]:
    """All rows of sentence probes."""
    encoder = open_encoder("nesia-mini", device="cpu")
    train, held, encoded = (300, 100, 20) if quick else (TRAIN, HELD, ENCODED)
    examples = shifted(train + held)
    rows = [row for row in sentence_rows(examples, encoder) if row is not None]
    require_equal(len(rows) == len(examples), "a sentence is too long")
    found = pooled_states(rows, encoder)
    labels = np.array([one.label == "shifted" for one in examples], np.uint8)
    return [*solver(found, labels, train, 1 if quick else 2), one_pass(rows[:encoded], encoder, 1 if quick else 3)]


def shifted(number: int) -> list[Example]:
    """Shipped sentences, two neighbouring words swapped in every second one: bigram shift on our own words."""
    draw = np.random.default_rng(0)
    found = []
    for place, words in enumerate(sentences(number + number // 5)[:number]):
        order = list(words)
        if place % 2:
            at = int(draw.integers(len(order) - 1))
            order[at : at + 2] = order[at + 1], order[at]
        found.append(Example(" ".join(order), "shifted" if place % 2 else "plain"))
    return found


def solver(found: np.ndarray, labels: np.ndarray, train: int, rounds: int) -> list[Measurement]:
    """The path of C for all layers and poolings, against both of scikit-learn's solvers one by one."""
    mean, scale = own_scale(found[:, :, :train])
    places = list(np.ndindex(*found.shape[:2]))
    scaled = [standardised(found[place], mean[place], scale[place]) for place in places]
    # If nothing varies, there is nothing to solve, so neither side is timed on it.
    parts = [(one[:train], one[train:]) for one in scaled if one[:train].any()]
    gold = labels[:train]

    def all_ours() -> list[Solution]:
        return [solve(known, gold, 2, CS) for known, _ in parts]

    mine = all_ours()
    far, alike = _compared(parts, gold, mine)
    require_equal(far < NEAR, f"weights are up to {far:.1e} from scikit-learn's")
    require_equal(alike >= ALIKE, f"{alike:.2%} of predictions are scikit-learn's")
    made = []
    for name, bound in (("lbfgs", 6.0), ("newton-cholesky", 1.5)):
        times = alternate(all_ours, lambda name=name: _theirs(parts, gold, name, GRADIENT), rounds)  # type: ignore[misc]
        first, second = (median(one) for one in times)
        made.append(
            Measurement(
                f"sentence probes of nesia-mini, {len(parts)} layers and poolings x {len(CS)} C, {train:,} sentences",
                first,
                f"scikit-learn's {name} one by one",
                second,
                second / first,
                bound,
                False,
                f"vectors, objective, gradient at most 1e-5; of newton-cholesky's at 1e-8 {alike:.2%} of predictions, weights to {far:.0e}",
                f"medians of {rounds} alternating rounds, {thread_count()} threads; "
                f"{np.mean([one.evaluations.sum() for one in mine]):.0f} evaluations for a path",
            )
        )
    return made


def _theirs(
    parts: Sequence[tuple[np.ndarray, np.ndarray]], gold: np.ndarray, name: str, tolerance: float
) -> list[list[LogisticRegression]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [[LogisticRegression(C=c, solver=name, tol=tolerance, max_iter=1000).fit(known, gold) for c in CS] for known, _ in parts]


def _compared(parts: Sequence[tuple[np.ndarray, np.ndarray]], gold: np.ndarray, mine: Sequence[Solution]) -> tuple[float, float]:
    """Largest distance of a weight, and the share of equal predictions of held sentences, from newton-cholesky at a tolerance of 1e-8."""
    far, alike = 0.0, []
    # In float32 that tolerance is out of scikit-learn's reach.
    exact = _theirs([(known.astype(np.float64), held) for known, held in parts], gold, "newton-cholesky", 1e-8)
    for path, solved, (_, held) in zip(exact, mine, parts, strict=True):
        for number, wanted in enumerate(path):
            far = max(far, float(np.abs(solved.weights[number] - wanted.coef_).max()))
            said = labels_of(held @ solved.weights[number].T + solved.bias[number])
            alike.append(float((said == wanted.predict(held)).mean()))
    return far, float(np.mean(alike))


def one_pass(rows: Sequence[Row], encoder: Encoder, rounds: int) -> Measurement:
    """Vectors of all layers and poolings, against a run of the encoder for each of them over the same batches."""
    places = [(pooling, layer) for pooling in range(len(POOLINGS)) for layer in range(encoder.layers)]

    def each() -> list[np.ndarray]:
        return [_one_vector(rows, encoder, *place) for place in places]

    together, alone = pooled_states(rows, encoder), each()
    far = max(float(np.abs(together[place] - one).max()) for place, one in zip(places, alone, strict=True))
    require_equal(far < 1e-5, f"vectors are up to {far:.1e} apart")
    first, second = (median(one) for one in alternate(lambda: pooled_states(rows, encoder), each, rounds))
    return Measurement(
        f"vectors of {len(rows)} sentences, nesia-mini, {encoder.layers} layers x {len(POOLINGS)} poolings",
        first,
        "a pass of the encoder for each",
        second,
        second / first,
        10.0,
        False,
        f"batches; vectors within {far:.0e}",
        f"medians of {rounds} alternating rounds, {thread_count()} threads",
    )


def _one_vector(rows: Sequence[Row], encoder: Encoder, pooling: int, layer: int) -> np.ndarray:
    """(sentences, hidden) of one layer and pooling, as a run that extracts one layer has it."""
    found = np.empty((len(rows), encoder.hidden), np.float32)
    for batch in batches_by_length([len(row.ids) for row in rows], ours.TOKENS_A_BATCH, ours.ENOUGH_TOKENS):
        state = all_hidden_states([rows[place].ids for place in batch], encoder)[layer]
        if POOLINGS[pooling] == "first":
            found[batch] = state[:, 0].numpy()
            continue
        seen = torch.arange(state.shape[1])[None] < torch.tensor([len(rows[place].ids) for place in batch])[:, None]
        found[batch] = ((state * seen[:, :, None]).sum(1) / seen.sum(1, keepdim=True)).numpy()
    return found
