"""Words of strangers, made safe to show: prompts, tokens and file names are text, never markup."""

import re

_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:&=^\"'])")


def escape(text: str) -> str:
    """Text for a place that reads Markdown, such that it is shown as it stands, on one line."""
    return _SPECIAL.sub(r"\\\1", re.sub(r"\s+", " ", str(text)))


def listing(words: list[str] | tuple[str, ...], most: int = 3) -> str:
    """ "a, b, c and 4 more"."""
    shown = ", ".join(words[:most])
    return shown if len(words) <= most else f"{shown} and {len(words) - most} more"


def count(number: int, thing: str, things: str | None = None) -> str:
    """ "1 fact", "2,310 facts"."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"
