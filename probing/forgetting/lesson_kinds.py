"""Which facts are taught before a part is asked: as many of every kind, alike or unlike what is asked."""

import hashlib
from collections.abc import Container, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from probing.forgetting.memory import LOST, PARTS, Answered, Group, Groups, drawn, lessons, part_of
from probing.forgetting.ways import BY_ANSWER

#: The lessons in which another wording is taught, and those of other relations than the asked ones.
IN_OTHER_WORDING, OF_OTHER_RELATIONS = ("wording", "unlike"), ("relations", "unlike")
#: The lessons that teach facts which both models know.
OF_KEPT_FACTS = "kept"


@dataclass(frozen=True)
class Exam:
    """One training and what is asked after it; ``asked``: group -> (answers,) whether each is."""

    asked: Mapping[str, NDArray[np.bool_]]
    taught: Group


def exams_of(
    answers: Answered, groups: Groups, of: Mapping[str, Group], protocol: str, most: int, seed: int
) -> list[Exam]:
    """One exam for each part of a protocol; the other parts' lost facts are taught."""
    return [
        Exam(
            {name: part_of(answers, group, protocol, seed) == part for name, group in of.items()},
            lessons(answers, groups, protocol, part, most, seed),
        )
        for part in range(PARTS[protocol])
    ]


def lesson_exams(
    answers: Answered, groups: Groups, kind: str, size: int, seed: int, k: int, reworded: Container[int] = ()
) -> list[Exam]:
    """The exams of one kind of lessons (``ways.LESSONS``): halves by answer, of other relations also by relation.

    At most ``size`` facts are taught, none with an answer or a subject that is asked. ``reworded`` are the numbers of
    the facts that have another wording.
    """
    halves = _halves(answers, seed)
    pool = groups.of[LOST].facts
    if kind == OF_KEPT_FACTS:
        pool = np.flatnonzero((answers.base_rank <= k) & (answers.rank <= k))
    elif kind in IN_OTHER_WORDING:
        pool = np.array([n for n in pool.tolist() if n in reworded], np.int64)
    others, exams = Group(pool, answers.answers[pool]), []
    by_answer = {name: part_of(answers, group, BY_ANSWER, seed) for name, group in groups.of.items()}
    for half, relations in product(range(2), range(2) if kind in OF_OTHER_RELATIONS else (None,)):
        asked, allowed = (
            {name: part == half for name, part in by_answer.items()},
            part_of(answers, others, BY_ANSWER, seed) != half,
        )
        if relations is not None:
            asked = {name: some & (halves[groups.of[name].facts] == relations) for name, some in asked.items()}
            allowed &= halves[pool] != relations
        subjects = {answers.subjects[n].casefold() for name, some in asked.items() for n in groups.of[name].facts[some]}
        allowed &= np.array([answers.subjects[n].casefold() not in subjects for n in pool], bool)
        if subjects:
            exams.append(Exam(asked, others.some(drawn(np.flatnonzero(allowed), size, seed))))
    return exams


def _halves(answers: Answered, seed: int) -> NDArray[np.int64]:
    """(facts,) the half of each fact's relation; relations are halved in the order of a hash."""
    hashed = {name: hashlib.sha256(f"{seed}\n{name}".encode()).hexdigest() for name in dict.fromkeys(answers.relations)}
    half = {name: place % 2 for place, name in enumerate(sorted(hashed, key=hashed.__getitem__))}
    return np.array([half[name] for name in answers.relations], np.int64)
