"""Columns of a page's tables: as wide as their longest words, without columns that repeat the page's selection."""

import heapq
import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from probing.ui.widgets.markdown import with_minus

#: Streamlit's table font (Source Sans, 14 pixels): characters -> advance width in pixels, rounded up.
_ADVANCES = {
    " ": 2.8, "|ij',.:;’lI": 3.7, "!f()[]{}-": 4.4, "tr/\\": 4.95, "*s?z\"": 6.0, "xcvyY": 6.7, "JLFke": 7.0, "0123456789#$+<=>^~≤_–": 7.0,
    "agXVESTZ`o": 7.6, "Ahunbdpq": 7.8, "PRCKB": 8.25, "&DG": 8.7, "UNHOQ": 9.3, "wM": 10.2, "W": 11.0, "m%@": 11.9,
}  # fmt: skip
_ADVANCE = {character: advance for characters, advance in _ADVANCES.items() for character in characters}
#: Assumed width of other characters: the font size.
_WIDEST = 14.0
_PADDING, _LEAST, _MOST = 16, 50, 400
#: Number of texts per column that are measured, the longest first; the widest text is nearly always among the longest.
_MEASURED = 200
#: Columns whose values the selection, the caption or the stamp shows already.
_SAID = ("base_run_id", "run_id", "head", "probe_set", "seed", "k")


def text_width(text: str) -> float:
    """Width of a text in a cell in pixels; too wide rather than too narrow."""
    return sum(_ADVANCE.get(character, _WIDEST) for character in text)


def fitted(table: pd.DataFrame, config: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The configuration of a table's columns, with a width for text and integer columns that have none.

    Streamlit measures only the first rows and cuts longer words below them. It formats floats itself, so it also sets their width.

    Args:
        table: the table to show.
        config: column -> its heading or an ``st.column_config`` object; other columns use their name as heading.
    """
    found: dict[str, Any] = {}
    for name in table.columns:
        given = (config or {}).get(name, {})
        one: dict[str, Any] = {"label": given} if isinstance(given, str) else dict(given)
        if one.get("label") is None:
            one["label"] = str(name).replace("_", " ")
        if one.get("width") is None and not pd.api.types.is_float_dtype(table[name]):
            # Pandas takes ten times as long for the texts of the few rows that most tables have.
            texts = dict.fromkeys(map(str, table[name].dropna().tolist()))
            widest = max(map(text_width, [one["label"], *heapq.nlargest(_MEASURED, texts, key=len)]))
            one["width"] = min(max(math.ceil(widest) + _PADDING, _LEAST), _MOST)
        found[str(name)] = one
    return found


def in_per_cent(table: pd.DataFrame, config: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The table with percentages formatted as in sentences and figures, "12.2 %"; its values stay shares.

    Args:
        table: the table to show.
        config: of ``fitted``; columns with the format "percent", or "points" for differences of shares, are changed.

    Returns:
        The table and the configuration for ``st.dataframe``.
    """
    typed = {name: one.get("type_config") or {} for name, one in config.items() if isinstance(one, Mapping)}
    written = {"percent": _per_cent, "points": _points}
    shares = {name: written[one["format"]] for name, one in typed.items() if one.get("format") in written and name in table}
    if not shares:
        return table, dict(config)
    changed = {name: {**config[name], "type_config": {**typed[name], "format": None}} for name in shares}
    others = {name: "{:,}".format for name in table if name not in shares and pd.api.types.is_integer_dtype(table[name])}
    return table.style.format({**others, **shares}, na_rep="–"), {**config, **changed}


def _per_cent(share: float) -> str:
    return with_minus(f"{share * 100:z.1f} %")


def _points(difference: float) -> str:
    return with_minus(f"{difference * 100:z.1f}")


def telling(table: pd.DataFrame) -> list[str]:
    """The columns worth showing: without run ids next to model names, and without columns that only repeat the selection."""
    named = "model" in table.columns
    return [
        str(name)
        for name in table.columns
        if name not in _SAID or not (table[name].nunique(dropna=False) <= 1 or (named and str(name).endswith("run_id")))
    ]
