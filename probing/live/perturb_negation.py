"""Negation of a cloze sentence, by rule."""

import re

from probing.facts.fact import MASK
from probing.live.perturb_words import AUXILIARIES, DETERMINERS, PLURAL, bare_verb, word_places

_PARTICIPLES = re.compile(r"been|born|made|won|held|known|given|taken|written|\w+(?:ed|en)$", re.IGNORECASE)
#: What a question may begin with, in addition to the auxiliaries.
_OPENING = ("do", "does", "did", "has", "have", "had")
#: Auxiliaries that are names, too, if they have a capital letter.
_NAMES = ("may", "will", "can", "might")
_CONTRACTED = {"won't": "will", "can't": "can", "cannot": "can", "shan't": "shall"}


def negate(sentence: str) -> tuple[str | None, str]:
    """The sentence with a "not", or without its negation, and what was done; None and the reason if no rule fits.

    The first auxiliary of the sentence that holds the gap takes the "not"; without one, a verb that templates use takes
    "does not", "do not" or "did not". A sub-clause before the main verb is taken for the main one. A question keeps its
    order of words, which these rules would break, so it is refused.
    """
    for start, end in (_around_gap(sentence), (0, len(sentence))):
        part = sentence[start:end]
        for rule in (_affirmed, _question, _auxiliary_negated, _verb_negated):
            if negation := rule(part):
                return (None if negation[0] is None else sentence[:start] + negation[0] + sentence[end:]), negation[1]
    return None, "no verb was found that could be negated (is, was, can, has … or a verb of the templates)"


def _around_gap(sentence: str) -> tuple[int, int]:
    """Start and end of the sentence that holds the first gap, if the text has several."""
    gap = max(sentence.find(MASK), 0)
    starts = [match.end() for match in re.finditer(r"[.?!;]\s+", sentence) if match.end() <= gap]
    ends = [match.end() for match in re.finditer(r"[.?!;](?=\s)", sentence) if match.start() >= gap + len(MASK)]
    return (starts[-1] if starts else 0), (ends[0] if ends else len(sentence))


def _affirmed(part: str) -> tuple[str, str] | None:
    """The sentence without its negation."""
    for start, end in word_places(part):
        word = part[start:end].replace("’", "'").casefold()
        if word in ("not", "never"):
            left = part[:start].rstrip() if part[end:].startswith(" ") else part[:start]
            return left + part[end:], f"it was negated: “{word}” was taken out"
        plain = _CONTRACTED.get(word) or (word.removesuffix("n't") if word.endswith("n't") else "")
        if plain:
            return part[:start] + _cased(plain, part[start]) + part[end:], f"it was negated: “{word}” became “{plain}”"
    return None


def _question(part: str) -> tuple[None, str] | None:
    """Why a question that begins with its auxiliary is left unchanged: "Can birds [MASK]?"."""
    places = word_places(part)
    if not places or MASK in part[: places[0][0]]:
        return None
    word, rest = part[slice(*places[0])], [part[start:end].casefold() for start, end in places[1:]]
    if word.casefold() not in (*AUXILIARIES, *_OPENING) or _is_name(part, word, rest):
        return None
    return None, f"it is a question that begins with “{word}”; write it as a statement"


def _is_name(part: str, word: str, rest: list[str]) -> bool:
    """Whether an apparent auxiliary is a name, as the sentence has another verb: "May is the month"."""
    if word.casefold() not in _NAMES or part.rstrip().endswith("?"):
        return False
    return any(other in (*AUXILIARIES, "has", "had") or (bare_verb(other) not in (None, other)) for other in rest)


def _auxiliary_negated(part: str) -> tuple[str, str] | None:
    places = word_places(part)
    for number, (start, end) in enumerate(places):
        word = part[start:end]
        low = word.casefold()
        # "May", "Will": a month or a person, anywhere in the sentence.
        if low in _NAMES and word.istitle():
            continue
        negation = "NOT" if word.isupper() else "not"
        follows = part[slice(*places[number + 1])] if number + 1 < len(places) else ""
        if low == "can":
            return f"{part[:end]}{negation}{part[end:]}", "“can” became “cannot”"
        if low in AUXILIARIES or (low in ("has", "have", "had") and _PARTICIPLES.fullmatch(follows)):
            return f"{part[:end]} {negation}{part[end:]}", f"“not” was put after “{word}”"
    return None


def _verb_negated(part: str) -> tuple[str, str] | None:
    """With "do not" before a verb without an auxiliary."""
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
