"""Lines of a data file, with errors that name file and line; each kind of data has its own class of error."""

import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar
from zlib import error as ZlibError

from probing.kernel.errors import ProbingError

_MOST_NAMED = 5
#: What is raised for a row that is damaged or of another shape.
MALFORMED = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, ProbingError)
T = TypeVar("T")
M = TypeVar("M")
#: The class of the errors that a reader raises.
ErrorClass = type[ProbingError]


def numbered_lines(path: Path, error_class: ErrorClass) -> Iterator[tuple[int, str]]:
    """Lines of a text file (gzipped if its name ends in ``.gz``) without their line ends, counted from 1."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            yield from numbered(stream, path, error_class)
    except FileNotFoundError as error:
        raise error_class(
            f"{path} is missing; fetch its data set first (python -m probing fetch {path.parent.name})"
        ) from error
    except OSError as error:
        raise error_class(f"{path} cannot be read ({error}); fetch its data set again") from error


def text_of(path: Path, error_class: ErrorClass) -> str:
    """The text of a file, without a byte order mark; raises as ``numbered_lines``."""
    return "\n".join(line for _, line in numbered_lines(path, error_class))


def numbered(stream: Iterable[bytes], path: Path, error_class: ErrorClass) -> Iterator[tuple[int, str]]:
    r"""Lines of UTF-8, with or without a byte order mark, counted from 1.

    Only ``\n`` ends a line, because words may contain characters that Python takes for line ends; in a file without
    any, ``\r`` does, as on old Macs.
    """
    number = 0
    try:
        for number, line in enumerate(_parted(stream), 1):
            # Every second byte of Latin letters is NUL in UTF-16.
            if number == 1 and 3 * line.count(0) > len(line):
                raise error_class(f"{path}, line 1: is not UTF-8 text but UTF-16 or no text; save it as UTF-8")
            yield number, line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise error_class(f"{path}, line {number}: is not UTF-8 text ({error.reason}); save it as UTF-8") from error
    except (OSError, EOFError, ZlibError) as error:
        raise error_class(f"{path}, line {number + 1}: cannot be read ({error}); fetch the data set again") from error


def an_object(row: Any) -> dict:
    """The value if JSON calls it an object; raises a ``ValueError`` otherwise."""
    if not isinstance(row, dict):
        raise ValueError(f"got {type(row).__name__}, expected a JSON object")
    return row


def json_object(line: str) -> dict:
    """The object of a line of JSON; raises a ``ValueError`` if it is none."""
    try:
        return an_object(json.loads(line, strict=False))
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"not JSON ({error}); expected one JSON object per line") from error


def sorted_out(
    rows: Iterable[tuple[Any, T]], make: Callable[[T], M], name: object, error_class: ErrorClass, unit: str = "line"
) -> tuple[list[tuple[Any, M]], list[str]]:
    """What is made of each row that is well formed, by its number, and what is wrong with each of the others.

    ``make`` raises one of ``MALFORMED`` for a row that is not; if none is, the first row's problem is an error.
    """
    good, wrong = [], []
    for number, row in rows:
        try:
            good.append((number, make(row)))
        except MALFORMED as error:
            wrong.append(f"{unit} {number}: {in_words(error)}")
    if wrong and not good:
        raise error_class(f"{name}, {wrong[0]}")
    return good, wrong


def in_words(error: Exception) -> str:
    """Why a row is malformed, without Python's names: one of ``MALFORMED``."""
    if isinstance(error, KeyError):
        return f"{error.args[0]!r} is missing"
    if isinstance(error, TypeError | AttributeError):
        return "a value is of another kind"
    return f"{'not JSON: ' if isinstance(error, json.JSONDecodeError) else ''}{error}"


def counted(what: str, named: Sequence[str]) -> str:
    """How many of something there are, and the first of them."""
    return f"{what}: {len(named):,} ({'; '.join([*named[:_MOST_NAMED], *['...'] * (len(named) > _MOST_NAMED)])})"


def _parted(stream: Iterable[bytes]) -> Iterator[bytes]:
    for number, line in enumerate(stream):
        yield from line.split(b"\r") if number == 0 and not line.endswith(b"\n") else (line,)
