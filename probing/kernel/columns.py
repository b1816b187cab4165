"""Columns of a frame, declared once: their names, order and types, from which every form of a report derives."""

from collections.abc import Iterable
from typing import Any

import pandas as pd


class Columns(tuple[str, ...]):
    """Names of columns in their order, with ``types`` of those that keep one in an empty frame too.

    Parts are names separated by spaces, as in a stored table's key, or other columns, which keep their types; ``dtype``
    is that of all parts that are texts.
    """

    types: dict[str, str]

    def __new__(cls, *parts: str | Iterable[str], dtype: str = "") -> "Columns":
        names: list[str] = []
        types: dict[str, str] = {}
        for part in parts:
            of_part = part.split() if isinstance(part, str) else tuple(part)
            names += of_part
            types |= getattr(part, "types", dict.fromkeys(of_part, dtype) if dtype else {})
        self = super().__new__(cls, names)
        self.types = types
        return self

    def without(self, *parts: str | Iterable[str]) -> "Columns":
        """The columns that are not in these parts."""
        left_out = Columns(*parts)
        kept = Columns(name for name in self if name not in left_out)
        kept.types = {name: dtype for name, dtype in self.types.items() if name in kept}
        return kept

    def frame(self, rows: Any) -> pd.DataFrame:
        """Rows, or another frame, as one of these columns and their types; a column that they lack is empty."""
        return pd.DataFrame(rows, columns=list(self)).astype(self.types)

    def of(self, table: pd.DataFrame) -> pd.DataFrame:
        """These columns of a frame, with their types."""
        return table[list(self)].astype(self.types)


def floats(*parts: str | Iterable[str]) -> Columns:
    """Columns of numbers with fractions."""
    return Columns(*parts, dtype="float64")


def integers(*parts: str | Iterable[str]) -> Columns:
    """Columns of whole numbers that may be empty."""
    return Columns(*parts, dtype="Int64")
