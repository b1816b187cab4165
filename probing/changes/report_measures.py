"""Measures of attention and hidden states, layer by layer, with those of the base, the control and other seeds."""

from collections.abc import Sequence

import pandas as pd

from probing.changes import store
from probing.changes.measures import MEASURES
from probing.changes.report_runs import beside_base, stored
from probing.kernel.store.database import Database

COLUMNS = (
    "model",
    "base",
    "objective",
    "measure",
    "layer",
    "head",
    "value",
    "low",
    "high",
    "n",
    "base_value",
    "control_value",
    "seed_low",
    "seed_high",
    "seeds",
    "inside_control",
)
#: Values of different sentences cannot be compared.
_KEYS = ["measure", "layer", "head", "sentences_sha256"]
#: Measures that compare a fine-tuned model with its base; the others have no fixed value for no change.
_OF_CHANGE = tuple(name for name, measure in MEASURES.items() if measure.change_of)
#: Similarities with the base: no change is 1. For differences it is 0.
_LIKENESS = ("attention_map_cosine", "cka", "rsa", "same_token_cosine")
SAME_IS_ONE = tuple(name for name, measure in MEASURES.items() if measure.metric in _LIKENESS)


def values(
    db: Database, models: Sequence[str] | None = None, measures: Sequence[str] | None = None, heads: bool = False
) -> pd.DataFrame:
    """Every measured value; values on other sentences than the model's are not compared with it.

    ``models`` None keeps all, and of models that differ only in their seed the one with the smallest. layer, head
    (``ALL_HEADS`` for a whole layer), value with its 95 % interval; base_value and control_value of the same measure,
    layer and head, seed_low and seed_high; inside_control: the value is no further from no change than the control's,
    or within the spread of the control's seeds. Empty: there is none.
    """
    runs = stored(db)
    table = runs.named(store.values(db, runs.run_ids, heads)).astype({"layer": "int64", "head": "int64", "n": "int64"})
    if measures is not None:
        table = table[table["measure"].isin(list(measures))]
    table = beside_base(table, _KEYS, {"value": "base_value"})
    table = runs.relatives.with_spread(table, _KEYS, "value")
    table = runs.relatives.with_control(
        table, _KEYS, {"value": "control_value", "seed_low": "_low", "seed_high": "_high"}
    )
    unchanged = no_change(table)
    small = (table["value"] - unchanged).abs() <= (table["control_value"] - unchanged).abs()
    table["inside_control"] = small | table["value"].between(table["_low"], table["_high"])
    table = runs.relatives.listed(table, models)
    return table.sort_values(["model", "measure", "layer", "head"], ignore_index=True)[list(COLUMNS)]


def no_change(table: pd.DataFrame) -> pd.Series:
    """The value of each row without any change: the base's; of comparisons with the base 0, or 1 for similarities."""
    unchanged = table["measure"].isin(SAME_IS_ONE).astype("float64").where(table["measure"].isin(_OF_CHANGE))
    return table["base_value"].fillna(unchanged)
