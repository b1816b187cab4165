"""Definitions of one fact or one pair of lists, which tests hold against what SQL and torch count."""

import hashlib
from collections.abc import Collection, Sequence

from probing.facts.totals import piece, plain, words


def total_null_kind(own: Sequence[int], swapped: Sequence[int | None], k: int) -> str | None:
    """What a fact says about the null of total knowledge: found inside with its ``own`` subject, the ``swapped`` one,
    ``both`` or neither.

    None where the fact is not asked with a swapped subject, or where the last layer finds it with either.

    Args:
        own: ranks of the right answer at the layers 1..L.
        swapped: its ranks with the swapped subject.
        k: the rank up to which a fact counts as known.
    """
    if any(rank is None for rank in swapped) or own[-1] <= k or swapped[-1] <= k:
        return None
    inside = [min(ranks[:-1]) <= k for ranks in (own, swapped)]
    return {(True, False): "own", (False, True): "swapped", (True, True): "both", (False, False): "neither"}[*inside]


def is_scored(fact_id: str, seed: int = 0) -> bool:
    """Whether a fact is in the scored half: the first hex digit of md5 over the seed and its id is 8 or above.

    It depends on nothing but the two, so that all models choose and are scored on the same facts.
    """
    return hashlib.md5(f"{seed}{fact_id}".encode(), usedforsecurity=False).hexdigest()[0] >= "8"


def classify(
    text: str,
    *,
    starts_word: bool,
    right: bool,
    subject_answers: Collection[str],
    relation_answers: Collection[str],
    prompt: str,
) -> str:
    """The kind of a top token, the first of ``KINDS`` that holds.

    ``right`` is rank 1, so that its share is P@1. A word that ties with the right answer, or spells it in other
    letters' case, is a recorded answer of the subject. Copying is of whole words, the template's own among them.

    Args:
        text, starts_word: of the token, as the vocabulary has them.
        right: whether the right answer has rank 1.
        subject_answers: objects of all stored facts of this probe set, relation and subject; of this prompt, where
            facts have no subject of their own.
        relation_answers: objects of all stored facts of this probe set and relation.
        prompt: the question, with its mask.
    """
    if right:
        return "right"
    got = piece(text, starts_word)
    if got.word is not None:
        if got.word in {plain(answer) for answer in subject_answers}:
            return "subject answer"
        if got.word in {plain(answer) for answer in relation_answers}:
            return "relation answer"
        if got.word in words(prompt):
            return "copied"
    return got.shape
