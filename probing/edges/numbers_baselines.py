"""What is reached without an encoder, and what no encoder can exceed: the floor and the ceiling of a task's F1."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

from probing.edges.targets import Part, Record, Span, Target

#: Lower-cased text of the span, or of both spans.
SpanText = tuple[str, ...]


def span_text(record: Record, target: Target) -> SpanText:
    """The words of the span, or of each of the two spans, lower-cased."""
    spans: tuple[Span, ...] = (target.span1,) if target.span2 is None else (target.span1, target.span2)
    return tuple(" ".join(record.words[start:end]).lower() for start, end in spans)


def targets_of(part: Part) -> Iterator[tuple[Record, Target]]:
    """Every target with its sentence, in the order of records."""
    return ((record, target) for record in part.records for target in record.targets)


def majority_answer(train: Part) -> tuple[str, ...]:
    """The commonest training label; of equally common ones the first in the alphabet. Empty if there is no label."""
    counted = Counter(label for _, target in targets_of(train) for label in target.labels)
    return _commonest(counted)


def memory_answers(train: Part, part: Part) -> list[tuple[str, ...]]:
    """For each target the commonest training label of the same span text (of both spans), else the majority answer."""
    counted: defaultdict[SpanText, Counter[str]] = defaultdict(Counter)
    for record, target in targets_of(train):
        counted[span_text(record, target)].update(target.labels)
    remembered = {text: _commonest(labels) for text, labels in counted.items()}
    majority = majority_answer(train)
    return [remembered.get(span_text(record, target), majority) for record, target in targets_of(part)]


def has_many_labels(train: Part) -> bool:
    """Whether a training target may have no label or several, as in proto-roles."""
    return any(len(target.labels) != 1 for _, target in targets_of(train))


def memory_each_answers(train: Part, part: Part) -> list[tuple[str, ...]]:
    """Labels that at least half of the training targets of the same text have, else at least half of all.

    One label per target, as ``memory_answers`` gives it, is too low a floor for tasks whose targets have several.
    """
    counted: defaultdict[SpanText, Counter[str]] = defaultdict(Counter)
    targets: Counter[SpanText] = Counter()
    for record, target in targets_of(train):
        counted[span_text(record, target)].update(target.labels)
        targets[span_text(record, target)] += 1
    labels_of_all: Counter[str] = sum(counted.values(), Counter())
    usual = _of_half(labels_of_all, targets.total())
    remembered = {text: _of_half(labels, targets[text]) for text, labels in counted.items()}
    return [remembered.get(span_text(record, target), usual) for record, target in targets_of(part)]


def _of_half(labels: Counter[str], targets: int) -> tuple[str, ...]:
    return tuple(sorted(label for label, n in labels.items() if 2 * n >= targets))


def seen_in_training(train: Part, part: Part) -> list[bool]:
    """For each target whether the text of its span (of both spans together) is that of a training target."""
    seen = {span_text(record, target) for record, target in targets_of(train)}
    return [span_text(record, target) in seen for record, target in targets_of(part)]


def ceiling(part: Part, counts: Callable[[str], bool]) -> float:
    """The greatest micro F1 of predictions that are the same for equal inputs: the same spans of the same text.

    A probe sees spans, and one span may have several targets with a label each: a sentence that is one noun phrase is
    ``TOP`` and ``NP``. F1 is greatest if a label is predicted for all targets of an input of which at least F1 / 2 have
    it; a few rounds find this F1. It is 1 if no input has two targets, NaN if no label counts.
    """
    inputs: defaultdict[tuple[str, Span, Span | None], list[Target]] = defaultdict(list)
    for record, target in targets_of(part):
        inputs[record.text, target.span1, target.span2].append(target)
    # (Targets of an input, how many of them have a label) -> number of such inputs and labels.
    shares: Counter[tuple[int, int]] = Counter()
    for targets in inputs.values():
        labels = Counter(label for target in targets for label in target.labels if counts(label))
        shares.update((len(targets), number) for number in labels.values())
    gold = sum(number * times for (_, number), times in shares.items())
    if not gold:
        return float("nan")
    best, before = 0.0, -1.0
    while best > before:
        predicted = [(size, number, times) for (size, number), times in shares.items() if 2 * number >= best * size]
        right = sum(number * times for _, number, times in predicted)
        answers = sum(size * times for size, _, times in predicted)
        best, before = 2 * right / (answers + gold), best
    return best


def _commonest(labels: Counter[str]) -> tuple[str, ...]:
    return (min(labels, key=lambda label: (-labels[label], label)),) if labels else ()
