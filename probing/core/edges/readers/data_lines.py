"""Lines of a data file, with errors that name file and line."""

import gzip
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO
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
    number = 0
    try:
        with _opened(path) as stream:
            for number, line in enumerate(stream, 1):
                yield number, line.rstrip("\r\n")
    except FileNotFoundError as error:
        raise EdgeDataError(f"{path} is missing; fetch its data set first (python -m probing fetch {path.parent.name})") from error
    except (OSError, EOFError, UnicodeDecodeError, ZlibError) as error:
        raise EdgeDataError(f"{path}, after line {number}: cannot be read ({error}); fetch its data set again") from error


def _opened(path: Path) -> IO[str]:
    # Words may hold other characters that Python takes for the end of a line.
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="\n")
    return path.open(encoding="utf-8-sig", newline="\n")


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
