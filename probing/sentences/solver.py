"""scikit-learn's logistic regression for a path of strengths, in a metric of the form of Boehning's bound.

The objective is C x summed loss + |w|^2 / 2 with a free intercept. The Hessian of the loss is at most X'X / 4 for two
classes and (1/2)(I - 11'/K) (x) X'X for K (Boehning 1992). L-BFGS needs few steps in the metric C h X'X + I: h is 1/4
or 1/2 in the bound, and here the mean over the sentences, which is far smaller if a probe is confident. X'X is computed
once for all C, a Cholesky factor when h has changed by a half, and each C starts at the solution of the one before.
With K classes every class has weights, as in scikit-learn's multinomial form; they sum to 0 by themselves, and in that
subspace the metric is the same for each class.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional

log = logging.getLogger(__name__)

#: Tolerance of the largest gradient of the objective, divided by C and by the number of training sentences, as in
#: scikit-learn.
GRADIENT = 1e-5
#: Tolerance of the estimated distance of a weight from the minimum, because a small gradient is not enough with a weak
#: penalty.
STEP = 2e-5
#: Maximum number of steps per C, and steps without a smaller gradient after which float64 is used.
MAX_STEPS, STALLED = 1000, 15
#: Up to this many numbers float64 is used from the start, because float32 hardly converges with few sentences per
#: feature.
FEW = 1 << 18
#: Number of pairs of steps and gradients that L-BFGS keeps.
MEMORY = 10
#: A metric is kept while the mean curvature changes by at most this factor; the minimum curvature of a metric.
NEAR_CURVATURE, LEAST_CURVATURE = 1.5, 1e-6
#: Maximum number of halvings of a step.
HALVINGS = 25


@dataclass(frozen=True)
class Solution:
    """Logistic regressions of one set of vectors."""

    weights: np.ndarray  #: (cs, outputs, hidden); one output for two classes, K for K
    bias: np.ndarray  #: (cs, outputs)
    gradient: np.ndarray  #: (cs,), the largest remaining, divided by C and by the number of training sentences
    evaluations: np.ndarray  #: (cs,), of the objective
    solved: np.ndarray  #: (cs,), whether the criteria of ``GRADIENT`` and ``STEP`` hold


def outputs_of(classes: int) -> int:
    """Number of a probe's outputs: one for two classes, else one per class."""
    return 1 if classes == 2 else classes


def solve(
    vectors: np.ndarray, labels: np.ndarray, classes: int, cs: Sequence[float], pause: Callable[[], None] | None = None
) -> Solution:
    """Logistic regressions on (sentences, hidden) vectors, better with a mean of 0, for every C, ascending.

    ``pause`` is called before every step; an error that it raises stops the computation. ValueError: a class has no
    sentence, so its intercept would be infinite.
    """
    counts = np.bincount(labels, minlength=classes)
    if len(counts) != classes or classes < 2 or not counts.all():
        raise ValueError(
            f"got training sentences by class {counts.tolist()}, expected at least one of each of {max(classes, 2)}"
            " classes"
        )
    outputs, hidden = outputs_of(classes), vectors.shape[1]
    if not vectors.any():
        return _constant(counts, hidden, len(cs))
    inputs = torch.from_numpy(vectors)
    problem = _Problem(inputs.double() if vectors.size <= FEW else inputs, _targets(labels, classes))
    weights = np.zeros((len(cs), outputs, hidden), np.float32)
    bias = np.zeros((len(cs), outputs), np.float32)
    gradient, evaluations, solved = np.zeros(len(cs)), np.zeros(len(cs), int), np.zeros(len(cs), bool)
    point = torch.zeros(hidden + 1, outputs, dtype=torch.float64)
    with torch.inference_mode():
        for number, c in enumerate(cs):
            minimum = _minimum(problem, c, point, 0, pause)
            if not minimum.solved and not problem.double:
                problem = problem.exact()
                minimum = _minimum(problem, c, minimum.point, minimum.evaluations, pause)
            if not minimum.solved:
                log.warning(
                    "logistic regression with C = %g ended after %d evaluations at a gradient of %.1e, expected at most"
                    " %.0e",
                    c,
                    minimum.evaluations,
                    minimum.gradient,
                    GRADIENT,
                )
            point = minimum.point
            weights[number], bias[number] = point[:-1].T.float().numpy(), point[-1].float().numpy()
            gradient[number], evaluations[number], solved[number] = (
                minimum.gradient,
                minimum.evaluations,
                minimum.solved,
            )
    return Solution(weights, bias, gradient, evaluations, solved)


