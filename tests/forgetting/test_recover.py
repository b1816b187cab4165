"""``forgetting recover`` from folders and a file of facts to a stored run, and losses that are planted in the shipped
base.
"""

import json
import re
import shutil
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForMaskedLM

import probing.forgetting.recover as module
from probing.facts.askable import answer_ids
from probing.forgetting.memory import MORE, NO_TEST, UNKNOWN, groups_of
from probing.forgetting.ranks import Prompts, ranks
from probing.forgetting.report_savings import compared, in_words, savings
from probing.forgetting.savings import TOO_FEW, SavingsRecipe
from probing.forgetting.savings_curves import savings as savings_of
from probing.forgetting.ways import LOST_OUTCOMES, NOT_OTHERWISE, NOT_RECOVERED, REWORDED, usual_protocol
from probing.forgetting.ways_back import RecoveryWork, RelearnRecipe, recovery_answers, relearned
from probing.kernel.errors import HubError, StoreError
from probing.kernel.fact import Fact
from probing.kernel.models.load import load_encoder
from probing.kernel.registry import REPOSITORY
from probing.kernel.store.check import check_store
from probing.kernel.store.opening import open_database
from probing.kernel.store.parquet import files_of, read_table, write_table
from tests.forgetting.planted import KNOWN, SENTENCES, facts, planted_base
from tests.shipped_facts import asked_facts


@pytest.fixture(scope="session")
def folders(tmp_path_factory, folder_of_run):
    """Folders of a base that knows some facts, and of the base with a spoilt last layer."""
    root = tmp_path_factory.mktemp("forgetting")
    shutil.copytree(planted_base(folder_of_run), root / "planted")
    return with_spoilt(root)


def with_spoilt(root):
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


def test_savings_are_another_run_whose_report_and_words_have_the_stored_numbers(run, cache, folders, first, asked):
    output = recovered(run, folders, asked, "spoilt", "--savings").output
    ((row,), (plain,)), saved = (
        (rows_of(each, "forgetting_runs") for each in (asked, first[1])),
        rows_of(asked, "forgetting_savings"),
    )
    assert "savings" in json.loads(row["config"]) and "savings" not in json.loads(plain["config"])
    shares = [rows_of(each, "forgetting_shares") for each in (asked, first[1])]
    assert [one | {"run_id": ""} for one in shares[0]] == [one | {"run_id": ""} for one in shares[1]]
    assert {one["passes"] for one in saved} == {0, 1, 2, 3, 4, 6} and {one["run_id"] for one in saved} == {
        row["run_id"]
    }
    with open_database(asked / "runs", first[1] / "runs") as db:
        reported = savings(db)
    assert len(reported) == len(saved) and set(reported["taught"]) == {one["taught"] for one in saved}
    for line in in_words(compared(pd.DataFrame(saved))) or [TOO_FEW]:
        assert line in output
    assert check_store([asked / "runs"]) == []
    (path,) = files_of("forgetting_savings", asked / "runs")
    write_table("forgetting_savings", saved[1:], path)
    assert any("expected 12" in problem for problem in check_store([asked / "runs"]))


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


BASE = REPOSITORY / "data" / "models" / "nesia-mini"
RELATIONS = ("P103", "P1303", "P140", "P17", "P19", "P27", "P30", "P36", "P413", "P495")


@pytest.fixture(scope="module")
def shipped() -> pd.DataFrame:
    """T-REx's facts in an order drawn at random, with what the base knows and how its text has them."""
    facts = asked_facts()
    return facts[facts["relation"].isin(RELATIONS)].sample(frac=1, random_state=1, ignore_index=True)


@pytest.fixture(scope="module")
def planted_facts(shipped) -> pd.DataFrame:
    """300 stated facts that the base knows, 60 that its text never had, and 240 that it does not know."""
    known = shipped["gold_rank"] == 1
    stated, unseen = (known & (shipped["exposure"] == name) for name in ("stated", "unseen"))
    return pd.concat(
        [shipped[stated].head(300), shipped[unseen].head(60), shipped[~known].head(240)], ignore_index=True
    )


@pytest.fixture(scope="module")
def text(shipped, planted_facts, tmp_path_factory) -> Path:
    """Statements of other facts, for the fitted head."""
    others = shipped[~shipped["fact_id"].isin(planted_facts["fact_id"])].head(3000)
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("".join(f" {one.prompt.replace('[MASK]', one.object)} \n" for one in others.itertuples()))
    return path


