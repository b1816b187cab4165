"""A cloze sentence changed by rule: negated, misprimed, shuffled, truncated, with another name.

A changed prediction shows what the model had read: negation and misprimes by Kassner and Schütze (2020), shuffled and
truncated contexts by Ettinger (2020), names that give an answer away by Poerner et al. (2020). The rules are ours: they
look at words, not at grammar, and give the reason if they find nothing to change. Gaps are never touched.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from probing.facts.fact import MASK
from probing.kernel.questions import with_masks
from probing.live.perturb_entity_names import find_entity
from probing.live.perturb_negation import negate
from probing.live.perturb_words import with_words, word_places

#: Behaviour -> its label.
PERTURBATIONS = {
    "negated": "negated",
    "misprimed": "misprimed",
    "shuffled": "words shuffled",
    "truncated": "cut short",
    "renamed": "another name",
}


@dataclass(frozen=True)
class Changed:
    """A changed sentence and what was done; or None and the reason why it could not be changed."""

    text: str | None
    words: str


def negated(sentence: str) -> Changed:
    """With "not", or without the negation that it had: "A robin is a [MASK]" -> "A robin is not a [MASK]"."""
    return Changed(*negate(sentence))


def misprimed(sentence: str, prime: str) -> Changed:
    """The sentence after a misleading word: "Talk" -> "Talk? Birds can [MASK]"."""
    prime = " ".join(prime.split()).strip(" ?.!")
    if not prime:
        return Changed(None, "type a word above that misleads the model")
    if MASK in with_masks(prime):
        return Changed(None, "the misleading word contains a gap")
    return Changed(f"{prime[0].upper()}{prime[1:]}? {sentence}", f"“{prime}” was put before the sentence")


def shuffled(sentence: str, seed: int = 1) -> Changed:
    """The sentence with its words in another order, by the seed; gaps, punctuation and spaces stay where they are."""
    places = word_places(sentence)
    words = [sentence[start:end] for start, end in places]
    if len({word.casefold() for word in words}) < 2:
        return Changed(None, "there are not two different words to swap")
    mixed, order = list(words), random.Random(seed)
    while [word.casefold() for word in mixed] == [word.casefold() for word in words]:
        order.shuffle(mixed)
    return Changed(with_words(sentence, places, mixed), f"{len(words)} words in another order (seed {seed})")


def truncated(sentence: str, keep: int = 2) -> Changed:
    """The sentence with only the ``keep`` words before and after its first gap; what is further away is cut off."""
    if keep < 0:
        raise ValueError(f"keep is {keep}, expected at least 0")
    gap = sentence.find(MASK)
    if gap < 0:
        return Changed(None, f"the sentence has no {MASK}")
    places = word_places(sentence)
    before = [place for place in places if place[1] <= gap]
    after = [place for place in places if place[0] >= gap]
    cut = max(len(before) - keep, 0) + max(len(after) - keep, 0)
    if not cut:
        return Changed(None, f"there are no more than {keep} words on either side of the gap")
    start = 0 if len(before) <= keep else before[-keep][0] if keep else gap
    text = sentence[start:]
    if len(after) > keep:
        end = (after[keep - 1][1] if keep else gap + len(MASK)) - start
        closing = re.search(r"\s*[.?!]\s*$", text)
        text = text[:end] + (closing.group() if closing else "")
    return Changed(text, f"{cut} words were cut off, {keep} on either side of the gap stayed")


def renamed(sentence: str, other: str, name: str | None = None) -> Changed:
    """The sentence about another name than ``name``, by default the one that ``find_entity`` finds."""
    other, name = " ".join(other.split()), name or find_entity(sentence)
    if name is None:
        return Changed(None, "no name was found: names are recognised by their capital letters")
    if not other or MASK in with_masks(other):
        return Changed(None, "no other name was given")
    pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    if not pattern.search(sentence):
        return Changed(None, f"“{name}” is not in the sentence")
    if other == name:
        return Changed(None, f"“{other}” is already the name in the sentence")
    return Changed(pattern.sub(lambda _: other, sentence), f"“{other}” replaced “{name}”")


def wrong_answers(tokens: Sequence[str], right: Sequence[str], limit: int = 4) -> list[str]:
    """Words among a model's predictions that can mislead it: whole words, none of them right, in the order given."""
    known = {word.casefold() for word in right}
    words = dict.fromkeys(token.strip() for token in tokens)
    return [word for word in words if word.isalpha() and len(word) > 1 and word.casefold() not in known][:limit]
