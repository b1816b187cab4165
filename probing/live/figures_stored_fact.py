"""One fact in the tables of its figures: the predictions of each layer, and the runs whose ranks are compared."""

import math
from collections.abc import Sequence

import pandas as pd

#: More lines than this cannot be distinguished.
MAX_LINES = 8


def ranks_by_layer(rows: pd.DataFrame) -> dict[int, int]:
    """Layer -> rank of the right word, of one run's rows from ``facts.store_facts.fact_predictions``."""
    return dict(zip(rows["layer"].astype(int), rows["gold_rank"].astype(int), strict=True))


def token_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """The lists of one run in long form: layer, place, token, probability, framed (it has the right answer's rank).

    ``rows`` of ``facts.store_facts.fact_predictions``.
    """
    return pd.DataFrame(
        [
            (int(row.layer), place, token, math.exp(logp), place == row.gold_rank)
            for row in rows.itertuples()
            for place, (token, logp) in enumerate(zip(row.tokens, row.top_logp, strict=True), 1)
        ],
        columns=["layer", "place", "token", "probability", "framed"],
    )


def compared_runs(runs: pd.DataFrame, run_ids: Sequence[str], head: str, models: Sequence[str]) -> pd.DataFrame:
    """The runs of one fact that are drawn together: of several models one head each, of one all its heads.

    ``run_ids``: ids of the runs with that fact; ``models`` in the order of the lines, the page's own first.
    """
    there = runs[runs["run_id"].isin(list(run_ids))]
    alike = there[there["head"] == head]
    there = alike if alike["model"].nunique() > 1 else there
    first = list(dict.fromkeys(models))
    places = [first.index(model) if model in first else len(first) for model in there["model"]]
    ordered = there.assign(_first=places, _other=there["head"] != head).sort_values(["_first", "_other"], kind="stable")
    return ordered.drop(columns=["_first", "_other"]).head(MAX_LINES)


def rank_table(runs: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Where the right answer of one fact stands in the ranking of every layer, in the order of ``runs``.

    Columns of the result: model, head, layer, gold_rank, answer_rank (among the relation's answers), other_rank (with a
    swapped subject), gold_logp, probability; ranks count from 1, what is not stored is empty.
    """
    layers = rows[["run_id", "layer", "gold_rank", "answer_rank", "other_rank", "gold_logp"]]
    layers = layers.assign(probability=[math.exp(value) for value in layers["gold_logp"]])
    return runs[["run_id", "model", "head"]].merge(layers, on="run_id").drop(columns="run_id")
