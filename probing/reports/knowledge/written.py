"""A report's frame as text, CSV, LaTeX or JSON."""

from collections.abc import Sequence

import pandas as pd

from probing.core.errors import OptionError
from probing.core.options import spelled
from probing.reports.knowledge.stored import What
from probing.reports.table_text import NO_ROWS, Form, as_json, latex_table, objects, text_table

#: Instead of the rows if a pair of runs has no such facts.
NO_FACTS = "no rows: none of the facts that both models were asked"
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
        "displaced", "not_read",
    ),
    "facts": ("part", "relation", "subject", "object", "base_rank", "rank", "base_answer", "answer", "fate"),
    "tasks": ("model", "objective", "metric", "value", "low", "high", "baseline", "baseline_name", "n", "verdict"),
}  # fmt: skip
#: Report -> the keys in JSON and first columns of CSV, if there are more.
_OBJECTS = {
    "precision": (
        "model", "head", "seed", "probe_set", "k", "average", "layer", "n", "value", "low", "high", "majority", "swapped", "swapped_n",
    ),
    "facts": (
        "base", "model", "head", "seed", "probe_set", "k", "part", "relation", "subject", "object", "base_rank", "rank", "base_answer",
        "answer", "fate", "prompt", "base_probability", "probability", "base_answer_probability", "answer_probability", "fact_id",
    ),
    "tasks": (
        "model", "base", "objective", "metric", "value", "low", "high", "baseline", "baseline_name", "other", "other_name", "n", "decides",
        "verdict", "closed", "published", "published_metric", "published_source",
    ),
}  # fmt: skip
#: Further columns of CSV; ``other`` is the name of ``swapped`` up to version 0.2.
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


def json_table(table: pd.DataFrame, what: What) -> pd.DataFrame:
    """The columns of a report's frame in JSON.

    Raises:
        OptionError: if its rows would not state their probe set.
    """
    if _several_sets(table, what):
        raise OptionError(f"the JSON of {what} does not contain the probe set; choose one with {spelled('probe_set')}")
    return table[list(_OBJECTS.get(what, KEYS[what]))]


def _several_sets(table: pd.DataFrame, what: What) -> bool:
    return "probe_set" in table and "probe_set" not in _OBJECTS.get(what, KEYS[what]) and table["probe_set"].nunique() > 1


def written(table: pd.DataFrame, what: What, form: Form) -> str:
    """A report's frame in that form.

    Raises:
        OptionError: as ``json_table``.
    """
    if form == "json":
        return as_json(objects(json_table(table, what)))
    columns: Sequence[str] = _OBJECTS.get(what, KEYS[what]) if form == "csv" else KEYS[what]
    several = _several_sets(table, what)
    if what == "precision":
        table = table.assign(other=table["swapped"])
    if what == "facts" and form != "csv":
        # A column in which all rows are equal only makes the rows longer.
        columns = [*(name for name in ("probe_set", "head", "k") if table[name].nunique() > 1), *columns]
    shown = table[[*columns, *(_MORE.get(what, ()) if form == "csv" else ("probe_set",) if several else ())]]
    if "names" in shown:
        shown = shown.assign(names=[" ".join(names) for names in shown["names"]])
    if form == "csv":
        return shown.to_csv(index=False)
    return latex_table(shown) if form == "latex" else text_table(shown, NO_FACTS if what == "facts" else NO_ROWS)
