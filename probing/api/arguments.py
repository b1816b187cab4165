"""A caller's arguments: errors name them, and one of the wrong type is an error that shows what was got and what was
expected.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from operator import index
from pathlib import Path
from reprlib import repr as shortened
from typing import Annotated, Any

from pydantic import BeforeValidator, Strict, TypeAdapter, ValidationError, ValidationInfo

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


@dataclass(frozen=True)
class Argument:
    """What an argument takes.

    Attributes:
        adapter: pydantic's check, which may give another form of the value, such as Python's number for one of numpy.
        words: what is expected, for errors.
    """

    adapter: TypeAdapter[Any]
    words: str

    def value(self, name: str, given: Any, words: str = "") -> Any:
        """The checked argument.

        Args:
            name: of the argument.
            given: its value.
            words: what is expected, if not ``self.words``.

        Raises:
            OptionError: for a value of another type, or a text that is not readable.
        """
        try:
            return self.adapter.validate_python(given, context=name)
        except ValidationError:
            raise OptionError(
                f"got {name}={in_short(given)}, of type {type(given).__name__}; expected {words or self.words}"
            ) from None


def _text(given: Any, info: ValidationInfo) -> Any:
    """A text that is readable; pydantic would refuse half a character without naming it."""
    return readable(str(info.context), given) if isinstance(given, str) else given


def _number(given: Any) -> int:
    """An integer, also numpy's; ``True`` is none."""
    if isinstance(given, bool):
        raise ValueError("a truth value")
    try:
        return index(given)
    except TypeError as error:
        raise ValueError("no integer") from error


def _listed(given: Any) -> Any:
    """A tuple of several values."""
    return tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else given


_Text = Annotated[str, Strict(), BeforeValidator(_text)]
_Number = Annotated[int, BeforeValidator(_number)]
_LISTED = BeforeValidator(_listed)

TEXT = Argument(TypeAdapter(_Text), "a text")
NUMBER = Argument(TypeAdapter(_Number), "a whole number")
FLAG = Argument(TypeAdapter(Annotated[bool, Strict()]), "True or False")
WORDS = Argument(TypeAdapter(Annotated[_Text | tuple[_Text, ...], _LISTED]), "a name or a list of names")
NUMBERS = Argument(
    TypeAdapter(Annotated[_Number | tuple[_Number, ...], _LISTED]), "a whole number or a list of whole numbers"
)


def in_short(value: Any) -> str:
    """A value in one line, abbreviated if it is long."""
    return " ".join(shortened(value).split())


def text(name: str, given: Any, expected: str = "text") -> str:
    """The argument, if it is a text.

    Raises:
        OptionError: if not.

    >>> text("head", "tied")
    'tied'
    >>> text("head", 3, "the name of a kind of heads")
    Traceback (most recent call last):
    probing.core.errors.OptionError: got head=3, of type int; expected the name of a kind of heads
    """
    return TEXT.value(name, given, expected)


def readable(name: str, given: str) -> str:
    """The text, if all of it is characters.

    Raises:
        OptionError: if it contains half a character or NUL.

    >>> readable("sentence", "half \\ud83d")
    Traceback (most recent call last):
    probing.core.errors.OptionError: sentence= contains '\\ud83d', which is half a character; type it again, or save it
        as UTF-8
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
    return NUMBER.value(name, given)


def texts(name: str, given: Any) -> tuple[str, ...]:
    """All given texts: one, several, or none for None.

    Raises:
        OptionError: if it is something else.

    >>> texts("tasks", "pos"), texts("tasks", ["pos", "srl"]), texts("tasks", None)
    (('pos',), ('pos', 'srl'), ())
    """
    if given is None:
        return ()
    found = WORDS.value(name, given, "text, a list of texts, or None")
    return (found,) if isinstance(found, str) else found


def _refused(name: str, given: Any, expected: str) -> OptionError:
    return OptionError(f"got {name}={in_short(given)}; expected {expected}")
