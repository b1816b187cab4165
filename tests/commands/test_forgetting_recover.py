"""``forgetting recover`` from folders and a file of facts to a stored run, which is shared like every other."""

import json
import shutil
from functools import partial

import pytest
import torch
from transformers import AutoModelForMaskedLM

import probing.workflows.forgetting.recover as module
from probing.core.errors import FactsError, HubError, ModelError
from probing.models.forgetting.relearning import RelearnRecipe
from probing.store.check import check_store
from probing.store.parquet import read_table
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


@pytest.fixture(scope="module", autouse=True)
def few_steps():
    """Relearning takes a third of its steps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "RelearnRecipe", partial(RelearnRecipe, steps=(5, 15)))
        yield


@pytest.fixture(scope="module")
def first(run, folders, tmp_path_factory, few_steps):
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
    given = ("--model", folders / model, "--base", folders / "planted", "--facts", asked / "mine.jsonl", "--text", asked / "text.txt")
    return run("forgetting", "recover", *given, "--seeds", 1, "--positions", 1000, "--out", asked / "runs", *more)


def rows_of(asked, table):
    (path,) = files_of(table, asked / "runs")
    return read_table(path, table).to_pylist()


def tables_in(output):
    return output.split("They come back by")[1].strip()


def test_a_run_is_stored_once_with_every_lost_fact_and_is_read_the_second_time(run, cache, folders, first, stored):
    output, asked = first[0], stored
    assert "spoilt lost " in output and "- layers put back: " in output and "| relearned | " in output
    (row,), lost = rows_of(asked, "forgetting_runs"), rows_of(asked, "forgetting_facts")
    assert row["known"] > 0.95 * KNOWN and row["kept"] + row["lost"] == row["known"] and len(lost) == row["lost"] > 50
    assert (row["k"], row["seeds"], row["probe_set"], row["base"]) == (1, 1, "mine", "planted")
    ids = {one["fact_id"] for one in read_table(*files_of("facts", asked / "runs"), "facts").to_pylist()}
    assert len({one["fact_id"] for one in lost}) == len(lost) and {one["fact_id"] for one in lost} < ids
    assert {one["way"] for one in rows_of(asked, "forgetting_shares")} == {"another layer", "fitted head", "layers put back", "relearned"}
    assert check_store([asked / "runs"]) == []
    before = {path.name: path.read_bytes() for path in (asked / "runs").glob("*.parquet")}
    again = recovered(run, folders, asked).output
    assert "exists already" in again and tables_in(again) == tables_in(output)
    assert {path.name: path.read_bytes() for path in (asked / "runs").glob("*.parquet")} == before


def test_a_missing_row_is_made_again_with_equal_bytes(run, cache, folders, stored):
    asked = stored
    before = {path.name: path.read_bytes() for path in (asked / "runs").glob("forgetting_[!r]*.parquet")}
    for table in ("forgetting_runs", "forgetting_facts"):
        files_of(table, asked / "runs")[0].unlink()
    recovered(run, folders, asked)
    assert {path.name: path.read_bytes() for path in (asked / "runs").glob("forgetting_[!r]*.parquet")} == before
    assert check_store([asked / "runs"]) == []


def test_at_rank_10_other_facts_are_known_and_the_run_is_another(run, cache, folders, asked):
    recovered(run, folders, asked, "spoilt", "--k", 10)
    (row,) = rows_of(asked, "forgetting_runs")
    assert {one["level"] for one in rows_of(asked, "forgetting_shares") if one["way"] == "relearned"} == {5, 15}
    assert row["k"] == 10 and row["known"] >= KNOWN and len(rows_of(asked, "forgetting_facts")) == row["lost"]


def test_facts_of_an_own_file_are_shared_only_with_a_licence(run, cache, stored, tmp_path):
    words = ("push", "forgetting", "--model", "spoilt", "--runs", stored / "runs", "--to-folder", tmp_path / "shared")
    with pytest.raises(HubError, match="not this project's own: name the licence that their owners allow with --licence"):
        run(*words)
    run(*words, "--licence", "mit")
    run("pull", "--from-folder", tmp_path / "shared", "--out", tmp_path / "pulled")
    names = {path.name.split("-")[0] for path in (tmp_path / "pulled").glob("*.parquet")}
    assert names == {"forgetting_runs", "forgetting_facts", "forgetting_relations", "forgetting_shares", "forgetting_excesses"}
    assert check_store([tmp_path / "pulled"]) == []


def test_what_cannot_be_asked_is_refused_in_words(run, cache, folders, asked):
    with pytest.raises(FactsError, match="copy lost 0 of the"):
        recovered(run, folders, asked, "planted", "--name", "copy")
    with pytest.raises(ModelError, match="the same name; give the model another with --name"):
        recovered(run, folders, asked, "planted")
    with pytest.raises(ModelError, match="no recorded base; name the model that it was fine-tuned from with --base"):
        run("forgetting", "recover", "--model", folders / "spoilt", "--facts", asked / "mine.jsonl", "--text", asked / "text.txt")
    with pytest.raises(FactsError, match="expected one of them"):
        recovered(run, folders, asked, "spoilt", "--facts", "all")
    assert "--k 3; expected one of 1, 10" in run("forgetting", "recover", "--model", "x", "--k", 3, code=2).output
