"""A caller's arguments: one of the wrong type is an error that names it, what was got and what was expected."""

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from operator import index
from pathlib import Path
from reprlib import repr as shortened
from typing import Any, ParamSpec, TypeVar

from probing.kernel.errors import CacheError, OptionError, ProbingError
from probing.kernel.files import cannot_write, no_room
from probing.kernel.options import in_python
from probing.kernel.text import refuse_half_characters

Given = ParamSpec("Given")
Found = TypeVar("Found")


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


def in_short(value: Any) -> str:
    """A value in one line, abbreviated if it is long."""
    return " ".join(shortened(value).split())


def refused(name: str, given: Any, expected: str) -> OptionError:
    """The error for an argument that has another type or value."""
    return OptionError(f"got {name}={in_short(given)}, of type {type(given).__name__}; expected {expected}")


def text(name: str, given: Any, expected: str = "a text") -> str:
    """The argument, if it is a text without half characters and NUL.

    >>> text("head", 3, "the name of a kind of heads")
    Traceback (most recent call last):
    probing.kernel.errors.OptionError: got head=3, of type int; expected the name of a kind of heads
    """
    if not isinstance(given, str):
        raise refused(name, given, expected)
    refuse_half_characters(given, f"{name}=", OptionError)
    if "\0" in given:
        raise OptionError(f"{name}= contains NUL; expected characters")
    return given


def optional_text(name: str, given: Any, expected: str = "text") -> str | None:
    """The argument, if it is a text that is not blank, or None."""
    if given is None:
        return None
    if not (read := text(name, given, f"{expected}, or None")).strip():
        raise refused(name, given, f"{expected}, or None")
    return read


def optional_folder(name: str, given: Any) -> Path | None:
    """The folder that a text or a path names, or None."""
    found = optional_text(name, str(given) if isinstance(given, Path) else given, "the path of a folder")
    if found is None:
        return None
    try:
        return given if isinstance(given, Path) else Path(found).expanduser()
    except RuntimeError:
        raise refused(name, given, "the path of a folder below an existing home, or None") from None


def whole_number(name: str, given: Any, expected: str = "a whole number") -> int:
    """The argument as an integer; numbers of numpy are taken, truth values are not."""
    try:
        if not isinstance(given, bool):
            return index(given)
    except TypeError:
        pass
    raise refused(name, given, expected)


def flag(name: str, given: Any) -> bool:
    """The argument, if it is True or False."""
    if not isinstance(given, bool):
        raise refused(name, given, "True or False")
    return given


_CHECKS: dict[Any, Callable[[str, Any], Any]] = {str: text, int: whole_number, bool: flag}
_LISTS = {str: "text, a list of texts, or None", int: "a whole number, a list of whole numbers, or None"}


def several(name: str, given: Any, of: type = str, *, none: bool = False) -> tuple[Any, ...]:
    """All given texts, or all whole numbers: one, or each of a list once; none for None, or (``none``) an empty list.

    >>> several("tasks", "pos"), several("tasks", ["pos", "srl"]), several("tasks", None)
    (('pos',), ('pos', 'srl'), ())
    >>> several("k", 1.5, int)
    Traceback (most recent call last):
    probing.kernel.errors.OptionError: got k=1.5, of type float; expected a whole number, a list of whole
        numbers, or None
    """
    if given is None:
        return ()
    values = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    if not values and not none:
        raise OptionError(f"got an empty list for {name}; give at least one value, or leave {name} out")
    try:
        return tuple(dict.fromkeys(_CHECKS[of](name, one) for one in values))
    except OptionError:
        if of is str and all(isinstance(one, str) for one in values):
            raise
        raise refused(name, given, _LISTS[of]) from None


def checked(method: Callable[Given, Found]) -> Callable[Given, Found]:
    """A method whose texts, whole numbers and switches have the types of their annotations, and whose errors name
    arguments instead of options.

    >>> @checked
    ... def curve(k: int = 1):
    ...     return k
    >>> curve(k=True)
    Traceback (most recent call last):
    probing.kernel.errors.OptionError: got k=True, of type bool; expected a whole number
    """
    signature = inspect.signature(method)

    @wraps(method)
    def called(*args: Given.args, **kwargs: Given.kwargs) -> Found:
        given = signature.bind(*args, **kwargs)
        with in_a_notebook():
            for name, value in given.arguments.items():
                if check := _CHECKS.get(signature.parameters[name].annotation):
                    given.arguments[name] = check(name, value)
            return method(*given.args, **given.kwargs)

    return called
