"""The reports of what fine-tuning changed: attention, states, minimal pairs and perplexity, layer by layer."""

from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from probing.changes import store
from probing.changes.measures import MEASURES
from probing.changes.minimal_pairs import MinimalPair
from probing.changes.store import change_runs, epochs, perplexity
from probing.kernel.columns import Columns, floats
from probing.kernel.provenance import stored_configuration
from probing.kernel.relatives import StoredRuns, named, relatives
from probing.kernel.report import Choice, Filter, Report, Reports, refuse_unstored, whole_runs
from probing.kernel.stats.intervals import CONFIDENCE
from probing.kernel.store.database import Database

#: Fields of a run's configuration that identify its sentences and its masked blocks.
TEXTS = ("sentences_sha256", "blocks_sha256")


def stored(db: Database) -> StoredRuns:
    """One run per model; rows get the checksums of its text, as values on different texts are not comparable."""
    runs = named(change_runs(db))
    configs = [stored_configuration(config) for config in runs["config"]]
    runs = runs.assign(**{name: [str(config.get(name, "")) for config in configs] for name in TEXTS})
    return StoredRuns(whole_runs(runs, ["model"], [_has(config) for config in configs]), relatives(runs), TEXTS)


def _has(config: Mapping[str, Any]) -> frozenset[Hashable]:
    """The measures of a run with this configuration, and their texts."""
    extra = {name: config.get(name) for name in ("base_weights", "blocks_sha256") if config.get(name)}
    replaced = ["replaced"] if len(extra) == 2 and config.get("replaced", True) else []
    of = [(name, config.get(name)) for name in ("weights", "sentences_sha256", "head_recipe")]
    return frozenset([*extra.items(), *replaced, *of])


def beside_base(table: pd.DataFrame, keys: list[str], columns: dict[str, str]) -> pd.DataFrame:
    """The table with the numbers of each row's base for the same keys, renamed by ``columns``; empty for a base."""
    of_bases = table[["model", *keys, *columns]].rename(columns={"model": "base", **columns})
    return table.merge(of_bases, on=["base", *keys], how="left")


