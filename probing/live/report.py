"""The predictions of every layer for one sentence, as tables."""

from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd

from probing.kernel.questions import Answer, EveryToken, WatchedToken


def tokens_of(got: Answer) -> pd.DataFrame:
    """Long form: ``model, layer, place, token, probability, framed``; ``framed`` marks tokens that are tracked."""
    rows = [
        (
            got.model,
            layer.layer,
            place,
            token.token,
            token.probability,
            token.ids in {word.ids for word in layer.watched},
        )
        for layer in got.layers
        for place, token in enumerate(layer.tokens, 1)
    ]
    return pd.DataFrame(rows, columns=["model", "layer", "place", "token", "probability", "framed"])


def watched_of(got: Answer) -> pd.DataFrame:
    """Long form: ``model, word, layer, rank, probability``."""
    return pd.DataFrame(
        [
            (got.model, token.token, layer.layer, token.rank, token.probability)
            for layer in got.layers
            for token in layer.watched
        ],
        columns=["model", "word", "layer", "rank", "probability"],
    )


def tracked_ranks(got: Answer) -> dict[str, Any]:
    """``ranks`` by layer and ``ranked``, the first word that is tracked, for ``token_grid``; empty if none is."""
    if not got.layers or not got.layers[-1].watched:
        return {}
    return {
        "ranks": {layer.layer: layer.watched[0].rank for layer in got.layers},
        "ranked": got.layers[-1].watched[0].token,
    }


def followed(got: Answer, word: str) -> dict[int, WatchedToken]:
    """Layer -> what it gives a followed word; empty if the model does not follow it."""
    return {layer.layer: one for layer in got.layers for one in layer.watched if one.token == word}


def first_layers(got: Answer, word: str) -> list[int]:
    """The layers after the embeddings that give a word first: the followed one, else the one that is written so."""
    ranks = {layer: one.rank for layer, one in followed(got, word).items()}
    ranks = ranks or {layer.layer: 1 for layer in got.layers if layer.tokens[0].token == word}
    return [layer for layer, rank in ranks.items() if layer and rank == 1]


def best_known(got: Answer, right: Collection[str]) -> str:
    """Of the right words that are followed the one with the best rank at the last layer; ``""`` without any."""
    ranks = {one.token: one.rank for one in got.layers[-1].watched if one.token in right}
    return min(ranks, key=ranks.__getitem__, default="")


def lines_of(got: Answer) -> pd.DataFrame:
    """Long form: ``model, word, layer, rank, probability, entropy``, one row per followed word and layer."""
    return watched_of(got).merge(entropy_of(got), on=["model", "layer"])


def entropy_of(got: Answer) -> pd.DataFrame:
    """Long form: ``model, layer, entropy`` in nats."""
    return pd.DataFrame(
        [(got.model, layer.layer, layer.entropy) for layer in got.layers], columns=["model", "layer", "entropy"]
    )


def every_token_of(got: EveryToken, top: int = 1) -> pd.DataFrame:
    """One row per token of the sentence, layer and place (from 1, up to ``top``), with the token at the place."""
    layers, pieces, places = got.ids[:, :, :top].shape
    layer, position, place = np.meshgrid(np.arange(layers), np.arange(pieces), np.arange(places), indexing="ij")
    ids = got.ids[:, :, :top].ravel()
    return pd.DataFrame(
        {
            "position": position.ravel(),
            "piece": [got.pieces[piece] for piece in position.ravel()],
            "layer": layer.ravel(),
            "place": place.ravel() + 1,
            "token": [got.words[int(token)] for token in ids],
            "probability": got.probabilities[:, :, :top].ravel(),
        }
    ).sort_values(["position", "layer", "place"], ignore_index=True)
