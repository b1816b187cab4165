"""A caller's arguments: errors name them, and one of the wrong type is an error that shows what was got and what was expected."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from operator import index
from pathlib import Path
from reprlib import repr as shortened
from typing import Any

from probing.core.characters import refuse_half_characters
from probing.core.errors import CacheError, OptionError, ProbingError
from probing.core.files.disk_errors import cannot_write, no_room
from probing.core.options import in_python


@contextmanager
def in_a_notebook() -> Iterator[None]:
    """Errors raised inside the ``with`` block name arguments instead of options.

    A full disk or a folder that cannot be written is a ``CacheError``, in any library.
    """
    try:
        with in_python():
            yield
    except ProbingError:
        raise
    except Exception as error:
        if (words := no_room(error) or cannot_write(error)) is None:
            raise
        raise CacheError(words.replace("run the same command again", "call the same again")) from error


def text(name: str, given: Any, expected: str = "text") -> str:
    """The argument, if it is a text.

    Raises:
        OptionError: if not.

    >>> text("head", "tied")
    'tied'
    >>> text("head", 3, "the name of a kind of heads")
    Traceback (most recent call last):
    probing.core.errors.OptionError: got head=3; expected the name of a kind of heads
    """
    if not isinstance(given, str):
        raise _refused(name, given, expected)
    return readable(name, given)


def readable(name: str, given: str) -> str:
    """The text, if all of it is characters.

    Raises:
        OptionError: if it contains half a character or NUL.

    >>> readable("sentence", "half \\ud83d")
    Traceback (most recent call last):
    probing.core.errors.OptionError: sentence= contains '\\ud83d', which is half a character; type it again, or save it as UTF-8
    """
    refuse_half_characters(given, f"{name}=", OptionError)
    if "\0" in given:
        raise OptionError(f"{name}= contains NUL; expected characters")
    return given


def optional_text(name: str, given: Any, expected: str = "text") -> str | None:
    """The argument, if it is a text that is not blank, or None.

    Raises:
        OptionError: if it is neither.
    """
    if given is not None and not text(name, given, f"{expected}, or None").strip():
        raise _refused(name, given, f"{expected}, or None")
    return given


def optional_folder(name: str, given: Any) -> Path | None:
    """The folder that a text or a path names, or None.

    Raises:
        OptionError: if it is of another type, or empty.
    """
    found = optional_text(name, str(given) if isinstance(given, Path) else given, "the path of a folder")
    if found is None or isinstance(given, Path):
        return given
    try:
        return Path(found).expanduser()
    except RuntimeError:
        raise _refused(name, given, "the path of a folder below an existing home") from None


def whole_number(name: str, given: Any) -> int:
    """The argument as an integer; numbers of numpy are taken, too.

    Raises:
        OptionError: if it is no integer.
    """
    try:
        if isinstance(given, bool):
            raise TypeError
        return index(given)
    except TypeError:
        raise _refused(name, given, "a whole number") from None


def texts(name: str, given: Any) -> tuple[str, ...]:
    """All given texts: one, several, or none for None.

    Raises:
        OptionError: if it is something else.

    >>> texts("tasks", "pos"), texts("tasks", ["pos", "srl"]), texts("tasks", None)
    (('pos',), ('pos', 'srl'), ())
    """
    listed = (given,) if isinstance(given, str) else () if given is None else given
    found = tuple(listed) if isinstance(listed, Iterable) else (given,)
    if not all(isinstance(one, str) for one in found):
        raise _refused(name, given, "text, a list of texts, or None")
    return tuple(readable(name, one) for one in found)


def _refused(name: str, given: Any, expected: str) -> OptionError:
    return OptionError(f"got {name}={' '.join(shortened(given).split())}; expected {expected}")
