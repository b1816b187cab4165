"""What was measured of attention and states, layer by layer, beside the base, the control and other seeds."""

from collections.abc import Sequence

import pandas as pd

from probing.core.changes.measures import MEASURES
from probing.reports.changes.stored import beside_base, stored
from probing.store.changes import queries
from probing.store.database import Database

COLUMNS = (
    "model", "base", "objective", "measure", "layer", "head", "value", "low", "high", "n", "base_value", "control_value", "seed_low",
    "seed_high", "seeds", "inside_control",
)  # fmt: skip
#: Values of different sentences cannot be compared.
_KEYS = ["measure", "layer", "head", "sentences_sha256"]
#: Measures of a fine-tuned model beside its base; of the others no value says by itself that nothing changed.
_OF_CHANGE = tuple(name for name, measure in MEASURES.items() if measure.change_of)
#: Metrics of likeness with the base, which are 1 where nothing changed; differences are 0 there.
_LIKENESS = ("attention_map_cosine", "cka", "rsa", "same_token_cosine")
SAME_IS_ONE = tuple(name for name, measure in MEASURES.items() if measure.metric in _LIKENESS)


def values(db: Database, models: Sequence[str] | None = None, measures: Sequence[str] | None = None, heads: bool = False) -> pd.DataFrame:
    """Every measured value.

    Args:
        db: the database.
        models: names to keep; None keeps all that stand for themselves: of models that differ by their seed the one with the least.
        measures: names to keep; None keeps all.
        heads: whether values of single heads are given, too.

    Returns:
        model, base, objective, measure, layer, head (``ALL_HEADS`` of a whole layer), value with low and high (95 % interval, empty where
        there is none), n; base_value and control_value (the base's and the control's of the same measure, layer and head; empty where
        there is none), seed_low, seed_high, seeds (of models that differ by their seed alone), inside_control (a fine-tuned model's value
        is no farther from no change than the control's is, or within the spread of the control's seeds). Values of other sentences
        than the model's are not set beside it.
    """
    found = stored(db)
    table = found.named(queries.values(db, found.run_ids, heads)).astype({"layer": "int64", "head": "int64", "n": "int64"})
    if measures is not None:
        table = table[table["measure"].isin(list(measures))]
    table = beside_base(table, _KEYS, {"value": "base_value"})
    table = found.relatives.with_spread(table, _KEYS, "value")
    table = found.relatives.with_control(table, _KEYS, {"value": "control_value", "seed_low": "_low", "seed_high": "_high"})
    unchanged = no_change(table)
    small = (table["value"] - unchanged).abs() <= (table["control_value"] - unchanged).abs()
    table["inside_control"] = small | table["value"].between(table["_low"], table["_high"])
    table = found.relatives.listed(table, models)
    return table.sort_values(["model", "measure", "layer", "head"], ignore_index=True)[list(COLUMNS)]


def no_change(table: pd.DataFrame) -> pd.Series:
    """The value that each row would have had nothing changed: the base's; of measures beside the base 0, or 1 where they are of likeness.

    Args:
        table: with the columns ``measure`` and ``base_value``; empty where it is not known.
    """
    beside = table["measure"].isin(SAME_IS_ONE).astype("float64").where(table["measure"].isin(_OF_CHANGE))
    return table["base_value"].fillna(beside)
