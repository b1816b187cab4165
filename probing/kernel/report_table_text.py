"""A frame as text, CSV, LaTeX or JSON, for every report."""

import json
from typing import Any, Literal

import pandas as pd

Form = Literal["text", "csv", "latex", "json"]
NO_ROWS = "no rows: no stored results match"
#: How a cell begins that a spreadsheet would take for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def objects(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Each row as an object; undefined values are null."""
    return [{str(key): _plain(value) for key, value in row.items()} for row in _with_null(table).to_dict("records")]


def as_json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def as_csv(table: pd.DataFrame) -> str:
    """The table as CSV; text that a spreadsheet would run as a formula is preceded by an apostrophe."""
    safe = table.copy()
    for column in safe.columns:
        if not pd.api.types.is_numeric_dtype(safe[column]):
            safe[column] = [
                f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell for cell in safe[column]
            ]
    return safe.to_csv(index=False)


def text_table(table: pd.DataFrame, empty: str = NO_ROWS) -> str:
    """Columns as wide as their cells; ``empty`` is the line below them if there are no rows."""
    if table.empty:
        return f"{' '.join(table.columns)}\n{empty}\n"
    return _cells(table).to_string(index=False) + "\n"


def latex_table(table: pd.DataFrame) -> str:
    """A table for the package booktabs."""
    return _cells(table).to_latex(index=False, escape=True, column_format="l" * len(table.columns))


def _cells(table: pd.DataFrame) -> pd.DataFrame:
    return _with_null(table).map(_rounded)


def _with_null(table: pd.DataFrame) -> pd.DataFrame:
    """The frame with None for missing values."""
    return table.astype(object).where(table.notna(), None)


def _plain(value: Any) -> Any:
    """A value for JSON; undefined values are null."""
    if isinstance(value, tuple):
        return list(value)
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and value != value else value


def _rounded(value: Any) -> str:
    value = _plain(value)
    if value is None:
        return "-"
    return (
        f"{value:.4g}"
        if isinstance(value, float) and 0 < abs(value) < 0.001
        else f"{value:.3f}"
        if isinstance(value, float)
        else str(value)
    )
