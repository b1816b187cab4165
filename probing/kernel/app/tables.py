"""Columns of a page's tables: as wide as their longest words, without columns that repeat the page's selection."""

import heapq
import math
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate
from typing import Any

import pandas as pd

from probing.kernel.app.texts import with_minus
from probing.kernel.joined import joined

#: Streamlit's table font (Source Sans, 14 pixels): characters -> advance width in pixels, rounded up.
_ADVANCES = {
    " ": 2.8,
    "|ij',.:;’lI": 3.7,
    "!f()[]{}-": 4.4,
    "tr/\\": 4.95,
    '*s?z"': 6.0,
    "xcvyY": 6.7,
    "JLFke": 7.0,
    "0123456789#$+<=>^~≤_–": 7.0,
    "agXVESTZ`o": 7.6,
    "Ahunbdpq": 7.8,
    "PRCKB": 8.25,
    "&DG": 8.7,
    "UNHOQ": 9.3,
    "wM": 10.2,
    "W": 11.0,
    "m%@": 11.9,
}
_ADVANCE = {character: advance for characters, advance in _ADVANCES.items() for character in characters}
#: Assumed width of other characters: the font size.
_WIDEST = 14.0
_PADDING, _LEAST, _MOST = 16, 50, 400
#: The page's width in a window of 1,280 pixels beside boxes to tick, of a column of floats, and of one that is wide.
_ROOM, _OTHER, _WIDE = 882, 80, 160
#: Number of texts per column that are measured, the longest first; the widest text is nearly always among the longest.
_MEASURED = 200
#: A number's format in Streamlit's columns: words, sign, digits, kind and words.
_PRINTF = re.compile(r"([^%]*)%(\+?)((?:\.\d+)?)([dfg])([^%]*)")
#: Columns whose values the selection, the caption or the stamp shows already.
_SAID = ("base_run_id", "run_id", "head", "probe_set", "seed", "k")


def text_width(text: str) -> float:
    """Width of a text in a cell in pixels; too wide rather than too narrow."""
    return sum(_ADVANCE.get(character, _WIDEST) for character in text)


def fitted(table: pd.DataFrame, config: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The configuration of a table's columns, with a width for text and integer columns that have none.

    Streamlit measures only the first rows and cuts longer words below them. It formats floats itself, so it also sets
    their width; ``written`` does both instead. ``config``: column -> its heading or an ``st.column_config`` object.
    """
    columns: dict[str, Any] = {}
    for name in table.columns:
        column = (config or {}).get(name, {})
        setting: dict[str, Any] = {"label": column} if isinstance(column, str) else dict(column)
        if setting.get("label") is None:
            setting["label"] = str(name).replace("_", " ")
        if term := joined("terms").glossary().get(setting["label"]):
            setting["help"] = setting.get("help") or term.meaning
        if setting.get("width") is None and not pd.api.types.is_float_dtype(table[name]):
            # Pandas takes ten times as long for the texts of the few rows that most tables have.
            setting["width"] = _width(setting["label"], map(str, table[name].dropna().tolist()))
        columns[str(name)] = setting
    return columns


def _width(label: str, texts: Iterable[str]) -> int:
    widest = max(map(text_width, [label, *heapq.nlargest(_MEASURED, dict.fromkeys(texts), key=len)]))
    return min(max(math.ceil(widest) + _PADDING, _LEAST), _MOST)


def written(table: pd.DataFrame, config: Mapping[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
    """The table with its numbers written as in sentences and figures ("12.2 %", "−1.1", "4,423"), and its ``fitted``
    configuration.

    Its values stay as they were. A column's format is "percent", "points" for differences of shares, one of printf, or
    none; columns of numbers are as wide as their longest one.
    """
    formats, columns = {}, fitted(table, config)
    for name in table.select_dtypes("number"):
        setting = columns[str(name)]
        typed = setting.get("type_config") or {}
        formats[name] = write = _writer(typed.get("format"), table[name])
        width = _width(setting["label"], map(write, table[name].dropna().tolist()))
        columns[str(name)] = {**setting, "width": width, "type_config": {**typed, "format": None}}
    return (table.style.format(formats, na_rep="–") if formats else table), columns


def _writer(form: str | None, values: pd.Series) -> Callable[[float], str]:
    """Writes one number of a column; without a format with the digits that the column needs, at most four."""
    if form in ("percent", "points"):
        unit = " %" if form == "percent" else ""
        return lambda share: with_minus(f"{share * 100:z.1f}{unit}")
    if form is None and not (values.dropna() % 1 == 0).all():
        return lambda value: with_minus(f"{value:z,.4f}".rstrip("0").rstrip("."))
    if not (parts := _PRINTF.fullmatch(form or "%d")):
        raise ValueError(
            f"A column's format is {form!r}; expected is percent, points, or one of printf with d, f or g."
        )
    before, sign, digits, kind, after = parts.groups()
    spec = f"{sign}z,.0f" if kind == "d" else f"{sign}z,{digits}{kind}"
    return lambda value: with_minus(f"{before}{value:{spec}}{after}")


def placed(columns: dict[str, Any], order: Iterable[str]) -> list[str]:
    """Narrows wide columns, in place, by at most a quarter if all fit the page then; returns the headings beyond it.

    ``columns`` as ``written`` has them, ``order`` names those that are shown.
    """
    shown = [columns[name] for name in order if name in columns]
    widths = [setting["width"] if isinstance(setting.get("width"), int) else _OTHER for setting in shown]
    wide = {place: width for place, width in enumerate(widths) if width > _WIDE}
    over = sum(widths) - _ROOM
    if 0 < over <= sum(wide.values()) / 4:
        for place, width in wide.items():
            widths[place] = shown[place]["width"] = width - math.ceil(width * over / sum(wide.values()))
    return [setting["label"] for setting, end in zip(shown, accumulate(widths), strict=True) if end > _ROOM]


def telling(table: pd.DataFrame) -> list[str]:
    """The columns worth showing: without run ids next to names, and those that repeat the selection."""
    named = "model" in table.columns
    return [
        str(name)
        for name in table.columns
        if name not in _SAID or not (table[name].nunique(dropna=False) <= 1 or (named and str(name).endswith("run_id")))
    ]
