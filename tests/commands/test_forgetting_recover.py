"""``forgetting recover`` from folders and a file of facts to a stored run, which is shared like every other."""

import json
import shutil
from collections import Counter

import pyarrow.parquet as pq
import pytest
import torch
from transformers import AutoModelForMaskedLM

from probing.core.errors import FactsError, HubError, ModelError, StoreError
from probing.core.forgetting.memory import NO_TEST
from probing.core.forgetting.ways import LOST_OUTCOMES, NOT_OTHERWISE, REWORDED
from probing.store.check import check_store
from probing.store.parquet import read_table, write_table
from probing.store.sources import files_of
from tests.models.forgetting.planted import KNOWN, SENTENCES, facts, planted_base


@pytest.fixture(scope="session")
def folders(tmp_path_factory, folder_of_run):
    """Folders of a base that knows some facts, and of the base with a spoilt last layer."""
    root = tmp_path_factory.mktemp("forgetting")
    shutil.copytree(planted_base(folder_of_run), root / "planted")
    shutil.copytree(root / "planted", root / "spoilt")
    model = AutoModelForMaskedLM.from_pretrained(root / "planted")
    with torch.no_grad():
        for one in model.bert.encoder.layer[3].parameters():
            one.copy_(torch.randn(one.shape, generator=torch.Generator().manual_seed(2)) * 0.3)
    model.save_pretrained(root / "spoilt")
    return root


def asked_in(folder):
    """The facts and a text as files."""
    rows = [{"subject": f.subject, "relation": f.relation, "object": f.object, "prompt": f.prompt} for f in facts()]
    (folder / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "text.txt").write_text("".join(f" {sentence} \n" for sentence in SENTENCES))
    return folder


@pytest.fixture()
def asked(tmp_path):
    return asked_in(tmp_path)


