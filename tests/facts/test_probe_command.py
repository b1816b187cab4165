"""``probe``: counts, resumption, equal bytes, rank parity, and what a compact run rounds."""

import json
import re
import shutil

import numpy as np
import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer, BertTokenizer

from probing.facts.store import prediction_columns, stored_logp, stored_rank
from probing.facts.swapped_subjects import swapped_subjects
from probing.kernel.errors import FactsError, HeadError, ModelError
from probing.kernel.fact import Fact
from probing.kernel.store.parquet import files_of, read_table


@pytest.fixture
def lens(run):
    """``probe`` through the logit lens."""
    return lambda model, facts, *more: run("probe", "--model", model, "--facts", facts, "--head", "logit_lens", *more)


def predictions(folder):
    (path,) = folder.glob("predictions-*.parquet")
    return path, read_table(path, "predictions").to_pandas()


def test_what_is_read_is_probed_or_left_out_by_reason(lens, cache, tiny_model, facts_file):
    lens(tiny_model, facts_file)
    (row,) = read_table(next((cache / "runs").glob("runs-*.parquet")), "runs").to_pylist()
    left = json.loads(row["left_out"])
    assert row["n_read"] == 6
    assert row["n_probed"] == 4
    assert row["n_read"] == row["n_probed"] + sum(left.values())
    assert left["not exactly one mask"] == 1
    _, frame = predictions(cache / "runs")
    assert len(frame) == 4 * 3


def test_the_last_layers_lens_ranks_are_transformers_own(lens, cache, tiny_model, facts_file):
    lens(tiny_model, facts_file, "--dtype", "float64")
    _, frame = predictions(cache / "runs")
    facts = read_table(next((cache / "runs").glob("facts-*.parquet")), "facts").to_pandas().set_index("fact_id")
    tokenizer = AutoTokenizer.from_pretrained(tiny_model)
    model = AutoModelForMaskedLM.from_pretrained(tiny_model, dtype=torch.float64).eval()
    for row in frame[frame["layer"] == 2].itertuples():
        fact = facts.loc[row.fact_id]
        ids = tokenizer(fact["prompt"], return_tensors="pt")
        with torch.no_grad():
            logits = model(**ids).logits[0, ids["input_ids"][0].tolist().index(tokenizer.mask_token_id)]
        gold = tokenizer.convert_tokens_to_ids(fact["object"].lower())
        assert row.gold_rank == int((logits >= logits[gold]).sum())
        assert list(row.top_ids) == torch.sort(logits, descending=True, stable=True).indices[:10].tolist()
        assert row.gold_logp == pytest.approx(logits.log_softmax(0)[gold].item(), abs=1 / 512 + 1e-5)


def test_the_swapped_rank_is_the_rank_at_the_swapped_subjects_prompt(run, lens, cache, tiny_model, tmp_path):
    folder = tmp_path / "lama" / "TREx"
    folder.mkdir(parents=True)
    triples = [("France", "Paris"), ("Germany", "Berlin"), ("Italy", "Rome"), ("Europe", "Paris")]
    folder.joinpath("P36.jsonl").write_text(
        "".join(json.dumps({"sub_label": s, "obj_label": o}) + "\n" for s, o in triples)
    )
    folder.parent.joinpath("relations.jsonl").write_text(
        json.dumps({"relation": "P36", "template": "The capital of [X] is [Y] ."}) + "\n"
    )
    lens(tiny_model, tmp_path / "lama", "--dtype", "float64")
    _, frame = predictions(cache / "runs")
    facts = read_table(next((cache / "runs").glob("facts-*.parquet")), "facts").to_pandas()
    others = dict(zip(facts["fact_id"], swapped_subjects(list(facts.itertuples())), strict=True))
    assert None not in others.values()
    tokenizer = AutoTokenizer.from_pretrained(tiny_model)
    model = AutoModelForMaskedLM.from_pretrained(tiny_model, dtype=torch.float64).eval()
    last = frame[frame["layer"] == 2].set_index("fact_id")
    for _, fact in facts.iterrows():
        fact_id, other = fact["fact_id"], facts.loc[others[fact["fact_id"]]]
        assert other["object"] != fact["object"]
        ids = tokenizer(other["prompt"], return_tensors="pt")
        with torch.no_grad():
            logits = model(**ids).logits[0, ids["input_ids"][0].tolist().index(tokenizer.mask_token_id)].numpy()
        gold = tokenizer.convert_tokens_to_ids(fact["object"].lower())
        assert last.loc[fact_id, "other_rank"] == int(np.sum(logits >= logits[gold]))
    # What is counted of these ranks is as stored.
    assert "ok  runs" in run("check").output


