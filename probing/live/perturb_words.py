"""Words of a cloze sentence: their positions, and which of them are verbs and function words of templates."""

import re
from collections.abc import Sequence

from probing.facts.fact import MASK


def _split(words: str) -> tuple[str, ...]:
    return tuple(words.split())


#: A "not" goes straight after these.
AUXILIARIES = _split("is are was were am can could will would shall should may might must")
DETERMINERS = _split(
    "a an the of in on at to by for with from his her its their our my your this that these those and or no some any"
)
#: With these a verb has its bare form.
PLURAL = _split("i you we they people men women children")
#: Small words inside names: Hotel de Paris, University of London.
PARTICLES = _split("of de la le du da di von van der den the")
_OTHER_FUNCTION_WORDS = _split(
    "he she it who what where when why how there here one all most many every each as if while after before during"
    " since not yes do does did has have had"
)
#: Capitalised at the start of a sentence only because of that position.
FUNCTION_WORDS = frozenset((*DETERMINERS, *PLURAL, *AUXILIARIES, *_OTHER_FUNCTION_WORDS))
#: Verbs of cloze templates that have no auxiliary; forms are made by rule.
_VERBS = _split(
    "play work live own share contain consist belong produce make maintain develop speak use die move start end border"
    " include represent originate like want need fly swim eat drink love hate wear mean call name"
)
_PAST = _split("made:make spoke:speak flew:fly swam:swim ate:eat drank:drink wore:wear meant:mean has:have had:have")
_IRREGULAR = dict(pair.split(":") for pair in _PAST)
_WORD = re.compile(r"[^\W_](?:[\w'’-]*\w)?")


def word_places(sentence: str) -> list[tuple[int, int]]:
    """Start and end of every word outside gaps."""
    return [match.span() for match in _WORD.finditer(sentence.replace(MASK, "_" * len(MASK)))]


def with_words(sentence: str, places: Sequence[tuple[int, int]], words: Sequence[str]) -> str:
    """The sentence with other words at these places."""
    parts, at = [], 0
    for (start, end), word in zip(places, words, strict=True):
        parts += [sentence[at:start], word]
        at = end
    return "".join([*parts, sentence[at:]])


def bare_verb(word: str) -> str | None:
    """The bare form of a verb that templates use; None for any other word."""
    low = word.casefold()
    if low == "have" or low in _IRREGULAR:
        return _IRREGULAR.get(low, low)
    for verb in _VERBS:
        stem = verb[:-1] + "i" if verb.endswith("y") and verb[-2] not in "aeiou" else verb
        if low in (verb, f"{verb}s", f"{stem}es", f"{stem}ed", f"{verb}d" if verb.endswith("e") else ""):
            return verb
    return None
