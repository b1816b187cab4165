"""Lines of a data file, with errors that name file and line; each kind of data has its own class of error."""

import gzip
import logging
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from zlib import error as ZlibError

from probing.core.errors import ProbingError

_log = logging.getLogger(__name__)

#: The class of the errors that a reader raises.
ErrorClass = type[ProbingError]


def numbered_lines(path: Path, error_class: ErrorClass) -> Iterator[tuple[int, str]]:
    """Lines of a text file (gzipped if its name ends in ``.gz``) without their line ends, counted from 1.

    Raises:
        ProbingError: of the given class, if it is missing, cannot be read, or is not UTF-8.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            yield from numbered(stream, path, error_class)
    except FileNotFoundError as error:
        raise error_class(f"{path} is missing; fetch its data set first (python -m probing fetch {path.parent.name})") from error
    except OSError as error:
        raise error_class(f"{path} cannot be read ({error}); fetch its data set again") from error


def text_of(path: Path, error_class: ErrorClass) -> str:
    """The text of a file, without a byte order mark; raises as ``numbered_lines``."""
    return "\n".join(line for _, line in numbered_lines(path, error_class))


def numbered(stream: Iterable[bytes], path: Path, error_class: ErrorClass) -> Iterator[tuple[int, str]]:
    r"""Lines of UTF-8, with or without a byte order mark, counted from 1.

    Only ``\n`` ends a line, because words may contain characters that Python takes for line ends; in a file without any, ``\r`` does, as
    on old Macs.

    Raises:
        ProbingError: of the given class, naming ``path`` and the line, if the stream breaks off or is not UTF-8.
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


def warn_not_used(path: Path, what: str, named: Sequence[str]) -> None:
    """Logs what of a file or folder is not used: how many, and the first of them with their reasons."""
    if named:
        first = "; ".join([*named[:9], *["..."] * (len(named) > 9)])
        _log.warning("%s: %d %s: %s", path, len(named), what, first)


def _parted(stream: Iterable[bytes]) -> Iterator[bytes]:
    for number, line in enumerate(stream):
        yield from line.split(b"\r") if number == 0 and not line.endswith(b"\n") else (line,)
