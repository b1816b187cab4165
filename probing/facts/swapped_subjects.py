"""The swapped subject: a fact's question about another subject, which does not have the fact's answer.

The part of P@k that remains with the swapped subject does not come from the subject. Another subject with the same
answer would count knowledge as chance, so a fact without a suitable subject has no such baseline.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Protocol

import numpy as np

#: Rule in a run's configuration: the swapped subjects are those of ``swapped_subjects``. Stored runs may name another
#: one.
WITHOUT_THE_ANSWER = "without the answer"

_Question = tuple[str, str, str]


class Asked(Protocol):
    """What decides a fact's swapped subject; ``kernel.fact.Fact`` and rows of the table ``facts`` have it."""

    @property
    def fact_id(self) -> str: ...
    @property
    def probe_set(self) -> str: ...
    @property
    def relation(self) -> str: ...
    @property
    def subject(self) -> str: ...
    @property
    def object(self) -> str: ...
    @property
    def template(self) -> str: ...


class Answers:
    """Which subjects have an answer for one relation of one probe set, compared without case."""

    def __init__(self, facts: Iterable[Asked]) -> None:
        self._subjects: dict[_Question, set[str]] = defaultdict(set)
        for fact in facts:
            self._subjects[_question(fact)].add(fact.subject)

    def subjects_with(self, fact: Asked) -> set[str]:
        """The subjects that have the fact's answer in its relation, including its own."""
        return self._subjects[_question(fact)]


def swapped_subjects(facts: Sequence[Asked]) -> list[int | None]:
    """For each fact the number of the fact whose prompt has its swapped subject; None if none is suitable.

    The facts of a relation and template are arranged in a circle: by answer, the most frequent first, and within an
    answer in the order of their ids, which are hashes. Each answer's facts take the suitable prompts in turn, beginning
    as many places on as the most frequent answer has facts. If no answer has more than half of the facts and no subject
    several answers, every prompt is used once. The order of ``facts`` changes nothing.
    """
    partners: list[int | None] = [None] * len(facts)
    answers = Answers(facts)
    for group in _groups(facts):
        _assign(facts, group, answers, partners)
    return partners


def _assign(facts: Sequence[Asked], group: Sequence[int], answers: Answers, partners: list[int | None]) -> None:
    """Gives the facts of one relation and template their swapped subjects."""
    # A stable sort: of equally frequent answers the one with the first id comes first.
    parts = sorted(_parted(group, lambda number: _question(facts[number])), key=len, reverse=True)
    circle = np.array([number for numbers in parts for number in numbers])
    names = {name: number for number, name in enumerate(dict.fromkeys(facts[number].subject for number in group))}
    subjects = np.array([names[facts[number].subject] for number in circle])
    first, step = 0, len(parts[0])
    for part in parts:
        able = np.ones(len(names), dtype=bool)
        able[[names[name] for name in answers.subjects_with(facts[part[0]]) if name in names]] = False
        places = np.flatnonzero(able[subjects])
        if len(places):
            start = np.searchsorted(places, (first + step) % len(circle))
            turns = (start + np.arange(len(part))) % len(places)
            for number, other in zip(part, circle[places[turns]].tolist(), strict=True):
                partners[number] = other
        first += len(part)


def _groups(facts: Sequence[Asked]) -> list[list[int]]:
    """The numbers of the facts of each relation and template that can be asked about another subject, by fact id."""
    ids = [fact.fact_id for fact in facts]
    able = [number for number in sorted(range(len(facts)), key=ids.__getitem__) if "[X]" in facts[number].template]
    return _parted(able, lambda number: _text(facts[number]))


def _parted(numbers: Iterable[int], key: Callable[[int], Hashable]) -> list[list[int]]:
    """The numbers with equal keys together, in the order of the first of each."""
    parts: dict[Hashable, list[int]] = defaultdict(list)
    for number in numbers:
        parts[key(number)].append(number)
    return list(parts.values())


def _question(fact: Asked) -> _Question:
    return fact.probe_set, fact.relation, fact.object.casefold()


def _text(fact: Asked) -> tuple[str, str, str]:
    return fact.probe_set, fact.relation, fact.template
