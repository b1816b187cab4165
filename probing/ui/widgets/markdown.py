"""Words of strangers, made safe to show: prompts, tokens and names are text, never markup.

What a page shows as Markdown is a literal, or comes from ``filled``, which escapes every value by its type. So no caller has to
remember it, and ``tests/ui/test_text.py`` looks at every call.
"""

import re
from collections.abc import Iterable
from numbers import Number
from string import Formatter
from typing import Any

_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:&=^\"'])")
_MINUS = "−"
#: Words that a browser's Markdown turns into links by itself, escaped or not: addresses of pages and of people.
_ADDRESS = re.compile(r"https?://|www\.|[\w.+-]@[\w-]+\.[\w-]", re.IGNORECASE)


class Markdown(str):
    """Text whose markup is ours; any other text is escaped where it is filled in."""

    __slots__ = ()

    def __add__(self, other: str) -> "Markdown":
        return Markdown(str.__add__(self, escape(other)))

    def __radd__(self, other: str) -> "Markdown":
        return Markdown(str.__add__(escape(other), self))


def escape(text: Any) -> Markdown:
    """Text for a place that reads Markdown, such that it is shown as it stands, on one line; addresses are shown as code, not as links."""
    if isinstance(text, Markdown):
        return text
    words = re.sub(r"\s+", " ", str(text)).split(" ")
    return Markdown(" ".join(code(word) if _ADDRESS.search(word) else _SPECIAL.sub(r"\\\1", word) for word in words))


def code(text: Any) -> Markdown:
    """Text as inline code, whatever backticks it holds."""
    plain = re.sub(r"\s+", " ", str(text))
    fence = "`" * (1 + max(map(len, re.findall("`+", plain)), default=0))
    room = " " if plain[:1] in ("`", " ") or plain[-1:] in ("`", " ") else ""
    return Markdown(f"{fence}{room}{plain}{room}{fence}")


class _Escaping(Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        text = format(value, format_spec)
        if isinstance(value, Number):
            # The minus sign that axes have, not a hyphen.
            return text.replace("-", _MINUS, 1) if text.startswith("-") else text
        return text if isinstance(value, Markdown) else escape(text)


def filled(template: str, /, **values: Any) -> Markdown:
    """A template of ours with values filled in, as ``str.format`` does; every value but numbers and ``Markdown`` is escaped.

    A negative number has the minus sign of the figures' axes.
    """
    return Markdown(_Escaping().vformat(template, (), values))


def joined(separator: str, texts: Iterable[Any]) -> Markdown:
    """Texts in a row, each escaped unless it is ``Markdown``; the separator is ours."""
    return Markdown(separator.join(escape(text) for text in texts))


def listing(words: list[str] | tuple[str, ...], limit: int = 3) -> str:
    """ "a, b, c and 4 more"."""
    shown = ", ".join(words[:limit])
    return shown if len(words) <= limit else f"{shown} and {len(words) - limit} more"


def count(number: int, thing: str, things: str | None = None) -> str:
    """ "1 fact", "2,310 facts"."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"
