"""Attention, repeated words and the probes' verdicts of one sentence, as tables."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from probing.sentences.report_accuracy import best_predicting

if TYPE_CHECKING:
    from probing.changes.passes import OneModel, SentenceAttention

VERDICTS = [
    "model",
    "task",
    "title",
    "pooling",
    "layer",
    "label",
    "number",
    "p",
    "margin",
    "accuracy",
    "majority",
    "classes",
    "chance",
]


def models_of(attention: "SentenceAttention") -> "list[OneModel]":
    """The models whose attention it is, the base first."""
    return [of_model for of_model in (attention.before, attention.own) if of_model is not None]


def attention_of(of_model: "OneModel", token: int, head: int | None) -> np.ndarray:
    """(layers, tokens) what a token attends to, by one head or by the mean of all."""
    shares: np.ndarray = (of_model.maps.mean(1) if head is None else of_model.maps[:, head])[:, token]
    return shares


def attention_rows(attention: "SentenceAttention", token: int, head: int | None) -> pd.DataFrame:
    """``model, layer, place, token, share``: what a token attends to."""
    rows = [
        (of_model.name, layer, place, target, float(share))
        for of_model in models_of(attention)
        for layer, shares in enumerate(attention_of(of_model, token, head), 1)
        for place, (target, share) in enumerate(zip(attention.tokens, shares, strict=True), 1)
    ]
    return pd.DataFrame(rows, columns=["model", "layer", "place", "token", "share"])


def attention_values(attention: "SentenceAttention", token: int, head: int | None) -> pd.DataFrame:
    """``model, measure, layer, value``: entropy, shares and, of two models, distances."""
    rows = [
        (model, measure, layer, float(value))
        for measure, model, values in attention.by_layer(token, head)
        for layer, value in enumerate(values, start=1)
    ]
    return pd.DataFrame(rows, columns=["model", "measure", "layer", "value"])


def similarity_rows(attention: "SentenceAttention") -> pd.DataFrame:
    """``model, word, times, layer, similarity`` of the words that occur more than once."""
    names = [of_model.name for of_model in models_of(attention)]
    rows = [
        (model, word.word, len(word.places), layer, float(value))
        for word in attention.repeated
        for model, similarity in zip(names, (word.before, word.similarity)[-len(names) :], strict=True)
        for layer, value in enumerate(similarity if similarity is not None else ())
    ]
    return pd.DataFrame(rows, columns=["model", "word", "times", "layer", "similarity"])


def best_verdicts(
    tables: Mapping[str, pd.DataFrame],
    changed: Mapping[str, pd.DataFrame],
    stored: pd.DataFrame,
    names: Callable[[str], str],
) -> pd.DataFrame:
    """What the best probe of each model and property says, next to its yardstick; one row per property and model.

    Of a changed sentence (``changed``, in the same rows as ``found``, or empty) also what the probe says then, and how
    many of the probes that are better than the commonest label change theirs.
    """
    rows = []
    for model, table in tables.items():
        for task, of_task in table.groupby("task", sort=False):
            at = best_predicting(of_task, stored[(stored["model"] == model) & (stored["task"] == task)])
            best = of_task.loc[at]
            row = {
                "property": best["title"],
                "model": names(model),
                "says": best["label"],
                "p": best["p"],
                "right in tests": best["accuracy"],
                "commonest label": best["majority"],
                "no better than that": "yes" if best["chance"] else "",
                "layer": int(best["layer"]),
                "read from": best["pooling"],
            }
            if model in changed:
                other = changed[model].loc[of_task.index]
                counts = ~of_task["chance"].astype(bool)
                turned = int(((of_task["number"] != other["number"]) & counts).sum())
                row |= {"swapped: says": other.loc[at, "label"], "swapped: p": other.loc[at, "p"]}
                row |= {"probes that change": f"{turned} of {int(counts.sum())}"}
            rows.append(row)
    return pd.DataFrame(rows)


def swapped(words: Sequence[str], place: int) -> str:
    """The sentence in which a word, from 1, changes places with the next one; ``""`` if there is none."""
    if not 0 < place < len(words):
        return ""
    return " ".join((*words[: place - 1], words[place], words[place - 1], *words[place + 1 :]))
