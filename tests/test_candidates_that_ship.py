"""The shipped ranks of answers of several words: recounted, computed again by transformers, and as the documents have
them.
"""

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

import probing
from probing.facts.report_candidates import alike, by_layer, newest
from probing.facts.store_candidates import candidate_runs
from probing.kernel.models.hub import weights_id_of
from probing.kernel.provenance import stored_configuration
from probing.kernel.registry import REPOSITORY, read_registry
from probing.kernel.store.opening import open_database
from tests import written_facts
from tests.shipped import SNAPSHOT

MODELS = REPOSITORY / "data" / "models"


@pytest.fixture(scope="module")
def database():
    with open_database(SNAPSHOT) as db:
        yield db


@pytest.fixture(scope="module")
def ranked():
    """The rows of all shipped ranks with those of their facts and runs."""
    runs, facts, ranks = (
        pd.read_parquet(SNAPSHOT / f"candidate_{name}.parquet") for name in ("runs", "facts", "ranks")
    )
    return ranks.merge(facts, on=["run_id", "fact_id"]).merge(runs[["run_id", "model", "head", "measure"]], on="run_id")


def test_every_model_that_ships_has_ranks_and_reports_are_what_pandas_counts_of_them(database, ranked):
    runs = alike(newest(candidate_runs(database)))
    assert set(runs["model"]) == {entry.name for entry in read_registry().models if entry.shipped}
    table = by_layer(database, runs, ("micro",)).set_index(["run_id", "layer"])
    assert len(table) == 9 * len(runs) and (table["n"] == 483).all()
    for column, of_rank in (("value", ("rank", "tied")), ("alone", ("alone_rank", "alone_tied"))):
        rank, tied = (ranked[name] for name in of_rank)
        first = np.where(rank == (tied + 1) / 2, 1 / tied, 0)
        counted = ranked.assign(first=first).groupby(["run_id", "layer"])["first"].mean()
        assert counted.loc[table.index].tolist() == pytest.approx(table[column].tolist())


@pytest.mark.slow
def test_ranks_of_the_last_layer_are_those_of_a_loop_over_the_logits_of_transformers(ranked):
    model = AutoModelForMaskedLM.from_pretrained(MODELS / "nesia-mini", dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(MODELS / "nesia-mini")
    asked = ranked.query("model == 'nesia-mini' and head == 'logit_lens' and measure == 'independent' and layer == 8")
    (config,) = pd.read_parquet(SNAPSHOT / "candidate_runs.parquet").query("run_id in @asked.run_id")["config"]
    assert stored_configuration(config)["weights"] == weights_id_of(MODELS / "nesia-mini")
    for _, facts in asked.groupby("relation"):
        for row in facts.iloc[::25].itertuples():
            others = set(facts.loc[facts["prompt"] == row.prompt, "object"]) - {row.object}
            scores = {}
            for answer in sorted(set(facts["object"]) - others):
                ids = tokenizer(answer, add_special_tokens=False)["input_ids"]
                row_ids = tokenizer(row.prompt.replace("[MASK]", "[MASK]" * len(ids)), return_tensors="pt")["input_ids"]
                with torch.inference_mode():
                    logits = model(row_ids).logits[0].double().log_softmax(-1)
                at = (row_ids[0] == tokenizer.mask_token_id).nonzero()[:, 0]
                scores[answer] = logits[at, torch.tensor(ids)].sum().item()
            assert len(scores) == row.candidates and scores[row.object] == pytest.approx(row.log_likelihood, abs=1e-4)
            own = np.array(list(scores.values())) - scores[row.object]
            assert (own > 1e-4).sum() + 1 <= row.rank <= (own > -1e-4).sum()


def test_ranks_of_every_layer_are_those_of_a_notebook(ranked):
    for measure, facts in ranked.query("model == 'nesia-mini' and head == 'logit_lens'").groupby("measure"):
        facts = facts[facts["relation"] == "P36-inverse"]
        row = facts.iloc[0]
        others = set(facts.loc[facts["prompt"] == row["prompt"], "object"]) - {row["object"]}
        candidates = sorted(set(facts["object"]) - others)
        table = probing.load("nesia-mini", "logit_lens", device="cpu").rank(row["prompt"], candidates, measure)
        found = table[table["candidate"] == row["object"]]
        stored = facts[facts["fact_id"] == row["fact_id"]].sort_values("layer")
        assert found["rank"].tolist() == stored["rank"].tolist()
        assert found["log_likelihood"].tolist() == pytest.approx(stored["log_likelihood"].tolist(), abs=1e-4)


def test_the_documents_have_the_table_of_these_runs_and_say_how_length_decides(database, ranked):
    text = written_facts.DOCS.read_text(encoding="utf-8")
    assert written_facts.with_tables(text, database) == text, "make docs writes it again"
    last = ranked.query("model == 'nesia-mini' and head == 'logit_lens' and measure == 'independent' and layer == 8")
    short = last["best"].map(last.set_index("object")["pieces"].groupby(level=0).first()) == 2
    assert short.mean() > 0.5 and (last.loc[last["rank"] == 1, "pieces"] == 2).mean() > 0.5
