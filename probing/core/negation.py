"""Negation of a cloze sentence, by rule."""

import re

from probing.core.facts import MASK
from probing.core.sentence_words import AUXILIARIES, DETERMINERS, PLURAL, bare_verb, word_places

_PARTICIPLES = re.compile(r"been|born|made|won|held|known|given|taken|written|\w+(?:ed|en)$", re.IGNORECASE)
_CONTRACTED = {"won't": "will", "can't": "can", "cannot": "can", "shan't": "shall"}


def negate(sentence: str) -> tuple[str, str] | None:
    """The sentence with a "not", or without the negation that it had, and what was done; None without a verb that is known.

    The first auxiliary of the sentence that holds the gap takes the "not"; without one, a verb that templates use takes "does not",
    "do not" or "did not". A sub-clause before the main verb is taken for the main one.
    """
    for start, end in (_around_gap(sentence), (0, len(sentence))):
        part = sentence[start:end]
        for rule in (_affirmed, _auxiliary_negated, _verb_negated):
            if found := rule(part):
                return sentence[:start] + found[0] + sentence[end:], found[1]
    return None


def _around_gap(sentence: str) -> tuple[int, int]:
    """Start and end of the sentence that holds the first gap, where the text is several."""
    gap = max(sentence.find(MASK), 0)
    starts = [match.end() for match in re.finditer(r"[.?!;]\s+", sentence) if match.end() <= gap]
    ends = [match.end() for match in re.finditer(r"[.?!;](?=\s)", sentence) if match.start() >= gap + len(MASK)]
    return (starts[-1] if starts else 0), (ends[0] if ends else len(sentence))


def _affirmed(part: str) -> tuple[str, str] | None:
    """Without the negation that is there."""
    for start, end in word_places(part):
        word = part[start:end].replace("’", "'").casefold()
        if word in ("not", "never"):
            left = part[:start].rstrip() if part[end:].startswith(" ") else part[:start]
            return left + part[end:], f"it was negated: “{word}” was taken out"
        plain = _CONTRACTED.get(word) or (word.removesuffix("n't") if word.endswith("n't") else "")
        if plain:
            return part[:start] + _cased(plain, part[start]) + part[end:], f"it was negated: “{word}” became “{plain}”"
    return None


def _auxiliary_negated(part: str) -> tuple[str, str] | None:
    places = word_places(part)
    for number, (start, end) in enumerate(places):
        word = part[start:end]
        low = word.casefold()
        follows = part[slice(*places[number + 1])] if number + 1 < len(places) else ""
        if low == "can":
            return f"{part[:start]}{word}not{part[end:]}", "“can” became “cannot”"
        if low in AUXILIARIES or (low in ("has", "have", "had") and _PARTICIPLES.fullmatch(follows)):
            return f"{part[:end]} not{part[end:]}", f"“not” was put after “{word}”"
    return None


def _verb_negated(part: str) -> tuple[str, str] | None:
    """With "do not" before a verb that stands alone."""
    places = word_places(part)
    for number, (start, end) in enumerate(places):
        word, before = part[start:end], part[slice(*places[number - 1])].casefold() if number else MASK
        verb = bare_verb(word)
        if verb is None or before in DETERMINERS or (not number and MASK not in part[:start]):
            continue
        if word.casefold() == verb and not (before in PLURAL or before.endswith("s")):
            continue
        auxiliary = "do" if word.casefold() == verb else "does" if word.endswith("s") else "did"
        return f"{part[:start]}{auxiliary} not {verb}{part[end:]}", f"“{word}” became “{auxiliary} not {verb}”"
    return None


def _cased(word: str, like: str) -> str:
    return word.capitalize() if like.isupper() else word
