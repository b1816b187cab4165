"""The facts themselves that a fine-tuned model kept, gained and lost, with both models' ranks and answers."""

from collections.abc import Sequence

import pandas as pd

from probing.facts.forgotten_transitions import PARTS
from probing.facts.runs_runs import PAIR, base_of, choose, nothing_common, pair_identities, pairs
from probing.facts.store_pairs_pair_queries import paired_facts
from probing.kernel.errors import StoreError
from probing.kernel.models.names import HEADS, canonical_heads
from probing.kernel.options import spelled
from probing.kernel.store.database import Database

#: Columns of each fact, see ``facts.store_pairs_pair_queries.paired_facts``.
_OF_FACT = (
    "part",
    "relation",
    "subject",
    "object",
    "base_rank",
    "rank",
    "base_answer",
    "answer",
    "fate",
    "prompt",
    "base_probability",
    "probability",
    "base_answer_probability",
    "answer_probability",
    "fact_id",
)
COLUMNS = (*PAIR, "k", *_OF_FACT)


def listed_facts(
    db: Database,
    pairs_of_runs: pd.DataFrame | Sequence[tuple[str, str]],
    ks: Sequence[int] = (1,),
    parts: Sequence[str] = PARTS,
) -> pd.DataFrame:
    """The facts that both runs of each pair were asked, by outcome at the last layer, as counted by ``transitions``."""
    tables = [
        paired_facts(db, pair.base_run_id, pair.run_id, k, parts).assign(**pair._asdict(), k=int(k))
        for pair in pair_identities(db, pairs_of_runs).itertuples(index=False)
        for k in ks
    ]
    return pd.concat(tables, ignore_index=True)[list(COLUMNS)] if tables else pd.DataFrame(columns=list(COLUMNS))


def named_pairs(
    db: Database,
    model: str,
    base: str | None = None,
    heads: Sequence[str] | None = None,
    probe_sets: Sequence[str] | None = None,
    templates: str = "default",
) -> pd.DataFrame:
    """The runs of a model with those of the model that it is compared with (None: its base), as ``facts.runs_runs.pairs``.

    ``heads`` None takes the first of ``HEADS`` by which single facts of both models are stored. Refused with a
    ``StoreError`` if the model has no base, the two have no such runs, or only counts of one are stored.
    """
    runs, heads = choose(db, templates=templates), canonical_heads(heads)
    model_runs = runs[runs["model"] == model]
    other = base or base_of(model_runs.iloc[0])
    if not other:
        raise StoreError(f"{model} has no stored base; name the model to compare with ({spelled('base')})")
    model_pairs = pairs(runs[runs["model"].isin([model, other])], (other,))
    model_pairs = model_pairs[model_pairs["model"] == model]
    for column, values in (("head", heads), ("probe_set", probe_sets)):
        model_pairs = model_pairs if values is None else model_pairs[model_pairs[column].isin(list(values))]
    if model_pairs.empty:
        raise StoreError(nothing_common(runs, model, other))
    by_fact = pair_identities(db, model_pairs)
    if heads is None and len(by_fact):
        by_fact = by_fact[by_fact["head"] == min(by_fact["head"], key=HEADS.index)]
    if by_fact.empty:
        raise StoreError(
            f"{model} and {other} cannot be compared fact by fact, because only counts of one are stored; probe it"
            " again with: python -m probing probe"
        )
    return by_fact
