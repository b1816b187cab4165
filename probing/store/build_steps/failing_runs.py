"""Runs whose rows no database can be made from: one of them must not cost the others."""

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path

import duckdb

from probing.core.errors import SchemaVersionError, StoreError
from probing.core.files.disk_errors import no_room
from probing.store.kinds import RUNS_OF_FILES
from probing.store.parquet import read_table
from probing.store.sources import SourceFile

#: What the rows of a run can raise while they are counted: numbers beyond a column's range, text that is none, lists that do not fit.
OF_THE_ROWS = (duckdb.Error, ArithmeticError, LookupError, TypeError, ValueError)
#: What DuckDB raises for the machine, not for the rows.
_OF_THE_MACHINE = (duckdb.IOException, duckdb.FatalException, duckdb.OutOfMemoryException)


class CountingError(StoreError):
    """The rows of some run cannot be counted."""


def refused(path: Path, error: Exception) -> StoreError:
    """What to raise for an error that stopped a build: a ``CountingError`` if the rows of a run may be the reason."""
    if isinstance(error, duckdb.InterruptException):
        raise KeyboardInterrupt from error
    if full := no_room(error):
        return StoreError(full)
    kind = StoreError if isinstance(error, _OF_THE_MACHINE) else CountingError
    return kind(f"cannot build the database {path}: {in_short(error)}")


def failing_runs(
    files: Sequence[SourceFile], of_all: CountingError, refusal: Callable[[Collection[str]], CountingError | None]
) -> dict[str, str]:
    """Finds, by halves, the runs that a database cannot be made with.

    Args:
        files: of all runs.
        of_all: the error of a build of all runs.
        refusal: ids of runs to leave out -> the error of a build of all others, or None.

    Returns:
        Run id -> why it fails alone; empty if the build fails without any run, or only with several together.
    """
    runs = _runs_of(files)
    found: dict[str, str] = {}

    def search(some: Sequence[str], error: CountingError | None) -> None:
        if error is not None and len(some) == 1:
            found[some[0]] = in_short(error.__cause__ or error)
        elif error is not None:
            for half in (some[: len(some) // 2], some[len(some) // 2 :]):
                search(half, refusal(set(runs) - set(half)))

    if runs and refusal(runs) is None:
        search(runs, of_all)
    return found


def _runs_of(files: Sequence[SourceFile]) -> list[str]:
    """The ids of all runs, by table and file; runs of one task are mostly next to each other."""
    runs: dict[str, None] = {}
    for file in files:
        if file.table in RUNS_OF_FILES:
            # The build leaves out a file of another version.
            with suppress(SchemaVersionError):
                runs.update(dict.fromkeys(read_table(file.path, file.table, ["run_id"]).column("run_id").to_pylist()))
    return list(runs)


def in_short(error: BaseException) -> str:
    """The first line of an error: DuckDB adds the lines of the SQL."""
    return (str(error) or type(error).__name__).splitlines()[0]