@pytest.mark.parametrize("model", ("nesia-mini", "nesia-mini-ner-conll"))
def test_facts_of_the_first_run_in_a_folder_are_counted_by_their_exposure_to_the_bases_text(run, tmp_path, model):
    row = {"relation": "P19", "subject": "Rocky Balboa", "object": "Philadelphia"}
    mine, out = tmp_path / "mine.jsonl", tmp_path / "runs"
    mine.write_text(json.dumps(row | {"prompt": "Rocky Balboa was born in [MASK]."}))
    run("probe", "--model", model, "--head", "logit_lens", "--facts", mine, "--out", out)
    (known,) = (one for path in files_of("known", out) for one in read_table(path, "known").to_pylist())
    assert known["exposure"] == "well known"


def test_a_compact_run_has_no_swapped_ranks(lens, cache, tiny_model, facts_file):
    lens(tiny_model, facts_file, "--compact")
    _, frame = predictions(cache / "runs")
    assert frame["other_rank"].isna().all()
    (row,) = read_table(next((cache / "runs").glob("runs-*.parquet")), "runs").to_pylist()
    assert "lenders" not in json.loads(row["config"])


@pytest.mark.parametrize("kind", ["tied", "full", "least_squares", "tuned_lens"])
def test_trained_heads_are_found_by_probe_and_ask(run, cache, tiny_model, facts_file, tmp_path, kind):
    text = tmp_path / "text.txt"
    text.write_text("The capital of France is Paris . The sun is red and the moon is blue .\n" * 60)
    arguments = ("--text", text, "--valid", text, "--positions", 200, "--epochs", 2, "--batch", 32)
    if kind == "tied":
        with pytest.raises(Exception, match="masked positions"):
            run("train-heads", "--model", tiny_model, "--head", kind, "--text", text, "--valid", text)
    # The validation part wants 5,000 positions; a longer text gives them.
    text.write_text("The capital of France is Paris and the sun is red and the moon is blue in the city .\n" * 1800)
    output = run("train-heads", "--model", tiny_model, "--head", kind, *arguments).output
    assert "layer  2" in output
    run("probe", "--model", tiny_model, "--facts", facts_file, "--head", kind)
    answer = run("ask", "The capital of France is [MASK].", "--model", tiny_model, "--head", kind, "--json", "--top", 3)
    assert [layer["layer"] for layer in json.loads(answer.stdout)["layers"]] == [0, 1, 2]
    # Of the trained kinds, tied heads alone are taken if none are named.
    unnamed = run("probe", "--model", tiny_model, "--facts", facts_file).output
    assert ("exists already" in unnamed) == (kind == "tied") and ("--head logit_lens" in unnamed) == (kind != "tied")


def test_the_start_is_said_on_the_command_line_and_in_the_recipe(run, cache, tiny_model, tmp_path):
    from probing.heads.files import read_identity

    text = tmp_path / "text.txt"
    text.write_text("The capital of France is Paris and the sun is red and the moon is blue in the city .\n" * 1800)
    small = ("--model", tiny_model, "--text", text, "--valid", text, "--positions", 200, "--batch", 32)
    for start, said in (
        ("pretrained", "pre-trained"),
        ("pre-trained", "pre-trained"),
        ("least-squares", "least-squares"),
    ):
        output = run(
            "train-heads", *small, "--start", start, "--steps", 4, "--patience", 3, "--out", tmp_path / start
        ).output
        assert ("by logit lens" in output) == (said == "least-squares")
        recipe = json.loads(read_identity(tmp_path / start / "layer-00.safetensors").recipe)
        assert (recipe["start"], recipe["steps"], recipe["patience"]) == (said, 4, 3)
    heads = [(tmp_path / start / "layer-00.safetensors").read_bytes() for start in ("pretrained", "pre-trained")]
    assert heads[0] == heads[1]
    with pytest.raises(HeadError, match="got 'warm' as a head's start, expected one of"):
        run("train-heads", *small, "--start", "warm")


