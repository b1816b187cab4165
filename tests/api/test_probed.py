"""Facts that are probed in a notebook: stored like the command's, equal to them, and read back as tables and curves."""

import io
from contextlib import suppress
from functools import partial

import numpy as np
import pandas as pd
import pytest
from transformers import AutoModelForMaskedLM, AutoTokenizer

import probing
from probing.facts.sources import read_facts
from probing.kernel.errors import ModelError, OptionError
from probing.kernel.fact import shipped_relations
from probing.kernel.files import FACTS_FOLDER
from probing.kernel.store.parquet import read_table


@pytest.fixture()
def lens(tiny_model, cache):
    """The tiny model, read by the logit lens."""
    return probing.load(tiny_model, "logit_lens", device="cpu")


def rows_of(facts_file):
    """The facts of the file as a table."""
    return pd.read_json(facts_file, lines=True)


def stored(folder, table):
    """The rows of all files of a table."""
    return pd.concat(
        [read_table(path, table).to_pandas() for path in sorted(folder.glob(f"{table}-*.parquet"))], ignore_index=True
    )


def test_a_file_of_facts_gives_the_run_of_the_command(lens, tiny_model, facts_file, cache, run):
    found = lens.probe(facts_file, progress=False)
    made = {path.name: path.stat().st_mtime_ns for path in (cache / "runs").glob("*.parquet")}
    run("probe", "--model", tiny_model, "--facts", facts_file, "--head", "logit_lens", "--device", "cpu")
    assert {path.name: path.stat().st_mtime_ns for path in (cache / "runs").glob("*.parquet")} == made
    assert found.run_ids == stored(cache / "runs", "runs")["run_id"].tolist()
    predictions = stored(cache / "runs", "predictions")
    merged = found.table.merge(predictions, on=["fact_id", "layer"], validate="one_to_one")
    assert len(merged) == len(predictions) == 4 * 3
    assert (merged["rank"] == merged["gold_rank"]).all() and (merged["answer_rank_x"] == merged["answer_rank_y"]).all()
    np.testing.assert_allclose(merged["probability"], np.exp(merged["gold_logp"].astype(float)))
    first = merged["top_ids"].map(lambda ids: lens.encoder.tokenizer.convert_ids_to_tokens([int(ids[0])])[0])
    assert (merged["top_token"] == first).all()
    assert ((merged["rank"] == 1) == (merged["top_token"] == merged["object"].str.lower())).all()


def test_facts_of_a_shipped_set_have_the_ranks_that_ship(nesia, tmp_path, cache, repo_root):
    whole = read_facts("questions", shipped_relations())[0].facts
    text = "".join(pd.DataFrame([vars(fact) for fact in whole[:40]]).to_json(orient="records", lines=True))
    (tmp_path / "questions.jsonl").write_text(text)
    found = nesia.probe(tmp_path / "questions.jsonl", called="some-questions", progress=False)
    everything = nesia.probe("questions", out=tmp_path / "out", progress=False)
    keys = ["subject", "relation", "object", "prompt", "layer"]
    both = found.table.merge(everything.table, on=keys, validate="one_to_one")
    assert len(both) == len(found.table) > 9 * 10
    assert (both["rank_x"] == both["rank_y"]).all()
    snapshot = repo_root / "data" / "snapshot"
    runs = stored(snapshot, "runs")
    mine = runs[
        (runs["model"] == "nesia-mini")
        & (runs["head"] == nesia.head)
        & (runs["probe_set"] == "questions")
        & (runs["seed"] == 0)
    ]
    ranks = read_table(snapshot / f"predictions-{mine['run_id'].iloc[0]}.parquet", "predictions").to_pandas()
    shipped = everything.table.merge(ranks, on=["fact_id", "layer"], validate="one_to_one")
    # Other processors sum in another order, so that two tokens of nearly the same probability may change places.
    assert (shipped["rank"] == shipped["gold_rank"]).mean() > 0.99
    assert (tmp_path / "out").is_dir() and FACTS_FOLDER.is_dir()


def test_the_second_call_asks_nothing_and_a_table_is_a_list_of_dicts(lens, facts_file, cache, monkeypatch):
    table = rows_of(facts_file)
    first = lens.probe(table, progress=False)
    monkeypatch.setattr("probing.facts.probe.run_job", lambda *_: pytest.fail("asked again"))
    second = lens.probe(table.to_dict("records"), progress=False)
    pd.testing.assert_frame_equal(first.table, second.table)
    pd.testing.assert_frame_equal(
        first.table, lens.probe((row for row in table.to_dict("records")), progress=False).table
    )
    assert set(first.table["probe_set"]) == {"own-facts"}


