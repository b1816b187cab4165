"""A cloze sentence changed by rule: negated, misprimed, shuffled, truncated, with another name."""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from probing.kernel.fact import MASK
from probing.kernel.questions import with_masks

#: Behaviour -> its label.
PERTURBATIONS = {
    "negated": "negated",
    "misprimed": "misprimed",
    "shuffled": "words shuffled",
    "truncated": "cut short",
    "renamed": "another name",
}
_BLANK = "_" * len(MASK)
_HELPING = "is|are|was|were|am|can|could|will|would|shall|should|may|might|must"
#: Capitalised at the start of a sentence only because of that position.
_FUNCTION_WORDS = frozenset(
    f"{_HELPING}|of|the|a|an|in|on|at|to|by|for|with|from|his|her|its|their|our|my|your|this|that|these|those|and|or|no"
    "|some|any|i|you|we|they|people|men|women|children|he|she|it|who|what|where|when|why|how|there|here|one|all|most|yes"
    "|many|every|each|as|if|while|after|before|during|since|not|do|does|did|has|have|had".split("|")
)
_WORD = re.compile(r"[^\W_](?:[\w'’-]*\w)?")
_START = re.compile(rf"(?:^|[.?!])[\s\"'“]*({_WORD.pattern})")
_CAPITAL = r"(?=[^\W_])[\w'’-]*[A-Z](?:[\w'’-]*\w)?"
#: With small words inside: Hotel de Paris.
_NAME = re.compile(rf"(?<![\w'’-])(?!I\b){_CAPITAL}(?:(?:\s+(?:of|de|la|le|d[aiu]|v[ao]n|de[rn]|the))*\s+{_CAPITAL})*")
_VERB_FOLLOWS = re.compile(rf"\s+(?:{_HELPING}|have|had|made|\w+(?:s|ed))\b", re.IGNORECASE)
_AUXILIARY = re.compile(rf"(?<![\w'’-])(?:{_HELPING}|ha(?:s|ve|d)(?=\s+been\b))(?![\w'’-])", re.IGNORECASE)
#: A question, and a negation in another word than "not": "won't", "nobody", "hardly".
_NO_RULE = re.compile(
    rf"^(?!May|Will|Can|Might)(?i:{_HELPING}|do|does|did|has|have|had)\b|\?\s*$"
    r"|(?i:\b(?:\w+n['’]t|no|nobody|nothing|nowhere|none|neither|nor|hardly|scarcely|barely|seldom|rarely)\b|^not\b)"
)
_NOT = re.compile(r"\s+(?:not|never)\b|(?<=\bcan)not\b|(?<=[sedt])n['’]t\b", re.IGNORECASE)


@dataclass(frozen=True)
class Changed:
    """A changed sentence and what was done; or None and the reason why it could not be changed."""

    text: str | None
    words: str


def find_entity(sentence: str) -> str | None:
    """The longest run of capitalised words outside gaps, the first of equally long ones; one word at the start only if
    a verb follows and nothing else is a name."""
    # As long as the sentence, with A for capitals of any script.
    shape = "".join("A" if c.isupper() and not c.isascii() else c for c in sentence.replace(MASK, _BLANK))
    shape = _START.sub(lambda start: start[0].lower() if start[1].lower() in _FUNCTION_WORDS else start[0], shape)
    starts, names = {start.span(1) for start in _START.finditer(shape)}, [name.span() for name in _NAME.finditer(shape)]
    inner = [name for name in names if name not in starts]
    names = inner or [name for name in names if _VERB_FOLLOWS.match(shape, name[1])]
    start, end = max(names, key=lambda name: len(shape[slice(*name)].split()), default=(0, 0))
    return sentence[start:end] or None


def other_entity(name: str) -> str:
    """A name that can replace one of the same length: of a person for several words, else of a country."""
    first, second = ("Giovanni Rossi", "Hans Müller") if len(name.split()) > 1 else ("Italy", "Poland")
    return second if name == first else first


