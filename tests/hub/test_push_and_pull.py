"""Sharing through the hub: one commit of the right kind of repository, cards that name the model's commit, licences,
and damage.
"""

import json
from types import SimpleNamespace

import pytest
import yaml

from probing.core.errors import HeadError, HubError
from probing.workflows.share.cards import origin_of_runs
from probing.workflows.share.manifest import MANIFEST, read_manifest
from tests.hub import contents

PROMPT = "The capital of France is [MASK]."
FACT = {"subject": "France", "relation": "capital", "object": "Paris", "prompt": PROMPT}


@pytest.fixture()
def probed(online, run, bert, tmp_path):
    """Runs of a model of the hub on the user's own facts: its commit, and where they are."""
    commit = online.hub.repositories.add("org/tiny-bert", bert).refs["main"]
    facts = tmp_path / "mine.jsonl"
    facts.write_text(json.dumps(FACT) + "\n")
    run("probe", "--model", "org/tiny-bert", "--facts", facts, "--head", "logit_lens")
    online.login("me")
    return SimpleNamespace(commit=commit, runs=tmp_path / "cache" / "runs")


def card(files: dict[str, bytes]) -> tuple[dict, str]:
    """Metadata and text of a repository's card."""
    text = files["README.md"].decode()
    return yaml.safe_load(text.split("---\n")[1]), text


def test_predictions_go_to_a_data_set_whose_card_names_the_models_commit_and_come_back_at_the_pinned_commit(
    online, run, probed, tmp_path, monkeypatch
):
    push = ("push", "predictions", "--model", "tiny-bert", "--to", "me/predictions", "--licence", "CC0-1.0")
    first = run(*push, "--private").output
    made = online.hub.repositories.kept["dataset", "me/predictions"]
    assert made.private and made.refs["main"] in first
    said, text = card(made.files)
    assert (said["base_model"], said["license"]) == ("org/tiny-bert", "cc0-1.0")
    assert f"| Model | tiny-bert, org/tiny-bert, revision `{probed.commit}` |" in text
    pushed = made.refs["main"]
    assert made.refs["main"] in run(*push).output and made.refs["main"] == pushed, "the same again changes nothing"
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "other"))
    assert pushed in run("pull", "me/predictions").output
    for path in probed.runs.glob("predictions-*"):
        assert (tmp_path / "other" / "runs" / path.name).read_bytes() == path.read_bytes()
    # The owner goes on; the next pull stays with the commit of the first.
    made.commit({"README.md": b"other"})
    assert pushed in run("pull", "me/predictions").output
    with pytest.raises(HubError, match=r"README\.md"):
        run("pull", "me/predictions", "--revision", "main")


def test_heads_go_to_a_model_repository_whose_card_names_the_encoders_commit(online, run, bert, tmp_path, monkeypatch):
    made = online.hub.repositories.add("org/tiny-bert", bert)
    text = tmp_path / "text.txt"
    text.write_text("The capital of France is Paris and the sun is red and the moon is blue in a city .\n" * 2500)
    made.refs["v1"] = made.refs["main"]
    made.commit(contents.as_other_weights(bert))
    opened = ("--model", "org/tiny-bert", "--revision", "v1")
    online.login("me")
    with pytest.raises(HeadError, match="no trained heads of any kind"):
        run("push", "heads", *opened, "--to", "me/heads")
    with pytest.raises(HeadError, match="no full heads"):
        run("push", "heads", *opened, "--to", "me/heads", "--head", "full")
    run(
        "train-heads",
        *opened,
        "--head",
        "least_squares",
        "--text",
        text,
        "--valid",
        text,
        "--positions",
        100,
        "--batch",
        64,
    )
    run("push", "heads", *opened, "--to", "me/heads", "--licence", "MIT")
    shared = online.hub.repositories.kept["model", "me/heads"]
    said, words = card(shared.files)
    assert said["base_model"] == "org/tiny-bert"
    assert f"| Encoder | tiny-bert@v1, org/tiny-bert, revision `{made.refs['v1']}` |" in words
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "other"))
    run("pull", "me/heads")
    asked = run("ask", PROMPT, *opened, "--head", "least_squares")
    assert "least_squares heads" in asked.output


