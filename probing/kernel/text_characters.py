"""Characters that a text of a user cannot hold: half characters, and control characters."""

import re

from probing.kernel.errors import ProbingError


def half_character(text: str) -> str | None:
    """The first half of a surrogate pair that stands alone; None if there is none.

    It comes from bytes that are no UTF-8 on a command line, and from ``"\\\\ud800"`` in JSON. No file can be written
    with it.

    >>> half_character("na\\ud83dive"), half_character("naïve")
    ('\\ud83d', None)
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return text[error.start]
    return None


#: Control characters but tabs and line ends.
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def without_controls(text: str) -> str:
    """The text with a blank for every control character but tabs and line ends.

    Data of others hold them by accident: one is no reason to refuse a file, and two words must not become one.
    """
    return CONTROL.sub(" ", text)


#: Control characters but tabs and line ends, and those that turn the direction of a line or end it.
_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
#: Letters of a text of a file that a message repeats.
SHOWN = 80


def harmless(text: str) -> str:
    """The text with its characters that would steer a terminal as JSON writes them."""
    return _STEERING.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)


def in_short(text: str) -> str:
    """The first letters of a text, for a message."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def refuse_half_characters(text: str, what: str, error: type[ProbingError]) -> None:
    """Raises an error of the class for half a character; ``what`` names the text."""
    if (half := half_character(text)) is not None:
        raise error(f"{what} contains {half!r}, which is half a character; type it again, or save it as UTF-8")


#: Letters of a label: more than any treebank's or role's name has.
LONGEST_LABEL = 200


def refuse_signs(text: str, what: str, error: type[ProbingError], spaces: bool = True) -> None:
    """Raises an error of the class for half a character or a control character; ``spaces`` allows tabs, line ends."""
    refuse_half_characters(text, what, error)
    if match := CONTROL.search(text) or (None if spaces else re.search(r"[\t\n\r]", text)):
        raise error(f"{what} contains the control character {match[0]!r}; expected letters, digits and signs")


def refuse_label(label: str, what: str, error: type[ProbingError]) -> None:
    """Raises an error of the class for a label with a refused sign, a line end, or more than 200 letters."""
    refuse_signs(label, what, error, spaces=False)
    if len(label) > LONGEST_LABEL:
        raise error(f"{what} has {len(label):,} letters, {label[:60]!r}…; expected at most {LONGEST_LABEL}")
