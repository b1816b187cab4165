"""Which model of the hub: its commit and its full id are resolved once, loaded, stored, shown and shared."""

import json
import pickle

import pytest

import probing
from probing.kernel.errors import ModelError
from probing.kernel.models.catalogue import open_encoder
from probing.kernel.models.load import load_encoder
from probing.kernel.models.names import base_entry, find_entry
from probing.kernel.provenance import stored_configuration
from probing.kernel.registry import read_registry
from probing.kernel.store.parquet import read_table
from tests import tiny_models
from tests.hub import contents

FACTS = [
    {"subject": "France", "relation": "capital", "object": "Paris", "prompt": "The capital of France is [MASK]."},
    {"subject": "Italy", "relation": "capital", "object": "Rome", "prompt": "The capital of Italy is [MASK]."},
]
OPTIONS = ("--head", "logit_lens", "--device", "cpu")


@pytest.fixture()
def facts(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in FACTS))
    return path


def the_run(tmp_path, model="tiny-bert"):
    """The row of a model's run, and its configuration."""
    rows = [read_table(path, "runs").to_pylist()[0] for path in (tmp_path / "cache" / "runs").glob("runs-*.parquet")]
    (row,) = [row for row in rows if row["model"] == model]
    return row, stored_configuration(row["config"])


def test_a_hub_models_run_names_the_commit_and_the_full_id(online, run, facts, tmp_path, bert):
    commit = online.hub.add("org/tiny-bert", bert).refs["main"]
    run("probe", "--model", "org/tiny-bert", "--facts", facts, *OPTIONS)
    row, config = the_run(tmp_path)
    assert row["model_revision"] == config["model_revision"] == commit and len(commit) == 40
    assert config["hub_id"] == "org/tiny-bert" and "base_source" not in config
    # Shown by the list of runs, as text and as JSON, and by the API.
    assert f"org/tiny-bert at {commit[:12]}" in run("runs").output
    (shown,) = json.loads(run("runs", "--json").stdout)
    assert (shown["hub_id"], shown["model_revision"]) == ("org/tiny-bert", commit)
    stored = probing.results([tmp_path / "cache" / "runs"]).runs
    assert stored[["hub_id", "revision"]].values.tolist() == [["org/tiny-bert", commit]]


def test_every_file_comes_from_one_commit_though_the_branch_moves_meanwhile(online, monkeypatch, bert):
    """The owner pushes other weights between the configuration and the weights."""
    made = online.hub.add("org/tiny-bert", bert)
    first = made.refs["main"]
    from probing.kernel.models import load

    read = load.AutoConfig.from_pretrained

    def pushed_meanwhile(*given, **more):
        made.commit(contents.as_other_weights(bert))
        return read(*given, **more)

    monkeypatch.setattr(load.AutoConfig, "from_pretrained", pushed_meanwhile)
    opened = load_encoder("org/tiny-bert", device="cpu")
    assert made.refs["main"] != first == opened.revision
    files = online.hub.asked(r"/resolve/")
    assert files and all(f"/resolve/{first}/" in one for one in files)
    assert len(online.hub.asked(r"^GET /api/models/org/tiny-bert$")) == 1
    monkeypatch.undo()


def test_the_identity_is_that_of_the_same_files_in_a_folder(online, tmp_path, bert):
    online.hub.add("org/tiny-bert", bert)
    folder = contents.as_folder(bert, tmp_path / "tiny-bert")
    of_hub, of_folder = load_encoder("org/tiny-bert", device="cpu"), load_encoder(folder, device="cpu")
    assert (of_hub.weights_id, of_hub.configuration) == (of_folder.weights_id, of_folder.configuration)
    assert (of_folder.revision, of_folder.hub_id) == ("local", "")


def test_offline_the_commit_comes_from_the_cache_and_a_second_load_asks_for_no_file(online, bert):
    commit = online.hub.add("org/tiny-bert", bert).refs["main"]
    first = load_encoder("org/tiny-bert", device="cpu")
    asked = len(online.hub.log)
    assert load_encoder("org/tiny-bert", device="cpu").revision == commit
    assert online.hub.log[asked:] == ["GET /api/models/org/tiny-bert"]
    load_encoder("org/tiny-bert", revision=commit, device="cpu")
    assert len(online.hub.log) == asked + 1, "a commit needs no request"
    online.offline()
    again = load_encoder("org/tiny-bert", device="cpu")
    assert (again.revision, again.hub_id, again.weights_id) == (commit, "org/tiny-bert", first.weights_id)
    assert len(online.hub.log) == asked + 1


