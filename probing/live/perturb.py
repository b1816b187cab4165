"""A cloze sentence changed by rule: negated, misprimed, shuffled, truncated, with another name."""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from probing.kernel.fact import MASK
from probing.kernel.questions import with_masks


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


#: For a name of several words and for one of a single word; each has a clear origin.
OTHER_NAMES = (("Giovanni Rossi", "Hans Müller"), ("Italy", "Poland"))


def find_entity(sentence: str) -> str | None:
    """The longest run of capitalised words outside gaps; of two equally long ones the first. None if there is none.

    A single capitalised word at the start of a sentence is a name only if a verb follows and nothing else is one.
    """
    places = word_places(sentence)
    best: tuple[int, int] | None = None
    start_word, number = None, 0
    while number < len(places):
        end = _end_of_name(sentence, places, number)
        if end is None:
            number += 1
            continue
        name = sentence[places[number][0] : places[end][1]]
        if end == number and _starts_sentence(sentence, places[number][0]):
            follows = sentence[slice(*places[number + 1])] if number + 1 < len(places) else ""
            if start_word is None and (follows.casefold() in AUXILIARIES or bare_verb(follows)):
                start_word = name
        elif best is None or end - number > best[1] - best[0]:
            best = number, end
        number = end + 1
    return start_word if best is None else sentence[places[best[0]][0] : places[best[1]][1]]


def other_entity(name: str) -> str:
    """A name that can replace one of the same length: of a person for several words, else of a country."""
    names = OTHER_NAMES[0 if len(name.split()) > 1 else 1]
    return next(other for other in names if other != name)


def _end_of_name(sentence: str, places: Sequence[tuple[int, int]], first: int) -> int | None:
    """Number of the last word of the name that begins with this word; None if no name begins here."""
    word = sentence[slice(*places[first])]
    if not any(letter.isupper() for letter in word) or word == "I":
        return None
    if word.casefold() in FUNCTION_WORDS and _starts_sentence(sentence, places[first][0]):
        return None
    last = first
    for number in range(first + 1, len(places)):
        if sentence[places[number - 1][1] : places[number][0]].strip():
            break
        word = sentence[slice(*places[number])]
        if any(letter.isupper() for letter in word):
            last = number
        elif word not in PARTICLES:
            break
    return last


def _starts_sentence(sentence: str, at: int) -> bool:
    before = sentence[:at].rstrip(" \t\"'“")
    return not before or before[-1] in ".?!"


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