def _constant(counts: np.ndarray, hidden: int, number: int) -> Solution:
    """The exact solution if no feature varies: logarithms of the shares, so that equally frequent labels tie."""
    logs = np.log(counts)
    bias = logs[1:] - logs[:1] if len(counts) == 2 else logs - logs.mean()
    zeros = np.zeros(number)
    weights = np.zeros((number, len(bias), hidden), np.float32)
    return Solution(
        weights, np.tile(bias.astype(np.float32), (number, 1)), zeros, zeros.astype(int), np.ones(number, bool)
    )


def _targets(labels: np.ndarray, classes: int) -> torch.Tensor:
    """(outputs, sentences): 1 for the gold class."""
    gold = torch.from_numpy(labels.astype(np.int64))
    return gold[None].float() if classes == 2 else functional.one_hot(gold, classes).T.float().contiguous()


class _Problem:
    """Vectors and labels, with the objective and its metric."""

    def __init__(self, vectors: torch.Tensor, targets: torch.Tensor, product: torch.Tensor | None = None):
        self.vectors, self.targets = vectors, targets.to(vectors.dtype)
        self.product = (vectors.T @ vectors).double() if product is None else product
        self.outputs, self.number = targets.shape
        self.double = vectors.dtype == torch.float64

    def exact(self) -> "_Problem":
        """The same in float64."""
        return _Problem(self.vectors.double(), self.targets, self.product)

    def value(self, point: torch.Tensor, c: float) -> "_Value":
        """The objective at (hidden + 1, outputs); products are in the vectors' precision, the rest in float64."""
        near = point.to(self.vectors.dtype)
        # (outputs, sentences), because sums over few classes are faster along the first axis.
        logits = torch.addmm(near[-1:].T, near[:-1].T, self.vectors.T)
        gold = (logits * self.targets).sum(dtype=torch.float64)
        if self.outputs == 1:
            loss = functional.softplus(logits).sum(dtype=torch.float64)
            missed = logits.sigmoid_().sub_(self.targets)
        else:
            most = logits.max(0).values
            missed = logits.sub_(most).exp_()
            total = missed.sum(0)
            loss = (total.log() + most).sum(dtype=torch.float64)
            missed.div_(total).sub_(self.targets)
        gradient = torch.empty_like(point)
        gradient[:-1] = (missed @ self.vectors).T.double() * c + point[:-1]
        gradient[-1] = c * missed.sum(1, dtype=torch.float64)
        value = float(c * (loss - gold)) + float(point[:-1].square().sum()) / 2
        # p (1 - p) of every class: ``missed`` is p - 1 for the gold class and p for the others.
        missed.abs_()
        spread = (missed.sum(dtype=torch.float64) - missed.square_().sum(dtype=torch.float64)) / self.number
        return _Value(value, gradient, float(spread) / max(1, self.outputs - 1))

    def metric(self, c: float, curvature: float) -> torch.Tensor:
        """Cholesky factor of C h X'X + I, for the weights of one class."""
        bound = self.product * (c * curvature)
        diagonal = bound.diagonal()
        diagonal += 1
        least = float(diagonal.mean()) * 1e-10
        for _ in range(10):
            factor, failed = torch.linalg.cholesky_ex(bound)
            if not failed:
                return factor
            # Nearly collinear vectors can fail in float32; any positive definite metric leads to the same minimum.
            diagonal += least
            least *= 10
        return torch.linalg.cholesky(bound)