def test_torn_or_missing_side_files_are_made_again_and_new_counts_are_recorded(run, cache, tiny_model, facts_file):
    arguments = ("probe", "--model", tiny_model, "--facts", facts_file, "--head", "logit_lens")
    run(*arguments)
    path, _ = predictions(cache / "runs")
    before = path.stat().st_mtime_ns
    for torn in [*(cache / "runs").glob("facts-*"), *(cache / "runs").glob("vocabulary-*")]:
        torn.write_bytes(torn.read_bytes()[:50])
    facts_file.write_text(facts_file.read_text() + facts_file.read_text().splitlines()[0] + "\n")
    run(*arguments)
    assert path.stat().st_mtime_ns == before
    (row,) = read_table(next((cache / "runs").glob("runs-*.parquet")), "runs").to_pylist()
    assert (row["n_read"], json.loads(row["left_out"])["duplicate"]) == (7, 1)
    assert "ok  runs" in run("check").output


def test_two_files_of_own_facts_are_two_probe_sets(run, lens, tiny_model, facts_file, tmp_path, cache):
    second = tmp_path / "capitals.jsonl"
    second.write_text("".join(facts_file.read_text().splitlines(keepends=True)[:2]))
    for file in (facts_file, second):
        lens(tiny_model, file)
    lens(tiny_model, second, "--as", "mine")
    rows = json.loads(run("report", "total", "--k", "1", "--average", "micro", "--json").stdout)
    assert {row["probe_set"]: row["n"] for row in rows} == {"facts": 4, "capitals": 2, "mine": 2}
    with pytest.raises(FactsError, match="only a file of own facts"):
        lens(tiny_model, "questions", "--as", "mine")


def test_a_second_file_of_the_same_name_is_named_before_it_hides_the_first(
    lens, tiny_model, facts_file, tmp_path, caplog, cache
):
    second = tmp_path / "elsewhere" / facts_file.name
    second.parent.mkdir()
    second.write_text("".join(facts_file.read_text().splitlines(keepends=True)[:2]))
    lens(tiny_model, facts_file)
    assert "note:" not in caplog.text
    for file, others in ((second, 4), (facts_file, 2)):
        caplog.clear()
        lens(tiny_model, file)
        assert f"has {others} other facts as facts; reports and pages show the newer run only" in caplog.text
    caplog.clear()
    lens(tiny_model, second, "--as", "second")
    assert "note:" not in caplog.text


def _with_turned_tokens(folder, copy):
    """A copy of a model under the same name whose tokenizer has the same tokens in another order."""
    shutil.copytree(folder, copy)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    words = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)
    turned = {word: n for n, word in enumerate([*words[:5], *reversed(words[5:])])}
    BertTokenizer(vocab=turned, do_lower_case=True).save_pretrained(copy)
    return copy


def test_the_same_weights_with_another_tokenizer_are_another_model(lens, cache, tiny_model, facts_file, tmp_path):
    lens(tiny_model, facts_file)
    other = _with_turned_tokens(tiny_model, tmp_path / "elsewhere" / tiny_model.name)
    with pytest.raises(ModelError, match="or another tokenizer; give this model another name"):
        lens(other, facts_file)
    lens(other, facts_file, "--name", "turned")
    assert len(list((cache / "runs").glob("runs-*"))) == 2


def test_a_second_tokenizer_of_the_same_name_and_size_has_a_vocabulary_of_its_own(
    run, lens, cache, tiny_model, facts_file, tmp_path
):
    lens(tiny_model, facts_file)
    (first,) = (cache / "runs").glob("vocabulary-*")
    before = first.read_bytes()
    other = _with_turned_tokens(tiny_model, tmp_path / "elsewhere" / tiny_model.name)
    # The name is free again when the first model's run is deleted.
    (run_id,) = (path.stem.removeprefix("runs-") for path in (cache / "runs").glob("runs-*"))
    for path in (cache / "runs").glob(f"*-{run_id}.parquet"):
        path.unlink()
    lens(other, facts_file)
    assert first.read_bytes() == before
    names = {
        path.name.removeprefix("vocabulary-").removesuffix(".parquet") for path in (cache / "runs").glob("vocabulary-*")
    }
    stored = {read_table(path, "runs").to_pylist()[0]["tokenizer"] for path in (cache / "runs").glob("runs-*")}
    assert len(names) == 2 and stored < names
    assert "ok  runs" in run("check").output


