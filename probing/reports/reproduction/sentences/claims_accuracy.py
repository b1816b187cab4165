"""Rules for the claims on the pre-trained encoders' accuracy; their words are in ``claims``."""

import pandas as pd

from probing.reports.reproduction.decisions import UNTESTED, Answer, Interval, apart, at_least, every, intervals, more, most, verdict
from probing.reports.reproduction.findings import Finding
from probing.reports.reproduction.sentences.evidence import (
    ALBERT,
    BERT,
    COORDINATION,
    ODD,
    ROBERTA,
    SHIFT,
    TASKS,
    InterplayEvidence,
    averaged,
)
from probing.reports.reproduction.words import in_points, listed, points

#: The smallest difference that counts as "substantially" or "much" higher.
FAR = 0.05
_NO_PROBES = "The pre-trained encoder has no probes of the paper's tasks with both poolings."


def mean_beats_first(evidence: InterplayEvidence) -> Finding:
    """Is mean-pooling above CLS-pooling in more than half of the layers, and on average, in every task?"""
    answers, said, rows, left = [], [], [], []
    for encoder in evidence.judged:
        for task in TASKS:
            poolings = evidence.poolings
            by_layer = poolings[poolings["encoder"].eq(encoder) & poolings["task"].eq(task) & poolings["layer"].ge(1)].sort_values("layer")
            if by_layer.empty:
                continue
            if not any(evidence.readable(encoder, task, pooling) for pooling in ("first", "mean")):
                left.append(task)
                continue
            mean = averaged(by_layer)
            above = [more(one, 0) for one in intervals(by_layer)]
            answers.append(every([most(above), more(mean, 0)]))  # type: ignore[arg-type]
            said.append(f"{task} {in_points(mean)}, surely above 0 at {above.count(True)} of {len(above)} layers")  # type: ignore[arg-type]
            rows.append(by_layer)
    if not rows:
        return Finding(UNTESTED, f"{_NO_PROBES if not left else ''}{_at_chance(left)}".strip())
    words = f"Mean-pooling minus CLS-pooling over layers 1 to L, points: {'; '.join(said)}.{_at_chance(left)}"
    null = "; ".join(f"{task} {points(value)}" for task, value in _majorities(evidence).items())
    return Finding(verdict(every(answers)), words, pd.concat(rows, ignore_index=True), f"The majority label gives {null} per cent.")


def _at_chance(left: list[str]) -> str:
    return f" Left out, because the probes do not surely beat the majority label: {listed(left)}." if left else ""


def _majorities(evidence: InterplayEvidence) -> dict[str, float]:
    accuracies = evidence.accuracies[evidence.accuracies["encoder"].isin(evidence.judged)]
    return {str(task): float(rows["majority"].iloc[0]) for task, rows in accuracies.groupby("task", sort=False) if task in TASKS}


def shift_easiest(evidence: InterplayEvidence) -> Finding:
    """Is accuracy on bigram-shift far above that on the two other tasks?"""
    answers, rows = [], []
    for encoder in evidence.judged:
        best = evidence.mean_accuracy(encoder, SHIFT, "mean")
        for task in (COORDINATION, ODD):
            other = evidence.mean_accuracy(encoder, task, "mean")
            if best and other:
                difference = apart(best, other)
                answers.append(at_least(difference, FAR))
                rows.append((encoder, task, best.value, other.value, difference.value, difference.low, difference.high))
    if not rows:
        return Finding(UNTESTED, "The pre-trained encoder has no mean-pooled probes of bigram-shift and of another task of the paper.")
    table = pd.DataFrame(rows, columns=["encoder", "task", SHIFT, "accuracy", "value", "low", "high"])
    said = "; ".join(f"{row.task} {in_points(Interval(row.value, row.low, row.high))}" for row in table.itertuples())
    null = "; ".join(f"{task} {points(value)}" for task, value in _majorities(evidence).items())
    return Finding(
        verdict(every(answers)),
        f"Accuracy on bigram-shift minus that on the other task, mean-pooling, mean over layers 1 to L, points: {said}.",
        table,
        f"The majority label gives {null} per cent. The sentences differ from the paper's unless SentEval's were fetched.",
    )


def albert_worst(evidence: InterplayEvidence) -> Finding:
    """On odd-man-out, is ALBERT below both others and RoBERTa above both?"""
    steps = [(ROBERTA, BERT, "mean"), (ROBERTA, ALBERT, "mean"), (BERT, ALBERT, "mean")]
    steps += [(one, other, "first") for one, other, _ in steps]
    return _three(evidence, ODD, [(one, other, pooling, 0.0) for one, other, pooling in steps])


def roberta_lacks_sentence(evidence: InterplayEvidence) -> Finding:
    """On coordination-inversion, is RoBERTa far below the others with CLS, and above both with mean-pooling?"""
    steps = [(other, ROBERTA, "first", FAR) for other in (BERT, ALBERT)]
    return _three(evidence, COORDINATION, steps + [(ROBERTA, other, "mean", 0.0) for other in (BERT, ALBERT)])


def _three(evidence: InterplayEvidence, task: str, steps: list[tuple[str, str, str, float]]) -> Finding:
    """Is the first encoder above the second by more than the given margin, in every step?"""
    needed = {
        (name, pooling): evidence.mean_accuracy(evidence.named.get(name, ""), task, pooling)
        for first, second, pooling, _ in steps
        for name in (first, second)
    }
    if missing := list(dict.fromkeys(name for (name, _), number in needed.items() if number is None)):
        return Finding(UNTESTED, _needs(missing, task))
    answers: list[Answer] = []
    rows = []
    for first, second, pooling, far in steps:
        difference = apart(needed[first, pooling], needed[second, pooling])  # type: ignore[arg-type]
        answers.append(more(difference, far))
        names = evidence.named[first], evidence.named[second]
        rows.append((task, pooling, *names, difference.value, difference.low, difference.high))
    table = pd.DataFrame(rows, columns=["task", "pooling", "first", "second", "value", "low", "high"])
    said = "; ".join(
        f"{row.first} minus {row.second}, {row.pooling} {in_points(Interval(row.value, row.low, row.high))}" for row in table.itertuples()
    )
    return Finding(verdict(every(answers)), f"Accuracy on {task}, mean over layers 1 to L, points: {said}.", table)


#: Encoder of the paper -> the family of the registry with this base or a stand-in for it.
FAMILIES = {BERT: "bert-base", ROBERTA: "roberta-base", ALBERT: "albert-base"}


def _needs(missing: list[str], task: str) -> str:
    commands = " and ".join(f"python -m probing reproduce --paper interplay --family {FAMILIES[name]}" for name in missing)
    return (
        f"This compares three encoders; {listed(missing)} {'has' if len(missing) == 1 else 'have'} no probes of {task} here. "
        f"To make them: {commands}"
    )
