"""Lines of a data file, with errors that name file and line."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from probing.edges.targets import Part, Record
from probing.kernel import text
from probing.kernel.errors import EdgeDataError

#: Training, development and test data.
Parts = tuple[Part, Part, Part | None]


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of a text file without their line ends, counted from 1; errors are ``EdgeDataError``."""
    return text.numbered_lines(path, EdgeDataError)


def numbered(stream: Iterable[bytes], path: Path) -> Iterator[tuple[int, str]]:
    """Lines of a stream of UTF-8; errors are ``EdgeDataError`` and name ``path`` and the line."""
    return text.numbered(stream, path, EdgeDataError)


def wrong(path: Path, line: int, message: str) -> EdgeDataError:
    """The error of one line."""
    return EdgeDataError(f"{path}, line {line}: {message}")


def part_of(
    path: Path, records: Iterable[Record], dropped: dict[str, int] | None = None, sentences: int | None = None
) -> Part:
    """A part of a task's data: the records that have targets; there must be one.

    ``sentences`` is how many were read, if that is not the number of records.
    """
    everything = list(records)
    with_targets = tuple(record for record in everything if record.targets)
    if not with_targets:
        raise EdgeDataError(f"{path} has no targets; expected sentences with labelled spans")
    counted = {reason: number for reason, number in (dropped or {}).items() if number}
    return Part(with_targets, counted, len(everything) if sentences is None else sentences)
