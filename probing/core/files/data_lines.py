"""Lines of a data file, with errors that name file and line; each kind of data has its own class of error."""

import gzip
from collections.abc import Iterable, Iterator
from pathlib import Path
from zlib import error as ZlibError

from probing.core.errors import ProbingError

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


def numbered(stream: Iterable[bytes], path: Path, error_class: ErrorClass) -> Iterator[tuple[int, str]]:
    r"""Lines of UTF-8, counted from 1; only ``\n`` ends a line, because words may contain characters that Python takes for line ends.

    Raises:
        ProbingError: of the given class, naming ``path`` and the line, if the stream breaks off or is not UTF-8.
    """
    number = 0
    try:
        for number, line in enumerate(stream, 1):
            yield number, line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise error_class(f"{path}, line {number}: is not UTF-8 text ({error.reason}); save it as UTF-8") from error
    except (OSError, EOFError, ZlibError) as error:
        raise error_class(f"{path}, line {number + 1}: cannot be read ({error}); fetch the data set again") from error