def test_labels_of_an_earlier_lama_folder_stay(lens, cache, tiny_model, facts_file, tmp_path):
    folder = tmp_path / "lama" / "TREx"
    folder.mkdir(parents=True)
    folder.joinpath("P9999.jsonl").write_text(json.dumps({"sub_label": "France", "obj_label": "Paris"}) + "\n")
    row = {"relation": "P9999", "template": "The capital of [X] is [Y] .", "label": "made up", "type": "1-1"}
    folder.parent.joinpath("relations.jsonl").write_text(json.dumps(row) + "\n")
    lens(tiny_model, folder.parent)
    lens(tiny_model, facts_file)
    labels = {
        row["relation"]: row["label"]
        for row in read_table(cache / "runs" / "relations.parquet", "relations").to_pylist()
    }
    assert labels["P9999"] == "made up"
    assert labels["P19"]


def test_full_runs_keep_ranks_and_round_log_probabilities_to_a_256th():
    ranks = np.array([1, 101, 12_345], dtype=np.uint32)
    assert stored_rank(ranks, compact=False).tolist() == [1, 101, 12_345]
    values = np.linspace(-12, -0.01, 500, dtype=np.float32)
    assert np.abs(stored_logp(values, compact=False) - values).max() <= 1 / 512 + 1e-6


def test_compact_ranks_are_exact_to_100_and_never_rounded_down_to_it():
    ranks = np.arange(1, 30_001, dtype=np.uint32)
    stored = stored_rank(ranks, compact=True)
    assert stored[:100].tolist() == list(range(1, 101))
    assert stored[100] == 101 and (stored[100:] > 100).all()
    assert (np.abs(stored.astype(int) - ranks) <= 0.051 * ranks).all()
    for k in (1, 10, 100):
        assert ((stored <= k) == (ranks <= k)).all()


def test_compact_log_probabilities_are_within_6_per_cent_of_their_value():
    values = np.linspace(-14, -1e-4, 5000, dtype=np.float32)
    stored = stored_logp(values, compact=True)
    assert (np.abs(stored - values) <= 0.0626 * np.abs(values)).all()
    assert len(np.unique(stored)) < 200


@pytest.mark.parametrize("compact", [False, True])
def test_rows_keep_fact_and_layer_together(compact):
    facts = [
        Fact("trex", "P36", name, "x", "The capital of [X] is [Y] .", f"The capital of {name} is [MASK] .")
        for name in "abc"
    ]
    ranks = np.array([[1, 2, 3], [4, 5, 6]], dtype=np.uint32)  # (layers, facts)
    columns = {
        "gold_rank": ranks,
        "answer_rank": ranks,
        "other_rank": np.array([[7, 0, 8], [9, 9, 9]], dtype=np.uint32),
        "gold_logp": -ranks.astype(np.float32),
        "top_ids": np.arange(12, dtype=np.uint32).reshape(2, 3, 2),
        "top_logp": -np.ones((2, 3, 2), dtype=np.float32),
    }
    rows = prediction_columns("run", facts, columns, [5, 6], compact)
    got = {
        (fact, layer): (rank, other, tuple(top))
        for fact, layer, rank, other, top in zip(
            rows["fact_id"].to_pylist(),
            rows["layer"].to_pylist(),
            rows["gold_rank"].to_pylist(),
            rows["other_rank"].to_pylist(),
            rows["top_ids"].to_pylist(),
            strict=True,
        )
    }
    other = (lambda value: None) if compact else (lambda value: value or None)
    assert got == {
        (facts[n].fact_id, layer): (
            int(ranks[i, n]),
            other(int(columns["other_rank"][i, n])),
            tuple(columns["top_ids"][i, n].tolist()),
        )
        for i, layer in enumerate([5, 6])
        for n in range(3)
    }


def test_a_body_of_shorter_numbers_says_what_it_costs_and_is_another_run(run, cache, tiny_model, facts_file):
    words = ("probe", "--model", tiny_model, "--facts", facts_file, "--head", "logit_lens")
    exact, short = run(*words).output, run(*words, "--dtype", "bfloat16").output
    assert "of the ranks equal" not in exact
    share = float(re.search(r"times the speed, ([\d.]+)% of the ranks equal over all layers", short)[1])
    found = {
        row["dtype"]: read_table(cache / "runs" / f"predictions-{row['run_id']}.parquet", "predictions").to_pandas()
        for path in (cache / "runs").glob("runs-*.parquet")
        for row in read_table(path, "runs").to_pylist()
    }
    assert set(found) == {"float32", "bfloat16"}
    equal = found["float32"]["gold_rank"].to_numpy() == found["bfloat16"]["gold_rank"].to_numpy()
    assert share == pytest.approx(100 * equal.mean(), abs=0.05)