def test_if_the_hub_is_gone_the_cached_commit_is_taken(online, bert):
    commit = online.hub.add("org/tiny-bert", bert).refs["main"]
    load_encoder("org/tiny-bert", device="cpu")
    online.hub.close()
    assert load_encoder("org/tiny-bert", device="cpu").revision == commit


def test_a_cache_that_transformers_filled_serves_offline(online, bert):
    """Transformers keeps no list of the commit's files."""
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    commit = online.hub.add("org/tiny-bert", bert).refs["main"]
    AutoModelForMaskedLM.from_pretrained("org/tiny-bert")
    AutoTokenizer.from_pretrained("org/tiny-bert")
    online.offline()
    assert load_encoder("org/tiny-bert", device="cpu").revision == commit


def test_another_model_of_the_same_short_name_is_refused_until_it_has_its_own(online, run, facts, tmp_path, bert):
    online.hub.add("org/tiny-bert", bert)
    online.hub.add("other/tiny-bert", contents.as_other_weights(bert))
    run("probe", "--model", "org/tiny-bert", "--facts", facts, *OPTIONS)
    with pytest.raises(ModelError, match="--name"):
        run("probe", "--model", "other/tiny-bert", "--facts", facts, *OPTIONS)
    run("probe", "--model", "other/tiny-bert", "--facts", facts, "--name", "theirs", *OPTIONS)
    assert the_run(tmp_path, "theirs")[1]["hub_id"] == "other/tiny-bert"


def test_a_registry_model_typed_in_full_is_that_model_and_anothers_keeps_its_owner():
    named = find_entry("bert-base-uncased")
    assert find_entry("google-bert/bert-base-uncased") == find_entry("Google-BERT/bert-base-uncased") == named
    assert named.revision == read_registry().model("bert-base-uncased").revision != ""
    stranger = find_entry("someone/bert-base-uncased")
    assert (stranger.name, stranger.hub_id, stranger.revision, stranger.licence) == (
        "someone/bert-base-uncased",
        "someone/bert-base-uncased",
        "",
        "unknown",
    )
    assert find_entry("someone/tiny-bert").name == "tiny-bert"


def test_a_folder_of_the_cache_does_not_stand_in_for_a_hub_model_of_the_same_short_name(online, tmp_path, bert):
    """``finetune`` keeps its models there."""
    contents.as_folder(contents.as_other_weights(bert), tmp_path / "cache" / "models" / "tiny-bert")
    commit = online.hub.add("org/tiny-bert", bert).refs["main"]
    assert open_encoder("org/tiny-bert", device="cpu").revision == commit
    assert open_encoder("tiny-bert", device="cpu").revision == "local"


def test_the_base_whose_head_is_used_is_recorded_with_its_commit(online, run, facts, tmp_path, bert, monkeypatch):
    from transformers import AutoModel

    base = online.hub.add("org/base", bert)
    commit = base.refs["main"]
    model, tokenizer = tiny_models.build("bert")
    body = AutoModel.from_config(model.config)
    body.load_state_dict(model.bert.state_dict(), strict=False)
    folder = tmp_path / "tuned"
    body.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    run("probe", "--model", folder, "--base", "org/base", "--facts", facts, *OPTIONS)
    row, config = the_run(tmp_path, "tuned")
    assert config["base_source"] == f"org/base@{commit}" and row["base"] == "base"
    assert row["model_revision"] == "local" and "hub_id" not in config


def test_a_worker_opens_the_commits_of_the_coordinator_without_asking_for_a_branch(online, bert):
    made = online.hub.add("org/tiny-bert", bert)
    opened = open_encoder("org/tiny-bert", device="cpu")
    sent = pickle.dumps(opened)
    made.commit(contents.as_other_weights(bert))
    asked = len(online.hub.log)
    again = pickle.loads(sent)
    assert (again.weights_id, again.name, again.revision) == (opened.weights_id, "tiny-bert", opened.revision)
    assert len(online.hub.log) == asked


def test_a_fine_tuned_models_note_leads_back_to_the_commit_of_its_base(online, tmp_path):
    """A base by its short name alone would be looked for among the hub's models without an owner."""
    folder = tmp_path / "mine"
    folder.mkdir()
    note = {
        "base": "tiny-bert",
        "base_folder": "",
        "base_source": f"org/tiny-bert@{'a' * 40}",
        "objective": "CoLA",
        "recipe": {},
    }
    (folder / "finetuning.json").write_text(json.dumps(note))
    origin = base_entry(find_entry(str(folder)))
    assert (origin.name, origin.hub_id, origin.revision) == ("tiny-bert", "org/tiny-bert", "a" * 40)
