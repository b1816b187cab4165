"""Texts of all pages: untrusted text escaped, terms with hover help, and sentences that several pages share."""

import os
import re
from collections.abc import Iterable, Mapping
from numbers import Number
from pathlib import Path
from string import Formatter
from typing import Any

from probing.kernel.figures.looks import MARKS
from probing.kernel.files import cache_folder, snapshot_folder
from probing.kernel.joined import joined as declared
from probing.kernel.metric import Term
from probing.kernel.registry import REPOSITORY
from probing.kernel.stats.intervals import widest
from probing.kernel.success import Verdict

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


_BADGE, _MARKUP = re.compile(r":\w+-badge\[[^\]]*\]"), re.compile(r"[*\\`]")


def help_on(text: str) -> Markdown:
    """The terms of a text with their meanings, one per line; ``""`` if it has none."""
    return joined("\n", map(line, declared("terms").terms_in(_MARKUP.sub("", _BADGE.sub("", text)))))


def explained(text: Any) -> Markdown:
    """A text whose terms are links to their entries, with the meanings under the pointer and on focus."""
    terms = declared("terms")

    def link(word: str, term: Term) -> str:
        meaning = term.meaning.replace('"', "'")
        return f'[{word}](Methods#{terms.anchor(term.name)} "{term.name}: {meaning}")'

    return Markdown(terms.marked(escape(text), link))


def line(term: Term) -> Markdown:
    return filled("- **{name}**: {meaning}", name=term.name, meaning=term.meaning)


def size_words(items: int, things: str, name: str = "") -> Markdown:
    """What can be said with so few ``things`` (in the plural) of a user's own set: the width of an interval.

    ``name`` is ``""`` if there is only one set.
    """
    low, high = widest(items)
    return filled(
        "**{n:,} {things}{of}.** With so many, a share of 50 % has a 95 % interval from {low:.0f} to {high:.0f} %."
        " Differences of less than {half:.0f} points are not shown by these curves; models compared on the same"
        " {things} can be distinguished somewhat better.",
        n=items,
        things=things,
        of=f" of {name}" if name else "",
        low=100 * low,
        high=100 * high,
        half=100 * (high - low) / 2,
    )


def without_server_folders(text: str) -> str:
    """A message or command with short names for the server's folders: ``cache/models/mine`` for the path of that
    folder.

    Commands with these names work in the folder of the repository if the cache is at its usual place.
    """
    for folder, name in _named():
        text = re.sub(rf"{re.escape(folder)}(?=[/\\]|[^\w.-]|$)", name.replace("\\", r"\\"), text)
    return text


def _named() -> list[tuple[str, str]]:
    """Folders of this server and their names, longer paths first."""
    folders = {Path.home(): "~", REPOSITORY: ".", snapshot_folder(): "data/snapshot", cache_folder(): "cache"}
    paths = [Path(text) for text in os.environ.get("PROBING_MODELS", "").split(os.pathsep) if text]
    folders |= {folder: folder.name for folder in paths}
    spelt = {
        str(way): name
        for folder, name in folders.items()
        for way in (folder.absolute(), folder.resolve())
        if way.parent != way
    }
    return sorted(spelt.items(), key=lambda pair: -len(pair[0]))


def mark_key(verdicts: Mapping[str, Verdict], models: Iterable[str]) -> Markdown:
    """Lines that explain the marks on these models, for the help of a menu; ``""`` if none has a mark."""
    signs = {MARKS[verdicts[model]].strip(" ()") for model in models if model in verdicts}
    terms = declared("terms").VISITORS
    return joined("\n", [line(term) for term in terms if term.name.split("(")[-1].strip(")") in signs])
