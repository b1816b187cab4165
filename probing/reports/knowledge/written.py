"""A report's frame as text, CSV, LaTeX or JSON."""

import json
from typing import Any, Literal

import pandas as pd

from probing.core.errors import OptionError
from probing.reports.knowledge.stored import What

Form = Literal["text", "csv", "latex", "json"]
#: Report -> the columns on the terminal and in LaTeX, which are the keys of an object in JSON unless ``_OBJECTS`` names others.
KEYS = {
    "precision": ("model", "head", "seed", "probe_set", "k", "average", "layer", "n", "value", "swapped"),
    "total": (
        "model", "head", "seed", "probe_set", "k", "average", "n", "last_layer", "total", "inner_own", "inner_swapped", "inner_n",
        "inner_p",
    ),
    "forgotten": ("model", "head", "seed", "k", "definition", "relations", "forgotten", "share", "names"),
    "transitions": (
        "base", "model", "head", "seed", "probe_set", "k", "kept", "gained", "lost", "never", "p_value", "relocated", "suppressed",
        "displaced", "erased",
    ),
    "tasks": ("model", "objective", "metric", "value", "low", "high", "baseline", "baseline_name", "n", "verdict"),
}  # fmt: skip
#: Report -> the keys in JSON and first columns of CSV where they are more.
_OBJECTS = {
    "precision": (
        "model", "head", "seed", "probe_set", "k", "average", "layer", "n", "value", "low", "high", "majority", "swapped", "swapped_n",
    ),
    "tasks": (
        "model", "base", "objective", "metric", "value", "low", "high", "baseline", "baseline_name", "other", "other_name", "n", "decides",
        "verdict",
    ),
}  # fmt: skip
#: Further columns of CSV; ``other`` is what ``swapped`` was called up to version 0.2.
_MORE = {
    "precision": (
        "other",
        "chance",
        "matched",
        "above_majority",
        "above_majority_low",
        "above_majority_high",
        "above_swapped",
        "above_swapped_low",
        "above_swapped_high",
    ),
    "total": (
        "last_low",
        "last_high",
        "total_low",
        "total_high",
        "intermediate_share",
        "seeds",
        "seed_union",
        "majority",
        "matched_last",
        "swapped_last",
    ),
    "forgotten": ("probe_set",),
    "transitions": ("n", "only_base", "only_model", "base_value", "value", "difference", "low", "high", "relocated_known_there"),
}


def written(table: pd.DataFrame, what: What, form: Form) -> str:
    """A report's frame in that form.

    Raises:
        OptionError: if JSON's objects would not say their probe set.
    """
    several = "probe_set" in table and "probe_set" not in KEYS[what] and table["probe_set"].nunique() > 1
    columns = _OBJECTS.get(what, KEYS[what]) if form in ("json", "csv") else KEYS[what]
    if form == "json":
        if several:
            raise OptionError(f"an object of {what} does not say its probe set; name one with --probe-set")
        objects = [{key: _plain(value) for key, value in row.items()} for row in _with_null(table[list(columns)]).to_dict("records")]
        return json.dumps(objects, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    if what == "precision":
        table = table.assign(other=table["swapped"])
    shown = table[[*columns, *(_MORE.get(what, ()) if form == "csv" else ("probe_set",) if several else ())]]
    if "names" in shown:
        shown = shown.assign(names=[" ".join(names) for names in shown["names"]])
    if form == "csv":
        return shown.to_csv(index=False)
    rows = [[_rounded(value) for value in row] for row in _with_null(shown).itertuples(index=False)]
    if form == "latex":
        return _latex(list(shown.columns), rows)
    widths = [max(len(name), *(len(row[n]) for row in rows)) if rows else len(name) for n, name in enumerate(shown.columns)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in (shown.columns, *rows)]
    return "\n".join(lines if rows else [*lines, "no rows: nothing that is stored answers this"]) + "\n"


def _with_null(table: pd.DataFrame) -> pd.DataFrame:
    """The frame with None where nothing was measured."""
    return table.astype(object).where(table.notna(), None)


def _plain(value: Any) -> Any:
    """A value as JSON has it; what is not defined is null."""
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


_ESCAPES = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"} | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)


def _latex(columns: list[str], rows: list[list[str]]) -> str:
    def escaped(cells: list[str]) -> str:
        return " & ".join(cell.translate(_ESCAPES) for cell in cells) + r" \\"

    head = [rf"\begin{{tabular}}{{{'l' * len(columns)}}}", r"\toprule", escaped(columns), r"\midrule"]
    return "\n".join([*head, *map(escaped, rows), r"\bottomrule", r"\end{tabular}"]) + "\n"
