"""A typed sentence as words that spans can count."""

import re
from collections.abc import Sequence

from probing.edges.targets import Span
from probing.kernel.errors import EdgeDataError

#: Marks that are separate words unless they are inside a word.
_MARKS = r"!-/:-@\[-`{-~¡«»¿‐-―‘-‟…"
_LETTER = rf"[^\s{_MARKS}]"
_CLITIC = r"['’](?:s|re|ve|ll|d|m)(?!\w)"
_NOT = r"n['’]t(?!\w)"
#: Tried in turn: abbreviations with points; "n't", the word before it; "'s" and its like; words with marks inside; a
#: mark, or equal marks.
_WORD = re.compile(
    rf"(?:[^\W\d_]\.){{2,}}|{_NOT}|{_LETTER}+?(?={_NOT})|{_CLITIC}|{_LETTER}+(?:(?!{_CLITIC})[-.,:/&@_'’]{_LETTER}+)*|([{_MARKS}])\1*",
    re.IGNORECASE,
)
_SPAN = re.compile(r"(\d{1,9})[:-](\d{1,9})", re.ASCII)


def split_words(text: str) -> tuple[str, ...]:
    """The words of a sentence, split as in treebanks: "don't" is "do" and "n't", "it's" is "it" and "'s".

    Marks inside a word do not split it: "well-known", "1,000.5", "U.S." and addresses are one word. A text whose words
    are already separated by blanks, as in the data sets, stays unchanged.
    """
    return tuple(match[0] for match in _WORD.finditer(text))


def read_span(text: str, words: int, name: str) -> Span:
    """A half-open span, written ``3:5`` or ``3-5``, inside a sentence of some words; ``name`` is for errors."""
    match = _SPAN.fullmatch(text.strip())
    if match is None:
        raise EdgeDataError(
            f"got {name} {text!r}; expected two numbers of words such as 3:5, which is the fourth and the fifth word"
        )
    start, end = int(match[1]), int(match[2])
    if not 0 <= start < end <= words:
        raise EdgeDataError(
            f"got {name} {start}:{end} in a sentence of {words} words; expected 0 <= start < end <= {words}"
        )
    return start, end


def written_span(span: Span) -> str:
    """A span as links write it."""
    return f"{span[0]}-{span[1]}"


def numbered(words: Sequence[str]) -> str:
    """The words with their numbers, from 0: ``0 he  1 smoked``."""
    return "  ".join(f"{number} {word}" for number, word in enumerate(words))
