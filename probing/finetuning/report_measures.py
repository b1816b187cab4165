"""One row per fine-tuned model, and correlations of its measures over models."""

from itertools import combinations

import numpy as np
import pandas as pd

from probing.changes.report import perplexities
from probing.finetuning.success_report import learned
from probing.kernel.stats.intervals import FEWEST, rank_correlation
from probing.kernel.stats.paired_tests import benjamini_hochberg
from probing.kernel.store.database import Database
from probing.sentences.numbers import layer_group

#: Measures of a model, in the order of tables.
MEASURED = ("probes_first", "probes_mean", "facts_lost", "perplexity", "emd", "entropy_change", "cka_last", "drift")
_NAMES = ("model", "base", "objective", "role", "stands")
_SCORE = ("verdict", "metric", "score", "baseline")
COLUMNS = (*_NAMES, *_SCORE, *MEASURED, "base_perplexity", "perplexity_change", "tasks")
TUNED, CONTROL, SEED, CONTROL_SEED = ROLES = ("fine-tuned", "control", "another seed", "another seed of the control")
PAIRS = ("first", "second", "rho", "p", "q", "n")


def measures(db: Database, table: pd.DataFrame) -> pd.DataFrame:
    """One row per fine-tuned model with a measurement in ``by_layer``; controls and other seeds come last.

    Changes of accuracy (probes_first, probes_mean) are means over the upper layers and over ``tasks``; facts_lost is at
    the last layer; perplexity_change is of the logarithm; emd and entropy_change are of the first token, mean over
    layers; cka_last is mean-pooled, at the last layer; drift is the mean over layers 1 to L.
    """
    rows = [_row(model_rows) for _, model_rows in table.groupby("model", sort=False)]
    models = pd.DataFrame(
        rows,
        columns=[
            name for name in COLUMNS if name not in (*_SCORE, "perplexity", "base_perplexity", "perplexity_change")
        ],
    )
    whole = perplexities(db, list(models["model"]))
    whole = whole[whole["replaced"] == "none"].rename(columns={"log_change": "perplexity_change"})
    models = models.merge(
        whole[["model", "perplexity", "base_perplexity", "perplexity_change"]], on="model", how="left"
    )
    scored = learned(db).rename(columns={"value": "score"})[["model", *_SCORE]]
    models = models.merge(scored, on="model", how="left")
    order = models["role"].map(ROLES.index)
    return models.assign(_order=order).sort_values(["base", "_order", "model"], ignore_index=True)[list(COLUMNS)]


def correlations(table: pd.DataFrame) -> pd.DataFrame:
    """Spearman's rank correlation of every two measures over fine-tuned models; controls and other seeds are left out.

    p is exact up to seven models; q is Benjamini and Hochberg's over all rows. The strongest come first; a pair with
    fewer models than ``FEWEST`` has no row.
    """
    models = table[table["role"] == TUNED]
    rows = []
    for first, other in combinations(MEASURED, 2):
        both = models[[first, other]].dropna()
        if len(both) >= FEWEST:
            rho, p = rank_correlation(both[first].tolist(), both[other].tolist())
            if not np.isnan(rho):
                rows.append((first, other, rho, p, len(both)))
    pairs = pd.DataFrame(rows, columns=["first", "second", "rho", "p", "n"]).astype({"rho": "float64", "p": "float64"})
    pairs["q"] = benjamini_hochberg(pairs["p"].to_numpy()) if len(pairs) else pairs["p"]
    return pairs.sort_values("rho", key=lambda rho: -rho.abs(), kind="stable", ignore_index=True)[list(PAIRS)]


def _row(rows: pd.DataFrame) -> dict[str, object]:
    first, last = rows.iloc[0], int(rows["layer"].max())
    upper = rows[[layer_group(int(layer), last) == "upper" for layer in rows["layer"]]]
    above, top = rows[rows["layer"] > 0], rows[rows["layer"] == last]
    other = first["stands"] != first["model"]
    role = (CONTROL_SEED if other else CONTROL) if first["control"] else (SEED if other else TUNED)
    return {
        **{name: first[name] for name in ("model", "base", "objective", "stands")},
        "role": role,
        "probes_first": -upper["probes_lost_first"].mean(),
        "probes_mean": -upper["probes_lost_mean"].mean(),
        "facts_lost": top["facts_lost"].mean(),
        "emd": above["emd"].mean(),
        "entropy_change": above["entropy_change"].mean(),
        "cka_last": 1 - top["cka_lost"].mean(),
        "drift": above["drift"].mean(),
        "tasks": rows["tasks"].max(),
    }
