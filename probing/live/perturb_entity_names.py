"""The name in a cloze sentence, and another one to put in its place."""

from collections.abc import Sequence

from probing.live.perturb_words import AUXILIARIES, FUNCTION_WORDS, PARTICLES, bare_verb, word_places

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