def test_own_facts_in_lamas_layout_under_our_prompts_need_a_licence_too(online, run, bert, tmp_path):
    """They are stored as T-REx with the template set ``default``, as the shipped ones are."""
    online.hub.repositories.add("org/tiny-bert", bert)
    online.login("me")
    folder = tmp_path / "lama" / "TREx"
    folder.mkdir(parents=True)
    rows = [{"sub_label": "My own secret place", "obj_label": "Paris"}, {"sub_label": "Rocky", "obj_label": "Rome"}]
    (folder / "P19.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run(
        "probe",
        "--model",
        "org/tiny-bert",
        "--facts",
        tmp_path / "lama",
        "--head",
        "logit_lens",
        "--templates",
        "default",
    )
    with pytest.raises(HubError, match=r"trex with the prompts default.*--licence"):
        run("push", "predictions", "--model", "tiny-bert", "--to", "me/predictions")


def test_shipped_facts_are_shared_under_the_models_licence(online, run, bert):
    online.hub.repositories.add("org/tiny-bert", bert)
    online.login("me")
    run("probe", "--model", "org/tiny-bert", "--facts", "common_sense", "--head", "logit_lens")
    run("push", "predictions", "--model", "tiny-bert", "--to", "me/predictions")
    assert card(online.hub.repositories.kept["dataset", "me/predictions"].files)[0]["license"] == "unknown"


def test_a_push_of_own_facts_without_licence_to_another_owner_and_without_login_are_named(online, run, probed):
    with pytest.raises(HubError, match=r"mine.*--licence"):
        run("push", "predictions", "--model", "tiny-bert", "--to", "me/predictions")
    assert ("dataset", "me/predictions") not in online.hub.repositories.kept
    push = ("push", "predictions", "--model", "tiny-bert", "--licence", "MIT", "--to")
    with pytest.raises(HubError, match="rights to create"):
        run(*push, "someone/predictions")
    (online.home / "token").unlink()
    with pytest.raises(HubError, match="hf auth login"):
        run(*push, "me/predictions")


def test_a_push_or_a_pull_that_breaks_off_is_no_traceback_and_a_second_pull_mends_all_files_that_were_damaged_on_the_way(
    online, run, probed, tmp_path, monkeypatch
):
    push = ("push", "predictions", "--model", "tiny-bert", "--licence", "MIT", "--to", "me/predictions")
    online.hub.faults.add("^POST /api/datasets/me/predictions/commit", broken_after=0)
    with pytest.raises(HubError, match=r"cannot push to me/predictions .* failed"):
        run(*push)
    online.hub.faults.clear()
    run(*push)
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "broken"))
    online.hub.faults.add("^GET /large/", broken_after=100)
    with pytest.raises(HubError, match=r"cannot download from me/predictions .* failed"):
        run("pull", "me/predictions")
    online.hub.faults.clear()
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "other"))
    online.hub.faults.add("^GET /large/", corrupt=True)
    with pytest.raises(HubError, match="damaged") as found:
        run("pull", "me/predictions")
    files = read_manifest(tmp_path / "other" / "hub" / "incoming" / "me--predictions" / commit(online) / MANIFEST)
    large = [file for file in files.files if file.path.endswith(".parquet")]
    assert len(large) > 3 and f"{len(large)} of {len(files.files)} files" in str(found.value)
    assert not (tmp_path / "other" / "runs").exists()
    online.hub.faults.clear()
    run("pull", "me/predictions")
    assert {path.name for path in probed.runs.glob("predictions-*")} == {
        path.name for path in (tmp_path / "other" / "runs").glob("predictions-*")
    }


def commit(online) -> str:
    return online.hub.repositories.kept["dataset", "me/predictions"].refs["main"]


def test_a_name_of_no_repository_or_of_two_is_named(online, run):
    with pytest.raises(HubError, match="no repository called someone/nothing"):
        run("pull", "someone/nothing")
    for kind in ("model", "dataset"):
        online.hub.repositories.add("someone/both", {"README.md": b""}, kind)
    with pytest.raises(HubError, match="--what heads"):
        run("pull", "someone/both")
    with pytest.raises(HubError, match=r"someone/both.*revision v9"):
        run("pull", "someone/both", "--what", "predictions", "--revision", "v9")


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
    assert tuned.base_lines == [f"| Base | org/base, revision `{'b' * 40}` |"]