@pytest.fixture(scope="module")
def first(run, folders, tmp_path_factory):
    """Output of a recovery, and the folder that it left."""
    folder = asked_in(tmp_path_factory.mktemp("first"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROBING_CACHE", str(folder / "cache"))
        patch.setenv("PROBING_SNAPSHOT", str(folder / "snapshot"))
        output = recovered(run, folders, folder).output
    assert not list((folder / "cache" / "forgetting").glob("*"))
    return output, folder


@pytest.fixture()
def stored(first, asked):
    """A copy of that run, as if it had been stored here."""
    shutil.copytree(first[1] / "runs", asked / "runs")
    return asked


def recovered(run, folders, asked, model="spoilt", *more):
    given = (
        "--model",
        folders / model,
        "--base",
        folders / "planted",
        "--facts",
        asked / "mine.jsonl",
        "--text",
        asked / "text.txt",
    )
    return run("forgetting", "recover", *given, "--seeds", 1, "--positions", 1000, "--out", asked / "runs", *more)


def rows_of(asked, table):
    (path,) = files_of(table, asked / "runs")
    return read_table(path, table).to_pylist()


def found_in(output):
    return output.split("Of the ")[1].strip()


def test_a_run_is_stored_once_with_every_lost_fact_and_is_read_the_second_time(run, cache, folders, first, stored):
    output, asked = first[0], stored
    (row,), every = rows_of(asked, "forgetting_runs"), rows_of(asked, "forgetting_facts")
    lost = [one for one in every if one["asked"] == "lost"]
    assert row["known"] > 0.95 * KNOWN and row["kept"] + row["lost"] == row["known"] and len(lost) == row["lost"] > 50
    assert (row["k"], row["seeds"], row["probe_set"], row["base"]) == (1, 1, "mine", "planted")
    counts = Counter(one["way"] for one in lost)
    assert sum(counts[name] for name in LOST_OUTCOMES) == row["lost"], (
        "with the kept ones they are all that the base knows"
    )
    assert f"- kept: {row['kept']} " in output and all(
        f"- {name}: {counts[name]} (" in output for name in LOST_OUTCOMES
    )
    # The spoilt layer is the last one, and all that differs.
    assert "with them put back it is the base itself" in row["not_put_back"] and row["not_put_back"] in output
    assert {one["way"] for one in rows_of(asked, "forgetting_shares")} == {"another layer", "fitted head", "relearned"}
    assert {one["layers_back"] for one in every} == {None} and all(
        set(one[f"after_{n}"]) <= {"0", "1"} for one in every for n in (5, 15, 45)
    )
    assert NO_TEST in output and not any(
        "text never had" in one["yardstick"] for one in rows_of(asked, "forgetting_excesses")
    )
    ids = {one["fact_id"] for one in read_table(*files_of("facts", asked / "runs"), "facts").to_pylist()}
    assert len({one["fact_id"] for one in lost}) == len(lost) and {one["fact_id"] for one in lost} < ids
    assert check_store([asked / "runs"]) == []
    before = {path.name: path.read_bytes() for path in (asked / "runs").glob("*.parquet")}
    again = recovered(run, folders, asked).output
    assert "exists already" in again and found_in(again) == found_in(output)
    assert {path.name: path.read_bytes() for path in (asked / "runs").glob("*.parquet")} == before


def test_the_table_beside_every_way_has_what_is_stored(first):
    output, folder = first
    header, _, *lines = [line.strip("| ").split(" | ") for line in output.splitlines() if line.startswith("|")]
    shares = {
        (one["way"], one["level"], one["protocol"], one["asked"]): one for one in rows_of(folder, "forgetting_shares")
    }
    against = {
        (one["way"], one["level"], one["protocol"], one["yardstick"]): one
        for one in rows_of(folder, "forgetting_excesses")
    }
    usual = {
        "another layer": (0, "fine-tuned model"),
        "fitted head": (0, "fine-tuned model"),
        "relearned": (15, "split by answer"),
    }
    assert [way for way, *_ in lines] == list(usual)
    for way, lost, *_ in lines:
        assert lost.startswith(f"{100 * shares[way, *usual[way], 'lost']['share']:.1f} (")
    _, lost, wrong, never, _, random = lines[-1]
    for cell, yardstick in ((wrong, "wrong answers"), (never, "never known"), (random, "random body")):
        one = against["relearned", 15, "split by answer", yardstick]
        own, other = 100 * one["share"], 100 * one["yardstick_share"]
        assert cell.startswith(f"{own:.1f} against {other:.1f}: {own - other:+.1f} (")
    curve = [
        f"{100 * shares['relearned', steps, 'split by answer', 'lost']['share']:.1f} after {steps}"
        for steps in (5, 15, 45)
    ]
    assert ", ".join(curve) in output and len(header) == 6


def test_a_missing_row_or_one_of_an_older_version_is_made_again_with_equal_bytes(run, cache, folders, stored):
    asked = stored
    before = {path.name: path.read_bytes() for path in (asked / "runs").glob("forgetting_[!r]*.parquet")}
    files_of("forgetting_runs", asked / "runs")[0].unlink()
    (old,) = files_of("forgetting_facts", asked / "runs")
    table = pq.read_table(old)
    pq.write_table(table.replace_schema_metadata({**table.schema.metadata, b"probing.schema_version": b"1"}), old)
    with pytest.raises(StoreError, match=rf"{old.name} has schema version 1, expected 2; make it again"):
        read_table(old, "forgetting_facts")
    assert any(old.name in problem for problem in check_store([asked / "runs"]))
    recovered(run, folders, asked)
    assert {path.name: path.read_bytes() for path in (asked / "runs").glob("forgetting_[!r]*.parquet")} == before
    assert check_store([asked / "runs"]) == []


def test_at_rank_10_other_facts_are_known_and_the_run_is_another(run, cache, folders, asked):
    recovered(run, folders, asked, "spoilt", "--k", 10)
    (row,) = rows_of(asked, "forgetting_runs")
    lost = [one for one in rows_of(asked, "forgetting_facts") if one["asked"] == "lost"]
    assert (
        row["k"] == 10 and row["known"] >= KNOWN and len(lost) == row["lost"] and min(one["rank"] for one in lost) == 11
    )


def test_lost_facts_are_asked_once_more_in_another_wording_and_tested_where_the_text_is_known(
    run, cache, folders, asked
):
    lama, base = asked / "lama", shutil.copytree(folders / "planted", asked / "known")
    (lama / "TREx").mkdir(parents=True)
    templates = {"P19": "[X] was born in [Y] .", "P1303": "[X] plays [Y] ."}
    (lama / "relations.jsonl").write_text(
        "".join(json.dumps({"relation": r, "template": t}) + "\n" for r, t in templates.items())
    )
    exposure = []
    for number, relation in enumerate(templates):
        rows = [(place, fact) for place, fact in enumerate(facts()) if fact.relation == f"P{number}"]
        (lama / "TREx" / f"{relation}.jsonl").write_text(
            "".join(json.dumps({"sub_label": fact.subject, "obj_label": fact.object}) + "\n" for _, fact in rows)
        )
        exposure += [
            {
                "model": "known",
                "fact_key": f"{relation}\t{f.subject}\t{f.object}",
                "exposure": "stated" if n < KNOWN else "unseen",
            }
            for n, f in rows
        ]
    write_table("exposure", exposure, base / "exposure-known.parquet")
    given = (
        "--model",
        folders / "spoilt",
        "--base",
        base,
        "--facts",
        lama,
        "--text",
        asked / "text.txt",
        "--positions",
        1000,
    )
    output = run(
        "forgetting", "recover", *given, "--seeds", 2, "--templates", "paraphrase", "--out", asked / "runs"
    ).output
    (row,), lost = (rows_of(asked, table) for table in ("forgetting_runs", "forgetting_facts"))
    lost = [one for one in lost if one["asked"] == "lost"]
    assert (row["template_set"], row["other_templates"], row["seeds"]) == ("lama", "paraphrase", 2)
    # Prompts of P1303 are too long for the tiny base in the other wording; of P19's it does not know most words.
    assert {one["relation"] for one in lost if one["reworded"] is None} == {"P1303"}
    counts = Counter(one["reworded"] for one in lost if one["relation"] == "P19")
    assert set(counts) <= set(REWORDED) and counts[NOT_OTHERWISE] > sum(counts.values()) / 2
    assert all(f"{name}: {n} of {row['lost']}" in output for name, n in counts.items())
    assert {one["exposure"] for one in lost} == {"stated", "unseen"} and all(len(one["after_15"]) == 2 for one in lost)
    tests = [
        one
        for one in rows_of(asked, "forgetting_excesses")
        if one["yardstick"] == "right answers that the text never had"
    ]
    assert {one["way"] for one in tests} == {"another layer", "fitted head", "relearned"}
    assert all(one["low_without"] is not None for one in tests) and NO_TEST not in output
    assert check_store([asked / "runs"]) == []


def test_facts_of_an_own_file_are_shared_only_with_a_licence(run, cache, stored, tmp_path):
    words = ("push", "forgetting", "--model", "spoilt", "--runs", stored / "runs", "--to-folder", tmp_path / "shared")
    with pytest.raises(
        HubError, match="not this project's own: name the licence that their owners allow with --licence"
    ):
        run(*words)
    run(*words, "--licence", "mit")
    run("pull", "--from-folder", tmp_path / "shared", "--out", tmp_path / "pulled")
    names = {path.name.split("-")[0] for path in (tmp_path / "pulled").rglob("*.parquet")}
    assert names == {
        "forgetting_runs",
        "forgetting_facts",
        "forgetting_relations",
        "forgetting_shares",
        "forgetting_excesses",
    }
    assert check_store([tmp_path / "pulled"]) == []


def test_what_cannot_be_asked_is_refused_in_words(run, cache, folders, asked):
    with pytest.raises(FactsError, match="copy lost 0 of the"):
        recovered(run, folders, asked, "planted", "--name", "copy")
    with pytest.raises(ModelError, match="the same name; give the model another with --name"):
        recovered(run, folders, asked, "planted")
    with pytest.raises(ModelError, match="no recorded base; name the model that it was fine-tuned from with --base"):
        run(
            "forgetting",
            "recover",
            "--model",
            folders / "spoilt",
            "--facts",
            asked / "mine.jsonl",
            "--text",
            asked / "text.txt",
        )
    with pytest.raises(FactsError, match="have no other wording there"):
        recovered(run, folders, asked, "spoilt", "--templates", "paraphrase")
    with pytest.raises(FactsError, match="expected one of them"):
        recovered(run, folders, asked, "spoilt", "--facts", "all")
    assert "--k 3; expected one of 1, 10" in run("forgetting", "recover", "--model", "x", "--k", 3, code=2).output
