"""Options that reports reject, the same on the command line and in a notebook."""

from collections.abc import Iterable
from enum import StrEnum
from typing import TypeVar

from probing.core.errors import OptionError
from probing.core.options import spelled

What = TypeVar("What", bound=StrEnum)


def one_of(reports: type[What], given: str) -> What:
    """A report by its name.

    Raises:
        OptionError: for an unknown name.
    """
    refuse_unknown_words("what", (given,), [one.value for one in reports])
    return reports(given)


def refuse_unknown_words(option: str, wanted: Iterable[object] | None, known: Iterable[object]) -> None:
    """Raises an ``OptionError`` for an unknown value of an option."""
    known = tuple(known)
    if unknown := [one for one in wanted or () if one not in known]:
        raise OptionError(f"got {spelled(option, unknown[0])}; expected one of {', '.join(map(str, known))}")
