"""Escaping of untrusted text: prompts, tokens and names are shown as text, never as markup.

Markdown on a page is either a literal or comes from ``filled``, which escapes every value that is not ``Markdown``. So
callers need not remember to escape, and ``tests/ui/test_text.py`` checks every call.
"""

import re
from collections.abc import Iterable
from numbers import Number
from string import Formatter
from typing import Any

_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:&=^\"'])")
_MINUS = "−"
#: The space of "12 %" and those of "p < 0.05", where a line must not break.
_KEPT = re.compile(r"(?<=\d) (?=%)|(?<=\bp) (?=\\?[<=>])|(?<=\bp [<=>]) (?=\d)|(?<=\bp \\[<=>]) (?=\d)")
#: Words that the browser's Markdown turns into links even if they are escaped: web and e-mail addresses.
_ADDRESS = re.compile(r"https?://|www\.|[\w.+-]@[\w-]+\.[\w-]", re.IGNORECASE)


class Markdown(str):
    """Text whose markup is trusted; any other text is escaped when it is filled in."""

    __slots__ = ()

    def __add__(self, other: str) -> "Markdown":
        return Markdown(str.__add__(self, escape(other)))

    def __radd__(self, other: str) -> "Markdown":
        return Markdown(str.__add__(escape(other), self))


def escape(text: Any) -> Markdown:
    """Text escaped for Markdown, on one line; addresses become code, and a "%" stays with its number."""
    if isinstance(text, Markdown):
        return text
    words = re.sub(r"\s+", " ", str(text)).split(" ")
    return _unbroken(" ".join(code(word) if _ADDRESS.search(word) else _SPECIAL.sub(r"\\\1", word) for word in words))


def code(text: Any) -> Markdown:
    """Text as inline code, even if it contains backticks."""
    plain = re.sub(r"\s+", " ", str(text))
    fence = "`" * (1 + max(map(len, re.findall("`+", plain)), default=0))
    room = " " if plain[:1] in ("`", " ") or plain[-1:] in ("`", " ") else ""
    return Markdown(f"{fence}{room}{plain}{room}{fence}")


class _Escaping(Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        text = format(value, format_spec)
        if isinstance(value, Number):
            # The minus sign, as on the figures' axes, not a hyphen.
            return with_minus(text)
        return text if isinstance(value, Markdown) else escape(text)


def filled(template: str, /, **values: Any) -> Markdown:
    """A trusted template filled in like ``str.format``; every value is escaped except numbers and ``Markdown``.

    Negative numbers get the minus sign of the figures' axes. A "%" stays on the line of its number, and "p < 0.05" on
    one.
    """
    return _unbroken(_Escaping().vformat(template, (), values))


def _unbroken(text: str) -> Markdown:
    return Markdown(_KEPT.sub("\u00a0", text))


def with_minus(text: str) -> str:
    """A text of ours whose negative numbers have the minus sign of the figures' axes; hyphens after letters and digits
    stay.

    >>> with_minus("QA-SQuAD-1: -0.4 (-0.9 to 0.1) in 2020-21")
    'QA-SQuAD-1: −0.4 (−0.9 to 0.1) in 2020-21'
    """
    return re.sub(r"(?<![\w–-])-(?=\d)", _MINUS, text)


def joined(separator: str, texts: Iterable[Any]) -> Markdown:
    """Texts joined by a trusted separator, each escaped unless it is ``Markdown``."""
    return Markdown(separator.join(escape(text) for text in texts))


def listing(words: list[str] | tuple[str, ...], limit: int = 3) -> str:
    """ "a, b, c and 4 more"."""
    first_words = ", ".join(words[:limit])
    return first_words if len(words) <= limit else f"{first_words} and {len(words) - limit} more"


def count(number: int, thing: str, things: str | None = None) -> str:
    """ "1 fact", "2,310 facts"."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"
