"""Questions with several right answers: right if any of them comes first."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd

from probing.facts.corpus import share_of
from probing.facts.runs import NAMES, identities
from probing.facts.store_facts import first_words
from probing.kernel.columns import Columns
from probing.kernel.stats.intervals import wilson
from probing.kernel.store.database import Database

COLUMNS = Columns(NAMES, "relation layer n value low high constant swapped swapped_n")


def right_any(db: Database, run_ids: Sequence[str]) -> pd.DataFrame:
    """One count per question (``n``) of the relations most of whose facts share theirs with another fact, by layer.

    ``value``: some recorded answer comes first, with Wilson's interval. ``constant``: the one answer that is right for
    most questions. ``swapped``: asked about another subject, with which no answer is shared, one of the own answers
    comes first; ``swapped_n`` questions have such a subject. Needs runs that are stored fact by fact.
    """
    runs = identities(db, run_ids, by_fact=True)
    rows = []
    for run in runs.to_dict("records"):
        for relation, facts in first_words(db, run["run_id"]).groupby("relation"):
            answers = facts[["prompt", "answer"]].drop_duplicates().groupby("prompt")["answer"].agg(set).to_dict()
            if 2 * sum(len(some) for some in answers.values() if len(some) > 1) > sum(map(len, answers.values())):
                rows += [{**run, "relation": relation, **row} for row in _by_layer(facts, answers)]
    return pd.DataFrame(rows, columns=["run_id", *COLUMNS])


def _by_layer(facts: pd.DataFrame, answers: dict[str, set[str]]) -> list[dict]:
    """The numbers of one relation."""
    n, others = len(answers), _others(answers)
    constant = max(Counter(one for some in answers.values() for one in some).values()) / n
    rows = []
    for layer, at_layer in facts.groupby("layer"):
        hits = int(at_layer.groupby("prompt")["hit"].any().sum())
        tops = at_layer.groupby("prompt")["top"].first()
        swapped = [tops[other] in answers[prompt] for prompt, other in others.items()]
        low, high = wilson(hits, n)
        rows.append(
            {
                "layer": int(layer),  # type: ignore[call-overload]  # pandas: any hashable
                "n": n,
                "value": hits / n,
                "low": low,
                "high": high,
                "constant": constant,
                "swapped": float(np.mean(swapped)) if swapped else np.nan,
                "swapped_n": len(swapped),
            }
        )
    return rows


def _others(answers: dict[str, set[str]]) -> dict[str, str]:
    """Question -> the next one in the order of their hashes that shares no answer with it, around to the first."""
    order = sorted(answers, key=lambda prompt: share_of("swapped", prompt))
    found: dict[str, str] = {}
    for place, prompt in enumerate(order):
        rest = (other for other in (*order[place + 1 :], *order[:place]) if answers[other].isdisjoint(answers[prompt]))
        if other := next(rest, None):
            found[prompt] = other
    return found
