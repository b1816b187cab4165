"""The shipped ranks of answers of several words: recounted, and computed again by transformers."""

import numpy as np
import pandas as pd
import pytest

from probing.facts.report_candidates import alike, by_layer, newest
from probing.facts.store_candidates import candidate_runs
from probing.kernel.registry import REPOSITORY, read_registry
from probing.kernel.store.opening import open_database
from tests.shipped import SNAPSHOT

BASE = "model == 'nesia-mini' and head == 'logit_lens' and measure == 'independent' and layer == 8"


@pytest.fixture(scope="module")
def ranked():
    ranks, facts, runs = (pd.read_parquet(SNAPSHOT / f"candidate_{one}.parquet") for one in ("ranks", "facts", "runs"))
    return ranks.merge(facts, on=["run_id", "fact_id"]).merge(runs[["run_id", "model", "head", "measure"]], on="run_id")


def test_every_model_has_ranks_and_reports_and_documents_are_what_pandas_counts_of_them(ranked):
    text = (REPOSITORY / "docs" / "facts.md").read_text(encoding="utf-8")
    with open_database(SNAPSHOT) as db:
        runs = alike(newest(candidate_runs(db)))
        table = by_layer(db, runs, ("micro",)).set_index(["run_id", "layer"])
    assert set(runs["model"]) == {one.name for one in read_registry().models if one.shipped}
    assert set(table["n"]) == {484}
    for column, prefix in (("value", ""), ("alone", "alone_"), ("pmi", "pmi_")):
        rank, tied = ranked[f"{prefix}rank"], ranked[f"{prefix}tied"]
        first = ranked.assign(first=np.where(rank == (tied + 1) / 2, 1 / tied, 0))
        counted = first.groupby(["run_id", "layer"])["first"].mean()
        assert counted.loc[table.index].tolist() == pytest.approx(table[column].tolist())
    last = ranked.query(BASE)
    asked = last.groupby(["relation", "prompt"]).agg(right=("object", set), best=("best", list))
    blind = {}
    for fact in last[last["pieces"] == 2].itertuples():
        others = asked.loc[fact.relation]
        firsts = others.loc[[fact.object not in right for right in others["right"]], "best"].explode()
        blind[fact.fact_id] = (firsts == fact.object).mean()
    right = 100 * (last.loc[last["pieces"] == 2, "rank"] == 1).mean()
    assert f"{right:.1f} % are right by `independent`, and {100 * np.mean(list(blind.values())):.1f} % with" in text
    best = last["best"].map(last.drop_duplicates("object").set_index("object")["pieces"])
    assert (best == 2).mean() > 0.5 < (last.loc[last["rank"] == 1, "pieces"] == 2).mean(), "as docs/facts.md says"


@pytest.mark.slow
def test_ranks_of_the_last_layer_are_those_of_a_loop_over_the_logits_of_transformers(ranked):
    import torch
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    folder = REPOSITORY / "data" / "models" / "nesia-mini"
    model = AutoModelForMaskedLM.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for _, facts in ranked.query(BASE).groupby("relation"):
        for fact in facts.iloc[::25].itertuples():
            others, scores = set(facts.loc[facts["prompt"] == fact.prompt, "object"]) - {fact.object}, {}
            for answer in set(facts["object"]) - others:
                pieces = tokenizer(answer, add_special_tokens=False)["input_ids"]
                row = tokenizer(fact.prompt.replace("[MASK]", "[MASK]" * len(pieces)), return_tensors="pt")["input_ids"]
                with torch.inference_mode():
                    found = model(row).logits[row == tokenizer.mask_token_id].double().log_softmax(-1)
                scores[answer] = found[range(len(pieces)), pieces].sum().item()
            better = np.array(list(scores.values())) - scores[fact.object]
            assert (better > 1e-4).sum() + 1 <= fact.rank <= (better > -1e-4).sum() <= len(scores) == fact.candidates
            assert scores[fact.object] == pytest.approx(fact.log_likelihood, abs=1e-4)