@dataclass(frozen=True)
class _Value:
    """The objective at a point, its gradient, and the loss's mean p (1 - p), for K classes their sum by K - 1."""

    objective: float
    gradient: torch.Tensor
    curvature: float


@dataclass(frozen=True)
class _Minimum:
    point: torch.Tensor
    gradient: float
    evaluations: int
    solved: bool


class _Memory:
    """The memory of L-BFGS, steps and changes of the gradient, in a metric that follows the curvature."""

    def __init__(self, problem: _Problem, c: float):
        self._problem, self._c, self._curvature = problem, c, 0.0
        self._pairs: list[tuple[torch.Tensor, torch.Tensor, float]] = []
        self._scale = 1.0

    def measure(self, curvature: float) -> None:
        """Updates the metric if the curvature has changed too much since the last metric."""
        curvature = max(curvature, LEAST_CURVATURE)
        if not 1 / NEAR_CURVATURE <= self._curvature / curvature <= NEAR_CURVATURE:
            self._curvature = curvature
            self._factor = self._problem.metric(self._c, curvature)
            if self._pairs:
                self._rescale()

    def bounded(self, gradient: torch.Tensor) -> torch.Tensor:
        """The step by the metric alone."""
        intercept = gradient[-1:] / (self._c * self._problem.number * self._curvature)
        return torch.cat([torch.cholesky_solve(gradient[:-1], self._factor), intercept])

    def ahead(self, gradient: torch.Tensor) -> float:
        """Estimated distance of a weight from the minimum, by the metric and by the curvature of the last step."""
        return max(1.0, self._scale) * float(self.bounded(gradient).abs().max())

    def add(self, step: torch.Tensor, change: torch.Tensor) -> None:
        curved = float((step * change).sum())
        if curved > 0:
            self._pairs = [*self._pairs[1 - MEMORY :], (step, change, curved)]
            self._rescale()

    def _rescale(self) -> None:
        _, change, curved = self._pairs[-1]
        self._scale = curved / float((change * self.bounded(change)).sum())

    def step(self, gradient: torch.Tensor) -> torch.Tensor:
        """The L-BFGS step by the last pairs and the metric."""
        rest, shares = gradient.clone(), []
        for step, change, curved in reversed(self._pairs):
            shares.append(float((step * rest).sum()) / curved)
            rest -= shares[-1] * change
        rest = self._scale * self.bounded(rest)
        for (step, change, curved), share in zip(self._pairs, reversed(shares), strict=True):
            rest += (share - float((change * rest).sum()) / curved) * step
        return rest


def _minimum(
    problem: _Problem, c: float, point: torch.Tensor, evaluations: int, pause: Callable[[], None] | None
) -> _Minimum:
    """L-BFGS from a point until both criteria hold, progress stops, or ``MAX_STEPS`` are done."""
    memory = _Memory(problem, c)
    here = problem.value(point, c)
    evaluations += 1
    best, since = np.inf, 0
    for _ in range(MAX_STEPS):
        if pause:
            pause()
        memory.measure(here.curvature)
        left, ahead = float(here.gradient.abs().max()) / (c * problem.number), memory.ahead(here.gradient)
        if left <= GRADIENT and ahead <= STEP:
            return _Minimum(point, left, evaluations, True)
        since = 0 if ahead < best else since + 1
        best = min(best, ahead)
        if since > STALLED and not problem.double:
            break
        step = memory.step(here.gradient)
        slope = float((here.gradient * step).sum())
        # A rise within the float32 rounding error of the summed loss does not count.
        room = abs(here.objective) * (1e-14 if problem.double else 1e-7)
        length = 1.0
        for _ in range(HALVINGS):
            next_point = point - length * step
            there = problem.value(next_point, c)
            evaluations += 1
            if there.objective <= here.objective - 1e-4 * length * slope + room:
                break
            length /= 2
        else:
            break
        memory.add(next_point - point, there.gradient - here.gradient)
        point, here = next_point, there
    left = float(here.gradient.abs().max()) / (c * problem.number)
    return _Minimum(point, left, evaluations, False)
