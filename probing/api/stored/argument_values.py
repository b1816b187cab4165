"""Arguments of a caller: one value, a list, or None."""

from collections.abc import Iterable
from typing import Any, TypeAlias, TypeVar, clear_overloads, overload

import pandas as pd

from probing.core.errors import FigureError, OptionError
from probing.reports.report import Choice, Read, Reports
from probing.store.database import Database

T = TypeVar("T")
#: One value, several, or None for all.
Words: TypeAlias = "str | Iterable[str] | None"
Numbers: TypeAlias = "int | Iterable[int] | None"


@overload
def several(name: str, given: None) -> None: ...
@overload
def several(name: str, given: str | Iterable[str]) -> tuple[str, ...]: ...
@overload
def several(name: str, given: int | Iterable[int]) -> tuple[int, ...]: ...
def several(name: str, given: Any) -> tuple[Any, ...] | None:
    """All given values, each once; None, which keeps everything, stays None.

    Raises:
        OptionError: if the list is empty.

    >>> several("k", 10), several("model", ["a", "b", "a"]), several("task", None)
    ((10,), ('a', 'b'), None)
    """
    if given is None:
        return None
    values = tuple(dict.fromkeys(given)) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
    if not values:
        raise OptionError(f"got an empty list for {name}; give at least one value, or leave {name} out to take all")
    return values


@overload
def single(name: str, given: None) -> None: ...
@overload
def single(name: str, given: str | Iterable[str]) -> str: ...
@overload
def single(name: str, given: int | Iterable[int]) -> int: ...
def single(name: str, given: Any) -> Any:
    """The one value that a figure or a list can show; None if none is given.

    Raises:
        FigureError: if there are several values.
    """
    values = several(name, given)
    if values is not None and len(values) > 1:
        raise FigureError(f"got {name}={list(values)}; only one {name} can be shown here: give a single value")
    return values[0] if values else None


# ``typing`` would keep them, and by them DuckDB, until after the end of DuckDB, which then warns of leaks.
clear_overloads()


def chosen(reports: Reports, what: str, **given: Any) -> Choice:
    """A declared report with the caller's filters.

    Raises:
        OptionError: for an empty list, and as ``Reports.choose``.
    """
    return reports.choose(
        what, {name: one if isinstance(one, bool) else several(name, one) for name, one in given.items()}
    )


def read_from(db: Database) -> Read:
    """Reads reports of this database, without a cache."""
    return lambda function, *args, **kwargs: function(db, *args, **kwargs)


def at_most(limit: int, name: str, values: "tuple[T, ...]") -> tuple[T, ...]:
    """The values, if a figure can show that many.

    Raises:
        FigureError: if there are more than ``limit``.
    """
    if len(values) > limit:
        raise FigureError(f"got {len(values)} values of {name}; the figure shows at most {limit}: narrow {name}")
    return values


def only(table: pd.DataFrame, column: str, wanted: "tuple[T, ...] | None") -> pd.DataFrame:
    """The rows with one of the values in a column; None keeps all.

    Raises:
        OptionError: if the table has no such column, or no row with one of the values.
    """
    if wanted is None:
        return table
    if column not in table:
        raise OptionError(f"got {column}={list(wanted)}, but this table has no {column}; leave it out")
    there = list(dict.fromkeys(table[column]))
    if unknown := [one for one in wanted if one not in there]:
        known = ", ".join(map(str, sorted(there))) or "none"
        raise OptionError(f"got {column} {unknown[0]}; there are {known}")
    return table[table[column].isin(list(wanted))].reset_index(drop=True)
