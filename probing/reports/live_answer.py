"""The predictions of every layer for one sentence, as tables."""

from typing import Any

import numpy as np
import pandas as pd

from probing.core.questions import Answer, EveryToken


def tokens_of(got: Answer) -> pd.DataFrame:
    """Long form: ``model, layer, place, token, probability, framed``; ``framed`` marks tokens that are tracked."""
    rows = [
        (got.model, one.layer, place, token.token, token.probability, token.id in {word.id for word in one.watched})
        for one in got.layers
        for place, token in enumerate(one.tokens, 1)
    ]
    return pd.DataFrame(rows, columns=["model", "layer", "place", "token", "probability", "framed"])


def watched_of(got: Answer) -> pd.DataFrame:
    """Long form: ``model, word, layer, rank, probability``."""
    return pd.DataFrame(
        [
            (got.model, token.token, one.layer, token.rank, token.probability)
            for one in got.layers
            for token in one.watched
        ],
        columns=["model", "word", "layer", "rank", "probability"],
    )


def tracked_ranks(got: Answer) -> dict[str, Any]:
    """``ranks`` by layer and ``ranked``, the first word that is tracked, for ``token_grid``; empty if none is."""
    if not got.layers or not got.layers[-1].watched:
        return {}
    return {"ranks": {one.layer: one.watched[0].rank for one in got.layers}, "ranked": got.layers[-1].watched[0].token}


def first_layers(got: Answer, word: str) -> list[int]:
    """The layers after the embeddings that give a word first: the followed one, else the one that is written so."""
    followed = {one.layer: one.watched[0].rank for one in got.layers if one.watched and one.watched[0].token == word}
    ranks = followed or {one.layer: 1 for one in got.layers if one.tokens[0].token == word}
    return [layer for layer, rank in ranks.items() if layer and rank == 1]


def lines_of(got: Answer) -> pd.DataFrame:
    """Long form: ``model, word, layer, rank, probability, entropy``, one row per followed word and layer."""
    return watched_of(got).merge(entropy_of(got), on=["model", "layer"])


def entropy_of(got: Answer) -> pd.DataFrame:
    """Long form: ``model, layer, entropy`` in nats."""
    return pd.DataFrame(
        [(got.model, one.layer, one.entropy) for one in got.layers], columns=["model", "layer", "entropy"]
    )


def every_token_of(got: EveryToken, top: int = 1) -> pd.DataFrame:
    """One row per token of the sentence, layer and place (from 1, up to ``top``), with the token at the place."""
    layers, pieces, places = got.ids[:, :, :top].shape
    layer, position, place = np.meshgrid(np.arange(layers), np.arange(pieces), np.arange(places), indexing="ij")
    ids = got.ids[:, :, :top].ravel()
    return pd.DataFrame(
        {
            "position": position.ravel(),
            "piece": [got.pieces[one] for one in position.ravel()],
            "layer": layer.ravel(),
            "place": place.ravel() + 1,
            "token": [got.words[int(one)] for one in ids],
            "probability": got.probabilities[:, :, :top].ravel(),
        }
    ).sort_values(["position", "layer", "place"], ignore_index=True)