def test_facts_that_cannot_be_asked_are_counted_by_reason(lens, facts_file, cache):
    found = lens.probe(rows_of(facts_file), called="capitals", progress=False)
    reasons = ["not exactly one mask", "object is unknown to the vocabulary"]
    assert found.left_out.values.tolist() == [["capitals", reason, 1] for reason in reasons]
    assert repr(found) == "Probed('tiny-bert', head='logit_lens', capitals: 4 facts, 2 left out)"
    listed = found.left_out_facts
    assert listed["prompt"].tolist() == ["The [MASK] is [MASK].", "The city is [MASK]."]
    assert listed["reason"].tolist() == reasons and set(listed["probe_set"]) == {"capitals"}
    none = lens.probe(
        [{"subject": "x", "relation": "r", "object": "Zanzibar", "prompt": "The city is [MASK]."}], progress=False
    )
    assert none.run_ids == [] and none.table.empty and list(none.table.columns) == list(found.table.columns)
    assert none.curve().empty and none.total().empty and none.left_out["n"].tolist() == [1]
    assert none._repr_html_() and not none.figure().data


def test_the_curve_has_the_numbers_of_the_report_and_of_the_table(lens, facts_file, cache, run):
    found = lens.probe(facts_file, progress=False)
    printed = run("report", "precision", "--k", 10, "--average", "micro", "--csv").stdout
    report = pd.read_csv(io.StringIO(printed))
    curve = found.curve(k=10, average="micro")
    pd.testing.assert_frame_equal(curve, report[list(curve.columns)], check_dtype=False)
    assert list(curve.columns)[:9] == ["model", "head", "seed", "probe_set", "k", "average", "layer", "n", "value"]
    assert np.allclose(curve["value"], (found.table["rank"] <= 10).groupby(found.table["layer"]).mean())
    total = pd.read_csv(io.StringIO(run("report", "total", "--k", 10, "--average", "micro", "--csv").stdout))
    assert found.total(k=10, average="micro")["total"].tolist() == total["total"].tolist()
    for more in ({"k": 7}, {"average": "median"}, {"k": True}, {"k": 1.0}, {"k": None}):
        with pytest.raises(OptionError, match="expected"):
            found.curve(**more)


def test_a_model_in_memory_knows_what_its_folder_knows_and_is_stored_under_its_name(
    lens, tiny_model, facts_file, cache
):
    model, tokenizer = AutoModelForMaskedLM.from_pretrained(tiny_model), AutoTokenizer.from_pretrained(tiny_model)
    mine = probing.load(model, "logit_lens", tokenizer=tokenizer, name="my-bert", device="cpu")
    numbers = ["subject", "layer", "rank", "answer_rank", "probability", "top_token"]
    pd.testing.assert_frame_equal(
        mine.probe(facts_file, progress=False).table[numbers], lens.probe(facts_file, progress=False).table[numbers]
    )
    assert set(stored(cache / "runs", "runs")["model"]) == {"my-bert", "tiny-bert"}
    model.bert.embeddings.word_embeddings.weight.data.add_(0.1)
    other = probing.load(model, "logit_lens", tokenizer=tokenizer, name="my-bert", device="cpu")
    with pytest.raises(ModelError, match="give this model another name with name=, or delete"):
        other.probe(facts_file, progress=False)


def test_a_base_that_is_named_is_the_base_in_the_results(lens, tiny_model, facts_file, cache):
    model, tokenizer = AutoModelForMaskedLM.from_pretrained(tiny_model), AutoTokenizer.from_pretrained(tiny_model)
    model.bert.encoder.layer[0].output.dense.weight.data.add_(0.01)
    tuned = probing.load(model, "logit_lens", tokenizer=tokenizer, base=str(tiny_model), name="tuned", device="cpu")
    tuned.probe(facts_file, progress=False)
    runs = stored(cache / "runs", "runs")
    assert runs.loc[runs["model"] == "tuned", "base"].tolist() == ["tiny-bert"]
    assert (stored(cache / "runs", "weight_drift")["drift"] > 0).any()


def test_whatever_is_given_to_a_model_is_used_or_refused_in_words(lens, tiny_model, facts_file, odd):
    rows = rows_of(facts_file).head(2)
    found = lens.probe(rows, progress=False)
    answer = lens.ask("It is [MASK].", top=1)
    calls = [
        *(partial(found.curve, **{name: odd}) for name in ("k", "average")),
        *(partial(found.total, **{name: odd}) for name in ("k", "average")),
        *(partial(found.figure, **{name: odd}) for name in ("k", "average", "dark")),
        partial(answer.figure, dark=odd),
        *(
            partial(lens.ask, **({"sentence": "It is [MASK]."} | {name: odd}))
            for name in ("sentence", "top", "watch", "mask")
        ),
        *(
            partial(lens.probe, **({"facts": rows, "progress": False} | {name: odd}))
            for name in ("facts", "called", "templates", "out")
        ),
        *(
            partial(lens.edges, **({"sentence": "It is red", "spans": [(0, 1)]} | {name: odd}))
            for name in ("sentence", "spans", "tasks")
        ),
        *(partial(lens.sentence, **({"text": "It is red"} | {name: odd})) for name in ("text", "second", "tasks")),
        *(
            partial(probing.load, **({"model": tiny_model} | {name: odd}))
            for name in ("model", "head", "base", "device", "name")
        ),
    ]
    for call in calls:
        with suppress(probing.ProbingError):
            call()
