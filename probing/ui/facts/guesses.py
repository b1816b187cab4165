"""The results of guessing for one fact: the majority answer of its relation, and the word's rank for a swapped subject."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from probing.core.stats.baselines import may_be_shown
from probing.store.knowledge.one_fact import commonest_answer
from probing.ui.frame.page import View
from probing.ui.widgets.markdown import Markdown, filled, joined


def guess(view: View, fact_id: str, run_id: str) -> pd.DataFrame:
    """The most frequent answer of the fact's relation in the run; see ``commonest_answer``."""
    return view.read(commonest_answer, run_id, fact_id)


def in_words(fact: Mapping[str, Any], rows: pd.DataFrame, found: pd.DataFrame) -> Markdown:
    """One sentence on the majority answer and one on the swapped subject, if they are stored.

    Args:
        fact: ``object`` and ``label``, its relation.
        rows: the fact's predictions by layer in one run: ``layer, gold_rank, other_rank``.
        found: the result of ``guess``.
    """
    return joined(" ", [one for one in (_guessed(fact, found), _swapped(fact, rows)) if one])


def _guessed(fact: Mapping[str, Any], found: pd.DataFrame) -> Markdown:
    """A sentence on the majority answer of the fact's relation; empty if the relation has too few facts for one."""
    if found.empty or not may_be_shown(found["of"].iloc[0]):
        return Markdown("")
    most = found.iloc[0]
    if most["object"] == fact["object"]:
        return filled("It is also the majority answer of “{label}”: always giving it would be right here.", label=fact["label"])
    return filled("The majority answer of “{label}” is {majority}.", label=fact["label"], majority=most["object"])


def _swapped(fact: Mapping[str, Any], rows: pd.DataFrame) -> Markdown:
    """A sentence on the word's rank with a swapped subject, at the last layer that knows the word or, if none does, at the last layer."""
    inner = rows[rows["layer"] >= 1]
    ranked = (inner if len(inner) else rows).set_index("layer")
    last, first = int(ranked.index.max()), [int(layer) for layer in ranked.index[ranked["gold_rank"] == 1]]
    layer = max(first, default=last)
    rank = ranked.loc[layer, "other_rank"]
    if pd.isna(rank):
        return Markdown("")
    return filled(
        "Asked about a swapped subject, {layer} gives {object} rank {rank:,}.",
        layer="the last layer" if layer == last else f"layer {layer}",
        object=fact["object"],
        rank=int(rank),
    )
