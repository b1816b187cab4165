"""The scores of minimal pairs at every layer, as tables."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from probing.changes.minimal_pairs import MinimalPair

COLUMNS = [
    "pair",
    "kind",
    "good",
    "good_word",
    "bad",
    "bad_word",
    "model",
    "layer",
    "good_logp",
    "bad_logp",
    "difference",
    "right",
]


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
    return pd.DataFrame(rows, columns=COLUMNS)


def right_by_layer(table: pd.DataFrame) -> pd.DataFrame:
    """``model, layer, right, pairs``: how many of the pairs that can be asked a layer has right."""
    known = table[table["right"].notna()]
    known = known.assign(right=known["right"].astype(int), pairs=1)
    return known.groupby(["model", "layer"], sort=False, as_index=False)[["right", "pairs"]].sum()