def facts_of(rows: pd.DataFrame, answers=None) -> list[Fact]:
    named = rows["object"] if answers is None else answers
    return [
        Fact("mine", one.relation, one.subject, answer, one.prompt, one.prompt)
        for one, answer in zip(rows.itertuples(), named, strict=True)
    ]


def taught(facts: list[Fact], folder: Path, rate: float = 5e-4, start: Path = BASE) -> Path:
    """The base, or another model, after it was trained on facts until it gives nearly all of these answers."""
    base = load_encoder(start, device="cpu")
    prompts, targets = Prompts.of([fact.prompt for fact in facts], base), answer_ids(facts, base)
    recipe = RelearnRecipe(rate=rate, steps=tuple(range(25, 1001, 25)))
    for _, learner in relearned(base, prompts, targets, recipe, seed=1):
        if (ranks(learner, prompts, targets) == 1).mean() > 0.97:
            break
    model = AutoModelForMaskedLM.from_pretrained(BASE, dtype=torch.float32)
    model.bert.load_state_dict(learner.body.state_dict(), strict=False)
    model.save_pretrained(folder)
    for path in BASE.glob("tokenizer*"):
        shutil.copy(path, folder)
    return folder


def changed(folder: Path, names: str, whole: bool = False) -> Path:
    """A copy of the base in which the rows of some weights are permuted, or all their numbers."""
    shutil.copytree(
        BASE, folder, ignore=shutil.ignore_patterns("heads", "*.parquet", "family.json", "training.json", "README.md")
    )
    weights, random = load_file(folder / "model.safetensors"), torch.Generator().manual_seed(1)
    chosen = [name for name in weights if re.search(names, name)]
    assert chosen
    for name in chosen:
        rows = weights[name].reshape(-1) if whole else weights[name]
        weights[name] = rows[torch.randperm(len(rows), generator=random)].reshape(weights[name].shape).contiguous()
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


