"""Lines of a data file, with errors that name file and line."""

import gzip
from collections.abc import Iterable, Iterator
from pathlib import Path
from zlib import error as ZlibError

from probing.core.edges.target import Part, Record
from probing.core.errors import EdgeDataError

#: Training, development and test data.
Parts = tuple[Part, Part, Part | None]


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of a text file (gzipped where its name ends so) without their line ends, counted from 1.

    Raises:
        EdgeDataError: if it is missing, cannot be read, or is not UTF-8.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            yield from numbered(stream, path)
    except FileNotFoundError as error:
        raise EdgeDataError(f"{path} is missing; fetch its data set first (python -m probing fetch {path.parent.name})") from error
    except OSError as error:
        raise EdgeDataError(f"{path} cannot be read ({error}); fetch its data set again") from error


def numbered(stream: Iterable[bytes], path: Path) -> Iterator[tuple[int, str]]:
    r"""Lines of UTF-8, counted from 1; only ``\n`` ends a line, as words may hold what Python takes for other line ends.

    Raises:
        EdgeDataError: naming ``path`` and the line, if the stream breaks off or is not UTF-8.
    """
    number = 0
    try:
        for number, line in enumerate(stream, 1):
            yield number, line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise wrong(path, number, f"is not UTF-8 text ({error.reason})") from error
    except (OSError, EOFError, ZlibError) as error:
        raise wrong(path, number + 1, f"cannot be read ({error}); fetch the data set again") from error


def wrong(path: Path, line: int, message: str) -> EdgeDataError:
    """The error of one line."""
    return EdgeDataError(f"{path}, line {line}: {message}")


def part_of(path: Path, records: Iterable[Record], dropped: dict[str, int] | None = None, sentences: int | None = None) -> Part:
    """A part of a task's data: records that have targets, and how many sentences were read.

    Args:
        path: where they come from.
        records: a record for each sentence, also for those without targets.
        dropped: reason -> number of what was left out; a reason with number 0 is left out.
        sentences: how many were read, where that is not the number of records.

    Raises:
        EdgeDataError: if there is no target.
    """
    everything = list(records)
    kept = tuple(record for record in everything if record.targets)
    if not kept:
        raise EdgeDataError(f"{path} has no targets; expected sentences with labelled spans")
    counted = {reason: number for reason, number in (dropped or {}).items() if number}
    return Part(kept, counted, len(everything) if sentences is None else sentences)
