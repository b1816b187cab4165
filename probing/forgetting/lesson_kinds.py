"""What is asked after a training, and the facts that are taught before: alike or unlike what is asked."""

import hashlib
from collections.abc import Container, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from probing.forgetting.memory import LOST, PARTS, Answered, Group, Groups, drawn, part_of

#: The kinds of ``LESSONS`` in which another wording is taught, and those of other relations than the asked ones.
IN_OTHER_WORDING, OF_OTHER_RELATIONS = ("wording", "unlike"), ("relations", "unlike")


@dataclass(frozen=True)
class Exam:
    """One training and what is asked after it; ``asked``: group -> (answers,) whether each is."""

    asked: Mapping[str, NDArray[np.bool_]]
    taught: Group


def exams_of(
    answers: Answered,
    groups: Groups,
    protocol: str,
    most: int,
    seed: int,
    kind: str = "same",
    k: int = 1,
    reworded: Container[int] = (),
) -> list[Exam]:
    """An exam for each part of a protocol, in which at most ``most`` facts are taught.

    They are lost ones, of the kind ``kept`` those that both models know, without any answer (by subject: only without
    any subject) that is asked. Parts of other relations are halved by relation, too. ``reworded`` are the numbers of
    the facts that have another wording.
    """
    pool = groups.of[LOST].facts
    if kind == "kept":
        pool = np.flatnonzero((answers.base_rank <= k) & (answers.rank <= k))
    elif kind in IN_OTHER_WORDING:
        pool = np.array([n for n in pool.tolist() if n in reworded], np.int64)
    others, others_relations = Group(pool, answers.answers[pool]), kind in OF_OTHER_RELATIONS
    halves = _halves(answers, seed) * others_relations
    parts, exams = {name: part_of(answers, group, protocol, seed) for name, group in groups.of.items()}, []
    for part, half in product(range(PARTS[protocol]), range(1 + others_relations)):
        asked = {name: (parts[name] == part) & (halves[group.facts] == half) for name, group in groups.of.items()}
        subjects = {answers.subjects[n].casefold() for name, some in asked.items() for n in groups.of[name].facts[some]}
        allowed = part_of(answers, others, protocol, seed) != part
        allowed &= np.array([answers.subjects[n].casefold() not in subjects for n in pool], bool)
        if others_relations:
            allowed &= halves[pool] != half
        exams.append(Exam(asked, others.some(drawn(np.flatnonzero(allowed), most, seed))))
    return exams


def _halves(answers: Answered, seed: int) -> NDArray[np.int64]:
    """(facts,) the half of each fact's relation; relations are halved in the order of a hash."""
    hashed = {name: hashlib.sha256(f"{seed}\n{name}".encode()).hexdigest() for name in dict.fromkeys(answers.relations)}
    half = {name: place % 2 for place, name in enumerate(sorted(hashed, key=hashed.__getitem__))}
    return np.array([half[name] for name in answers.relations], np.int64)