@pytest.fixture()
def recovered_plants(run, cache, tmp_path, text, monkeypatch):
    """Runs the command, with so many facts a step of relearning: its output, the run, lost facts, shares and
    differences.
    """

    def call(tuned, facts, base="nesia-mini", batch=32):
        monkeypatch.setattr(module, "RelearnRecipe", partial(RelearnRecipe, batch=batch))
        rows = [{"subject": f.subject, "relation": f.relation, "object": f.object, "prompt": f.prompt} for f in facts]
        (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        given = (
            "--model",
            tuned,
            "--base",
            base,
            "--facts",
            tmp_path / "mine.jsonl",
            "--text",
            text,
            "--out",
            tmp_path / "runs",
        )
        output = run("forgetting", "recover", *given, "--seeds", 1, "--positions", 4000).output
        found = [
            pd.DataFrame(
                read_table(*files_of(f"forgetting_{name}", tmp_path / "runs"), f"forgetting_{name}").to_pylist()
            )
            for name in ("runs", "facts", "shares", "excesses")
        ]
        return output, found[0].iloc[0], found[1][found[1]["asked"] == "lost"], *found[2:]

    return call


def share_of(shares, way, level=0, group="lost"):
    one = shares[(shares["way"] == way) & (shares["level"] == level) & (shares["asked"] == group)]
    return float(one.set_index("protocol")["share"][usual_protocol(way)])


@pytest.mark.slow
def test_a_permuted_head_is_read_again_by_a_fitted_head_which_brings_back_wrong_answers_too(
    recovered_plants, planted_facts, tmp_path
):
    output, row, _, shares, _ = recovered_plants(
        changed(tmp_path / "head", r"predictions.transform.dense.weight"), facts_of(planted_facts), batch=2
    )
    assert row["lost"] > 300 and "changed none of the layers" in row["not_put_back"]
    assert share_of(shares, "fitted head") > 0.95 and share_of(shares, "fitted head", group="wrong answers") > 0.95
    assert f"- fitted head: {MORE}" not in output


@pytest.mark.slow
def test_a_permuted_layer_that_is_put_back_is_the_base_itself(recovered_plants, planted_facts, tmp_path):
    output, row, lost, shares, _ = recovered_plants(
        changed(tmp_path / "layer", r"encoder.layer.6.*dense.weight|encoder.layer.6.*self", whole=True),
        facts_of(planted_facts),
        batch=2,
    )
    assert (
        "changed are 7: with them put back it is the base itself" in row["not_put_back"]
        and row["not_put_back"] in output
    )
    assert row["lost"] > 100 and "layers put back" not in set(shares["way"]) | set(lost["way"])


@pytest.mark.slow
def test_stated_facts_that_are_overwritten_with_wrong_answers_come_back(recovered_plants, tmp_path):
    # Overwritten until they just are: at a higher rate, hardly any come back after lessons with other answers.
    facts = asked_facts().sample(frac=1, random_state=1)
    stated = facts[(facts["gold_rank"] == 1) & (facts["exposure"] == "stated")].head(600)
    stated = stated[stated.groupby("relation")["object"].transform("nunique") > 1]
    random = np.random.default_rng(2)
    answers = {name: sorted(set(rows)) for name, rows in stated.groupby("relation")["object"]}
    wrong = [
        str(random.choice([other for other in answers[one.relation] if other != one.object]))
        for one in stated.itertuples()
    ]
    tuned = taught(facts_of(stated, wrong), tmp_path / "overwritten", rate=2e-4)
    _, row, lost, shares, _ = recovered_plants(
        tuned, facts_of(pd.concat([stated, facts[facts["gold_rank"] > 1].head(100)]))
    )
    assert row["lost"] > 0.95 * len(stated) and NOT_RECOVERED in set(lost["way"])
    back = [share_of(shares, "relearned", steps) for steps in (5, 15, 45)]
    assert back[0] < back[1] < back[2] and back[2] > 0.5, back


@pytest.mark.slow
def test_of_a_model_that_was_never_taught_no_stated_facts_come_back_more_often(recovered_plants, shipped, tmp_path):
    unknown = shipped[shipped["gold_rank"] > 10].head(900)
    random = np.random.default_rng(3)
    few = {name: rows.drop_duplicates().head(4).tolist() for name, rows in unknown.groupby("relation")["object"]}
    facts = facts_of(unknown, [str(random.choice(few[name])) for name in unknown["relation"]])
    base = taught(facts[:300], tmp_path / "taught")
    kinds = ["stated"] * 300 + ["unseen"] * 600
    rows = [
        {"model": "taught", "fact_key": f"{f.relation}\t{f.subject}\t{f.object}", "exposure": kind}
        for f, kind in zip(facts, kinds, strict=True)
    ]
    write_table("exposure", rows, base / "exposure-taught.parquet")
    output, _, lost, _, against = recovered_plants("nesia-mini", facts, base)
    assert lost["exposure"].eq("stated").sum() > 250 and lost["exposure"].eq("unseen").sum() > 30
    assert "right answers that the text never had" in set(against["yardstick"])
    said = output.split("Test of memory")[1]
    assert UNKNOWN in said and f": {MORE}" not in said


@pytest.mark.slow
def test_planted_answers_that_were_lost_are_saved_and_an_untaught_base_saves_none(shipped, tmp_path):
    # Both are trained on other arbitrary answers, until most planted ones are lost.
    unknown = shipped[shipped["gold_rank"] > 10].drop_duplicates("prompt").head(700)
    random = np.random.default_rng(3)
    few = {name: rows.drop_duplicates().head(30).tolist() for name, rows in unknown.groupby("relation")["object"]}
    facts = facts_of(unknown, [str(random.choice(few[name])) for name in unknown["relation"]])
    base = load_encoder(taught(facts[:400], tmp_path / "taught"), device="cpu")
    prompts, gold = Prompts.of([fact.prompt for fact in facts], base), answer_ids(facts, base)
    found = {}
    for name, start in (("planted", base), ("twin", load_encoder(BASE, device="cpu"))):
        spoiling = RelearnRecipe(rate=5e-4, steps=(15,))
        ((_, tuned),) = relearned(start, prompts.some(range(400, 700)), gold[400:], spoiling, seed=7)
        work = RecoveryWork(base, tuned, facts[:400], gold[:400], lambda _: None, tmp_path / name)
        asked = recovery_answers(work)
        saved = savings_of(work, asked, groups_of(asked, 1, 2000), SavingsRecipe())
        (found[name],) = (
            one.difference for one in saved if (one.group, one.measure, one.passes) == ("lost", "first", 0)
        )
    assert found["planted"].low > 0.15 and found["planted"].n > 60 < found["twin"].n
    assert found["twin"].low < 0 < found["twin"].high and found["twin"].value < 0.1
