"""Sharing through the hub: one commit of the right kind of repository, by its owner."""

import json
import shutil
from types import SimpleNamespace

import pytest
import yaml

from probing.kernel.errors import HubError
from probing.kernel.files import pulled_folders
from probing.sharing.card import origin_of_runs
from tests.hub import contents

PROMPT = "The capital of France is [MASK]."
FACT = {"subject": "France", "relation": "capital", "object": "Paris", "prompt": PROMPT}
PUSH = ("push", "predictions", "--model", "tiny-bert", "--licence", "CC0-1.0", "--to", "me/predictions")
COMMITS = "^POST .*/commit/main"


@pytest.fixture()
def probed(online, run, bert, tmp_path):
    """Runs of a model of the hub on the user's own facts: its commit, and where they are."""
    commit = online.hub.add("org/tiny-bert", bert).refs["main"]
    online.login("me")
    facts = tmp_path / "mine.jsonl"
    facts.write_text(json.dumps(FACT) + "\n")
    run("probe", "--model", "org/tiny-bert", "--facts", facts, "--head", "logit_lens")
    return SimpleNamespace(commit=commit, runs=tmp_path / "cache" / "runs")


def card(files: dict[str, bytes]) -> tuple[dict, str]:
    """Metadata and text of a repository's card."""
    text = files["README.md"].decode()
    return yaml.safe_load(text.split("---\n")[1]), text


def test_runs_go_to_a_data_set_whose_card_names_the_models_commit_and_come_back_at_the_pinned_commit(
    online, run, probed, tmp_path, monkeypatch
):
    pushed = run(*PUSH, "--private").output
    made = online.hub.kept["dataset", "me/predictions"]
    assert made.private and len(online.hub.asked(COMMITS)) == 1
    commit = made.refs["main"]
    said, text = card(made.files)
    assert commit in pushed and (said["base_model"], said["license"]) == ("org/tiny-bert", "cc0-1.0")
    assert f"- Model: tiny-bert, org/tiny-bert, revision `{probed.commit}`" in text
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "other"))
    assert commit in run("pull", "me/predictions").output
    (pulled,) = pulled_folders()
    for path in probed.runs.glob("predictions-*"):
        assert (pulled / "data" / path.name).read_bytes() == path.read_bytes()
    # What a push lacks, it deletes; what is there, it does not upload again.
    made.commit({"data/old.parquet": b"old"})
    uploaded = len(online.hub.asked("^PUT "))
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    run(*PUSH)
    assert "data/old.parquet" not in made.files and len(online.hub.asked("^PUT ")) == uploaded
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "other"))
    # The owner goes on; the next pull stays with the commit of the first, whose files the library keeps.
    made.commit({"README.md": b"other"})
    asked_before = len(online.hub.asked("^GET .*/resolve/.*parquet"))
    assert commit in run("pull", "me/predictions", "--what", "predictions").output
    assert len(online.hub.asked("^GET .*/resolve/.*parquet")) == asked_before
    with pytest.raises(HubError, match=r"README\.md"):
        run("pull", "me/predictions", "--revision", "main")


def test_heads_go_to_a_model_repository_whose_card_names_the_encoders_commit(online, run, bert, tmp_path, monkeypatch):
    online.login("me")
    made = online.hub.add("org/tiny-bert", bert)
    text = tmp_path / "text.txt"
    text.write_text("The capital of France is Paris and the sun is red and the moon is blue in a city .\n" * 2500)
    made.refs["v1"] = made.refs["main"]
    made.commit(contents.as_other_weights(bert))
    opened = ("--model", "org/tiny-bert", "--revision", "v1")
    sizes = ("--text", text, "--valid", text, "--positions", 100, "--batch", 64)
    run("train-heads", *opened, "--head", "least_squares", *sizes)
    (trained,) = (tmp_path / "cache" / "heads").glob("*/least_squares-seed0")
    shutil.copytree(trained, f"{trained}.bak")
    run("push", "heads", *opened, "--to", "me/heads", "--licence", "MIT")
    said, words = card(online.hub.kept["model", "me/heads"].files)
    assert said["base_model"] == "org/tiny-bert"
    assert f"- Encoder: tiny-bert@v1, org/tiny-bert, revision `{made.refs['v1']}`" in words
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "other"))
    run("pull", "me/heads")
    assert "least_squares heads" in run("ask", PROMPT, *opened, "--head", "least_squares").output


def test_shipped_facts_are_shared_under_the_models_licence_and_own_ones_under_a_named_one(online, run, bert, tmp_path):
    online.login("me")
    online.hub.add("org/tiny-bert", bert)
    run("probe", "--model", "org/tiny-bert", "--facts", "common_sense", "--head", "logit_lens")
    push = ("push", "predictions", "--model", "tiny-bert", "--to", "me/predictions")
    run(*push)
    assert card(online.hub.kept["dataset", "me/predictions"].files)[0]["license"] == "unknown"
    # Own facts in LAMA's layout are stored as T-REx with the template set ``default``, as the shipped ones are.
    folder = tmp_path / "lama" / "TREx"
    folder.mkdir(parents=True)
    rows = [{"sub_label": "My own secret place", "obj_label": "Paris"}, {"sub_label": "Rocky", "obj_label": "Rome"}]
    (folder / "P19.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    own = ("--facts", folder.parent, "--head", "logit_lens", "--templates", "default")
    run("probe", "--model", "org/tiny-bert", *own)
    before = len(online.hub.asked("^POST"))
    with pytest.raises(HubError, match=r"trex with the prompts default.*--licence"):
        run(*push)
    assert len(online.hub.asked("^POST")) == before


def test_a_push_deletes_nothing_of_another_share_or_of_a_strangers_repository(online, run, probed):
    made = online.hub.add("me/predictions", {"data/train.parquet": b"mine"}, kind="dataset")
    with pytest.raises(HubError, match=r"me/predictions .* holds data/train\.parquet and no manifest\.json"):
        run(*PUSH)
    run(*PUSH[:-1], "me/others")
    other = json.loads(online.hub.kept["dataset", "me/others"].files["manifest.json"])
    made.commit({"manifest.json": json.dumps(other | {"model": "another"}).encode()})
    with pytest.raises(HubError, match="holds predictions of another, which predictions of tiny-bert would replace"):
        run(*PUSH)
    assert made.files["data/train.parquet"] == b"mine" and len(online.hub.asked(COMMITS)) == 1
    run(*PUSH[:-1], "me/others")


def test_a_card_of_runs_names_one_model_and_its_base():
    two = [
        {"config": json.dumps({"hub_id": hub_id, "model_revision": "a" * 40})} for hub_id in ("org/one", "other/one")
    ]
    with pytest.raises(HubError, match="org/one, other/one"):
        origin_of_runs("one", two)
    tuned = origin_of_runs(
        "tuned", [{"config": json.dumps({"model_revision": "local", "base_source": f"org/base@{'b' * 40}"})}]
    )
    assert (tuned.base_model, tuned.line) == ("org/base", "tuned")
