"""Columns of the tables on a page: as wide as their longest words, and without what the page has said already."""

import heapq
import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

#: Streamlit's table font (Source Sans, 14 pixels): characters -> how far they advance, in pixels, rounded up.
_ADVANCES = {
    " ": 2.8, "|ij',.:;’lI": 3.7, "!f()[]{}-": 4.4, "tr/\\": 4.95, "*s?z\"": 6.0, "xcvyY": 6.7, "JLFke": 7.0, "0123456789#$+<=>^~≤_–": 7.0,
    "agXVESTZ`o": 7.6, "Ahunbdpq": 7.8, "PRCKB": 8.25, "&DG": 8.7, "UNHOQ": 9.3, "wM": 10.2, "W": 11.0, "m%@": 11.9,
}  # fmt: skip
_ADVANCE = {character: advance for characters, advance in _ADVANCES.items() for character in characters}
#: A character that is not in the table is taken to be as wide as it is high.
_WIDEST = 14.0
_PADDING, _LEAST, _MOST = 16, 50, 400
#: Texts of a column that are measured, the longest first: enough, since widths by character differ by less than their number.
_MEASURED = 200
#: What the selection, the caption and the stamp below every table say.
_SAID = ("base_run_id", "run_id", "head", "probe_set", "seed", "k")


def text_width(text: str) -> float:
    """How wide a text stands in a cell, in pixels; rather too wide than too narrow."""
    return sum(_ADVANCE.get(character, _WIDEST) for character in text)


def fitted(table: pd.DataFrame, config: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The configuration of a table's columns, with a width for those of words and whole numbers that have none.

    Streamlit measures the first rows only and cuts a longer word below. Fractions are left to it: how they are written is its part.

    Args:
        table: what is shown.
        config: column -> its heading or what ``st.column_config`` makes; columns without one are headed by their name.
    """
    found: dict[str, Any] = {}
    for name in table.columns:
        given = (config or {}).get(name, {})
        one: dict[str, Any] = {"label": given} if isinstance(given, str) else dict(given)
        if one.get("label") is None:
            one["label"] = str(name).replace("_", " ")
        if one.get("width") is None and not pd.api.types.is_float_dtype(table[name]):
            texts = (str(value) for value in table[name].dropna().map(str).unique())
            widest = max(map(text_width, [one["label"], *heapq.nlargest(_MEASURED, texts, key=len)]))
            one["width"] = min(max(math.ceil(widest) + _PADDING, _LEAST), _MOST)
        found[str(name)] = one
    return found


def in_per_cent(table: pd.DataFrame, config: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The table with its percentages written as in sentences and figures, "12.2 %"; its values stay shares.

    Args:
        table: what is shown.
        config: of ``fitted``; columns with the format "percent" are rewritten.

    Returns:
        What ``st.dataframe`` shows, and the configuration to be given beside it.
    """
    typed = {name: one.get("type_config") or {} for name, one in config.items() if isinstance(one, Mapping)}
    shares = [name for name, one in typed.items() if one.get("format") == "percent" and name in table]
    if not shares:
        return table, dict(config)
    changed = {name: {**config[name], "type_config": {**typed[name], "format": None}} for name in shares}
    others = {name: str for name in table if name not in shares and pd.api.types.is_integer_dtype(table[name])}
    return table.style.format({**others, **dict.fromkeys(shares, _per_cent)}, na_rep="–"), {**config, **changed}


def _per_cent(share: float) -> str:
    return f"{share * 100:.1f} %"


def telling(table: pd.DataFrame) -> list[str]:
    """The columns that tell rows apart or say what was counted: those that only repeat the selection, and run ids, are left out."""
    named = "model" in table.columns
    return [
        str(name) for name in table.columns
        if name not in _SAID or not (table[name].nunique(dropna=False) <= 1 or (named and str(name).endswith("run_id")))
    ]  # fmt: skip
