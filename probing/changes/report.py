"""Perplexity of fine-tuned models with layers of their base put back, and while they were fine-tuned."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from probing.changes.report_runs import stored
from probing.changes.store import change_runs, epochs, perplexity
from probing.finetuning.relatives import named, relatives
from probing.kernel.stats.intervals import CONFIDENCE
from probing.kernel.store.database import Database

DRAWS = 1000
COLUMNS = (
    "model",
    "base",
    "objective",
    "replaced",
    "n",
    "embeddings",
    "masked",
    "perplexity",
    "low",
    "high",
    "log_change",
    "change_low",
    "change_high",
    "base_perplexity",
    "control_log_change",
    "seed_low",
    "seed_high",
    "seeds",
    "inside_control",
)
EPOCHS = (
    "model",
    "base",
    "objective",
    "epoch",
    "step",
    "blocks",
    "masked",
    "perplexity",
    "control_perplexity",
    "seed_low",
    "seed_high",
    "seeds",
)
_KEYS = ["replaced", "n", "embeddings"]
#: Perplexities of different blocks cannot be compared.
_SAME = [*_KEYS, "blocks_sha256"]
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
    of_rows = [
        name
        for name in COLUMNS
        if name not in ("control_log_change", "seed_low", "seed_high", "seeds", "inside_control")
    ]
    table = pd.DataFrame(made, columns=[*of_rows, "blocks_sha256"])
    table = table.astype(dict.fromkeys(_FLOATS, "float64") | {"n": "int64", "masked": "int64"})
    table = runs.relatives.with_spread(table, _SAME, "perplexity")
    table = runs.relatives.with_control(
        table, _SAME, {"log_change": "control_log_change", "seed_low": "_low", "seed_high": "_high"}
    )
    small = table["log_change"].abs() <= table["control_log_change"].abs()
    table["inside_control"] = small | table["perplexity"].between(table["_low"], table["_high"])
    order = {"none": 0, "last": 1, "first": 2, "single": 3}
    table = runs.relatives.listed(table, models).assign(_place=lambda rows: rows["replaced"].map(order))
    return table.sort_values(["model", "_place", "n", "embeddings"], ignore_index=True)[list(COLUMNS)]


_FLOATS = ("perplexity", "low", "high", "log_change", "change_low", "change_high", "base_perplexity")


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
