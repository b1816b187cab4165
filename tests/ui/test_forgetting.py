"""The table of forgotten relations by model."""

import pandas as pd

from probing.core.knowledge.forgetting import DEFINITIONS as CHOICES
from probing.ui.relations.relation_tables import DEFINITIONS, by_model


def counted() -> pd.DataFrame:
    rows = [
        {"model": model, "k": k, "definition": definition, "relations": 41, "forgotten": number, "share": number / 41}
        for model, numbers in (("tuned", (18, 16, 16)), ("base", (3, 1, 3)))
        for definition in DEFINITIONS
        for k, number in zip((1, 10, 100), numbers, strict=True)
    ]
    return pd.DataFrame(rows)


def test_every_model_has_a_row_with_share_and_number_for_every_k():
    table = by_model(counted(), "strict", ["base", "tuned"])
    assert list(table["model"]) == ["base", "tuned"]
    assert table.loc[1, ["P@1", "n P@1", "P@100", "n P@100", "relations"]].tolist() == [18 / 41, 18, 16 / 41, 16, 41]


def test_a_rank_that_is_not_counted_is_empty():
    table = by_model(counted().query("k == 1"), "caption", ["base", "tuned"])
    assert table["P@10"].isna().all()


def test_every_definition_that_can_be_chosen_is_explained():
    assert set(DEFINITIONS) == set(CHOICES)