def negated(sentence: str) -> Changed:
    """With "not" after an auxiliary, or without its "not": "A robin is a [MASK]" -> "A robin is not a [MASK]".

    Of several sentences that with the first gap is changed. Others are left as they are, with the reason.
    """
    gap = max(sentence.find(MASK), 0)
    start = max((found.end() for found in re.finditer(r"[.?!;]\s+", sentence[:gap])), default=0)
    stop = re.search(r"[.?!;](?=\s)", sentence[gap:])
    end = gap + stop.end() if stop else len(sentence)
    part = sentence[start:end]
    taken = _NOT.search(part)
    left = part if taken is None else part[: taken.start()] + part[taken.end() :]
    if _NO_RULE.search(left):
        return Changed(None, "it is a question, or a word other than “not” negates it; write it as a plain statement")
    if taken:
        return Changed(sentence[:start] + left + sentence[end:], f"it was negated: “{taken[0].strip()}” was taken out")
    # A month or a person is no auxiliary.
    helping = [word for word in _AUXILIARY.finditer(part) if word[0] not in ("May", "Will", "Can", "Might")]
    if not helping:
        return Changed(None, "no “is”, “was”, “can” or the like was found to put “not” after; write “not” yourself")
    before = [word for word in helping if word.start() < part.find(MASK)]
    if any(part[one.end() : other.start()].strip() for one, other in pairwise(before)):
        return Changed(None, "several verbs before the gap could take “not”; write “not” yourself")
    found = helping[0]
    negation, at = "NOT" if found[0].isupper() else "not", start + found.end()
    space = "" if found[0].lower() == "can" else " "
    return Changed(sentence[:at] + space + negation + sentence[at:], f"“{negation}” was put after “{found[0]}”")


def misprimed(sentence: str, prime: str) -> Changed:
    """The sentence after a misleading word: "Talk" -> "Talk? Birds can [MASK]"."""
    prime = " ".join(prime.split()).strip(" ?.!")
    if not prime or MASK in with_masks(prime):
        words = "the misleading word contains a gap" if prime else "type a word above that misleads the model"
        return Changed(None, words)
    return Changed(f"{prime[0].upper()}{prime[1:]}? {sentence}", f"“{prime}” was put before the sentence")


def shuffled(sentence: str, seed: int = 1) -> Changed:
    """The sentence with its words in another order, by the seed; gaps, punctuation and spaces stay where they are."""
    blanked = sentence.replace(MASK, _BLANK)
    words = _WORD.findall(blanked)
    if len({word.casefold() for word in words}) < 2:
        return Changed(None, "there are not two different words to swap")
    mixed, order = list(words), random.Random(seed)
    while [word.casefold() for word in mixed] == [word.casefold() for word in words]:
        order.shuffle(mixed)
    said, left = f"{len(words)} words in another order (seed {seed})", iter(mixed)
    return Changed(_WORD.sub(lambda _: next(left), blanked).replace(_BLANK, MASK), said)


def truncated(sentence: str, keep: int = 2) -> Changed:
    """The sentence with only the ``keep`` words before and after its first gap, which it must have."""
    before, _, after = sentence.partition(MASK)
    left, right = ([word.span() for word in _WORD.finditer(side.replace(MASK, _BLANK))] for side in (before, after))
    cut = max(len(left) - keep, 0) + max(len(right) - keep, 0)
    if not cut:
        return Changed(None, f"there are no more than {keep} words on either side of the gap")
    if len(left) > keep:
        before = before[left[-keep][0] :] if keep else ""
    if len(right) > keep:
        closing = re.search(r"\s*[.?!]\s*$", after)
        after = after[: right[keep - 1][1] if keep else 0] + (closing.group() if closing else "")
    return Changed(before + MASK + after, f"{cut} words were cut off, {keep} on either side of the gap stayed")


def renamed(sentence: str, other: str, name: str | None = None) -> Changed:
    """The sentence about another name than ``name``, by default the one that ``find_entity`` finds."""
    other, name = " ".join(other.split()), name or find_entity(sentence)
    if name is None:
        return Changed(None, "no name was found: names are recognised by their capital letters")
    if not other or MASK in with_masks(other):
        return Changed(None, "no other name was given")
    if other == name:
        return Changed(None, f"“{other}” is already the name in the sentence")
    text, found = re.subn(rf"(?<!\w){re.escape(name)}(?!\w)", lambda _: other, sentence)
    return Changed(text, f"“{other}” replaced “{name}”") if found else Changed(None, f"“{name}” is not in the sentence")


def wrong_answers(tokens: Sequence[str], right: Sequence[str], limit: int = 4) -> list[str]:
    """Words among a model's predictions that can mislead it: whole words, none of them right, in the order given."""
    known = {word.casefold() for word in right}
    words = dict.fromkeys(token.strip() for token in tokens)
    return [word for word in words if word.isalpha() and len(word) > 1 and word.casefold() not in known][:limit]