MEASURE_COLUMNS = Columns(
    "model base objective measure layer head value low high n base_value control_value seed_low seed_high seeds",
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
    return table.sort_values(["model", "measure", "layer", "head"], ignore_index=True)[list(MEASURE_COLUMNS)]


def no_change(table: pd.DataFrame) -> pd.Series:
    """The value of each row without any change: the base's; of comparisons with the base 0, or 1 for similarities."""
    unchanged = table["measure"].isin(SAME_IS_ONE).astype("float64").where(table["measure"].isin(_OF_CHANGE))
    return table["base_value"].fillna(unchanged)


PAIR_COLUMNS = Columns("pair kind good good_word bad bad_word model layer good_logp bad_logp difference right")


def pair_rows(model: str, pairs: Sequence[MinimalPair], logp: np.ndarray, kinds: Mapping[str, str]) -> pd.DataFrame:
    """One row per pair and layer, pairs numbered from 1; ``right`` is None if the pair cannot be asked of the model.

    ``logp`` (pairs, layers, 2): log-probabilities of the good and of the bad word; NaN if a pair cannot be asked.
    """
    rows = []
    for number, (pair, scores) in enumerate(zip(pairs, logp, strict=True), start=1):
        kind = kinds.get(pair.kind, pair.kind)
        what = (number, kind, pair.good.sentence, pair.good.word, pair.bad.sentence, pair.bad.word, model)
        for layer, (good, bad) in enumerate(scores):
            right = None if np.isnan(good) else bool(good > bad)
            rows.append((*what, layer, float(good), float(bad), float(good - bad), right))
    return PAIR_COLUMNS.frame(rows)


def right_by_layer(table: pd.DataFrame) -> pd.DataFrame:
    """``model, layer, right, pairs``: how many of the pairs that can be asked a layer has right."""
    known = table[table["right"].notna()]
    known = known.assign(right=known["right"].astype(int), pairs=1)
    return known.groupby(["model", "layer"], sort=False, as_index=False)[["right", "pairs"]].sum()


DRAWS = 1000
_OF_MODEL = Columns(
    *("model base objective replaced", Columns("n", dtype="int64"), "embeddings", Columns("masked", dtype="int64")),
    floats("perplexity low high log_change change_low change_high base_perplexity"),
)
PERPLEXITY_COLUMNS = Columns(_OF_MODEL, "control_log_change seed_low seed_high seeds inside_control")
EPOCHS = Columns("model base objective epoch step blocks masked perplexity control_perplexity seed_low seed_high seeds")
_PERPLEXITY_KEYS = ["replaced", "n", "embeddings"]
#: Perplexities of different blocks cannot be compared.
_SAME = [*_PERPLEXITY_KEYS, "blocks_sha256"]
_Blocks = tuple[NDArray[np.float64], NDArray[np.float64]]


def perplexities(db: Database, models: Sequence[str] | None = None) -> pd.DataFrame:
    """Perplexity at masked tokens, with no layer, the last n, the first n, or one layer of the base put back
    (replaced).

    Intervals are bootstraps over blocks, with the same draws for two models that are compared. log_change: mean
    cross-entropy minus that of the unchanged base, in nats per token; empty for a base. inside_control: the change is
    no larger than the control's, or the perplexity within the spread of the control's seeds.
    """
    runs = stored(db)
    rows = runs.named(perplexity(db, runs.run_ids))
    of_base = _bases(rows)
    made = [_row(row, of_base.get(row["base"])) for row in rows.to_dict("records")]
    table = Columns(_OF_MODEL, "blocks_sha256").frame(made)
    table = runs.relatives.with_spread(table, _SAME, "perplexity")
    table = runs.relatives.with_control(
        table, _SAME, {"log_change": "control_log_change", "seed_low": "_low", "seed_high": "_high"}
    )
    small = table["log_change"].abs() <= table["control_log_change"].abs()
    table["inside_control"] = small | table["perplexity"].between(table["_low"], table["_high"])
    order = {"none": 0, "last": 1, "first": 2, "single": 3}
    table = runs.relatives.listed(table, models).assign(_place=lambda rows: rows["replaced"].map(order))
    return table.sort_values(["model", "_place", "n", "embeddings"], ignore_index=True)[list(PERPLEXITY_COLUMNS)]


def epoch_perplexities(db: Database, models: Sequence[str] | None = None) -> pd.DataFrame:
    """Perplexity by epoch of fine-tuning (0: before), measured with the base's own head, beside the control's."""
    runs = named(change_runs(db))
    table = epochs(db)
    known = runs[["model", "objective", "variant", "tuned_seed"]].drop_duplicates("model")
    table = table.merge(known, on="model", how="left").fillna({"objective": "", "variant": ""})
    family = relatives(pd.concat([runs, table]) if len(runs) else table)
    table["perplexity"] = np.exp(table["cross_entropy"] / table["masked"].where(table["masked"] > 0).astype("float64"))
    table = family.with_spread(table, ["epoch"], "perplexity")
    table = family.with_control(table, ["epoch"], {"perplexity": "control_perplexity"})
    return family.listed(table, models).sort_values(["model", "step"], ignore_index=True)[list(EPOCHS)]


def _bases(rows: pd.DataFrame) -> dict[str, _Blocks]:
    """Base -> sums and numbers of masked tokens by block: of it, or of a model with all base layers put back."""
    own = rows[(rows["replaced"] == "none") & (rows["base"] == "")]
    blocks = {str(row["model"]): _blocks(row) for row in own.to_dict("records")}
    back = rows[rows["embeddings"].astype(bool)].sort_values("n")
    for row in back.to_dict("records"):
        blocks.setdefault(str(row["base"]), _blocks(row))
    return blocks


def _blocks(row: dict[str, Any]) -> _Blocks:
    """(blocks,) sums of cross-entropy and numbers of masked tokens; one block if they are not stored by block."""
    sums, masked = (row[name] for name in ("by_block", "masked_by_block"))
    if sums is None or masked is None or not len(sums) or len(sums) != len(masked):
        return np.array([float(row["cross_entropy"])]), np.array([float(row["masked"])])
    return np.asarray(sums, dtype=np.float64), np.asarray(masked, dtype=np.float64)


def _row(row: dict[str, Any], base: _Blocks | None) -> dict[str, Any]:
    sums, masked = _blocks(row)
    mean = _mean(sums, masked)
    drawn = _drawn(sums, masked)
    low, high = _middle(drawn)
    names = {name: row[name] for name in ("model", "base", "objective", *_SAME)}
    numbers = names | {
        "masked": int(masked.sum()),
        "perplexity": np.exp(mean),
        "low": np.exp(low),
        "high": np.exp(high),
    }
    if base is None or not row["base"] or not np.array_equal(base[1], masked):
        # Perplexities on different masked tokens are not comparable.
        return numbers | dict.fromkeys(("log_change", "change_low", "change_high", "base_perplexity"), np.nan)
    low, high = _middle(drawn - _drawn(*base))
    of_base = _mean(*base)
    return numbers | {
        "log_change": mean - of_base,
        "change_low": low,
        "change_high": high,
        "base_perplexity": np.exp(of_base),
    }


def _mean(sums: NDArray[np.float64], masked: NDArray[np.float64]) -> float:
    return float(sums.sum() / masked.sum()) if masked.sum() else np.nan


def _drawn(sums: NDArray[np.float64], masked: NDArray[np.float64]) -> NDArray[np.float64]:
    """(draws,) mean cross-entropy of drawn blocks; NaN for one block, which does not show how much blocks vary."""
    if len(sums) < 2:
        return np.full(DRAWS, np.nan)
    weights = _weights(len(sums))
    below = weights @ masked
    return np.divide(weights @ sums, below, out=np.full(DRAWS, np.nan), where=below > 0)


@lru_cache(maxsize=4)
def _weights(blocks: int) -> NDArray[np.float64]:
    """(draws, blocks) how often each block is drawn: the same for every model."""
    return np.random.default_rng(0).multinomial(blocks, np.full(blocks, 1 / blocks), size=DRAWS).astype(np.float64)


def _middle(drawn: NDArray[np.float64]) -> tuple[float, float]:
    known = drawn[~np.isnan(drawn)]
    if not len(known):
        return np.nan, np.nan
    low, high = np.quantile(known, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


VALUES = Columns("model base layer measure value low high")


def _values(db: Database, choice: Choice) -> pd.DataFrame:
    return values(db, choice["model"], choice["measure"], choice["heads"])


def _perplexities(db: Database, choice: Choice) -> pd.DataFrame:
    return perplexities(db, choice["model"])


def _epochs(db: Database, choice: Choice) -> pd.DataFrame:
    return epoch_perplexities(db, choice["model"])


def _refuse(db: Database, choice: Choice) -> None:
    runs = store.change_runs(db)
    models = store.epochs(db)["model"] if choice.report.name == "epochs" else runs["model"]
    measures = store.values(db, list(runs["run_id"]))["measure"] if choice["measure"] else ()
    refuse_unstored("values", choice, {"model": sorted(set(models)), "measure": sorted(set(measures))})


CHANGES = Reports(
    "changes",
    (
        Report(
            "values",
            "attention and similarity of states by layer",
            _values,
            VALUES,
            further=True,
            shown=MEASURE_COLUMNS.without("objective inside_control"),
        ),
        Report("perplexity", "with layers of the base put back", _perplexities),
        Report("epochs", "perplexity while a model was fine-tuned", _epochs),
    ),
    (
        Filter("model", "Model; repeatable. None: all, but only the lowest seed of models that differ by seed."),
        Filter("measure", "For values: measure; repeatable. None: all.", only=("values",)),
        Filter("heads", "For values: also those of single heads.", bool, only=("values",)),
    ),
    _refuse,
)
