"""``--revision``: another commit of a model is another model in results; a folder has none."""

import json

import pytest

import probing
from probing.kernel.errors import ModelError, OptionError
from probing.kernel.models.names import find_entry
from probing.kernel.provenance import stored_configuration
from probing.kernel.registry import read_registry
from probing.kernel.store.parquet import read_table
from tests.hub import contents

PROMPT = "The capital of France is [MASK]."


@pytest.fixture()
def two(online, bert):
    """A model with a tag and a newer main branch: the commits of both."""
    made = online.hub.add("org/tiny-bert", contents.as_other_weights(bert))
    made.refs["step-100"] = made.refs["main"]
    made.commit(bert)
    return made.refs["step-100"], made.refs["main"]


def answered(run, *words) -> str:
    return run("ask", PROMPT, "--model", "org/tiny-bert", "--head", "logit_lens", "--device", "cpu", *words).stdout


def test_a_branch_a_tag_and_a_commit_are_asked_and_named_in_the_answer(two, run):
    tag = two[0]
    newest, older = answered(run), answered(run, "--revision", "step-100")
    assert newest.splitlines()[1].startswith("tiny-bert, ") and older.splitlines()[1].startswith("tiny-bert@step-100, ")
    assert newest.splitlines()[2:] != older.splitlines()[2:]
    assert answered(run, "--revision", tag).splitlines()[2:] == older.splitlines()[2:]
    assert answered(run, "--revision", "main").splitlines()[1].startswith("tiny-bert, ")
    with pytest.raises(ModelError, match="org/tiny-bert has no revision step-9"):
        answered(run, "--revision", "step-9")


def test_two_revisions_are_two_models_in_results(two, run, tmp_path):
    facts = tmp_path / "mine.jsonl"
    facts.write_text(
        json.dumps({"subject": "France", "relation": "capital", "object": "Paris", "prompt": PROMPT}) + "\n"
    )
    for words in ((), ("--revision", "step-100")):
        run("probe", "--model", "org/tiny-bert", "--facts", facts, "--head", "logit_lens", *words)
    rows = [read_table(path, "runs").to_pylist()[0] for path in (tmp_path / "cache" / "runs").glob("runs-*.parquet")]
    assert {row["model"]: row["model_revision"] for row in rows} == {"tiny-bert@step-100": two[0], "tiny-bert": two[1]}
    assert {stored_configuration(row["config"])["hub_id"] for row in rows} == {"org/tiny-bert"}


def test_the_api_opens_a_revision_and_offline_it_is_found_again(two, online):
    model = probing.load("org/tiny-bert", "logit_lens", revision="step-100", device="cpu")
    assert (model.name, model.encoder.revision, model.encoder.hub_id) == ("tiny-bert@step-100", two[0], "org/tiny-bert")
    online.offline()
    assert (
        probing.load("org/tiny-bert", "logit_lens", revision="step-100", device="cpu").encoder.weights_id
        == model.encoder.weights_id
    )
    with pytest.raises(ModelError, match="in memory"):
        probing.load(model.encoder.body, revision="step-100")
    with pytest.raises(OptionError, match="revision"):
        probing.load("org/tiny-bert", revision=3)


def test_a_registry_models_pin_is_replaced_under_another_name():
    pinned = read_registry().model("bert-base-uncased").revision
    again = find_entry("bert-base-uncased", revision=pinned)
    assert again == find_entry("bert-base-uncased")
    other = find_entry("google-bert/bert-base-uncased", revision="main")
    assert (other.name, other.revision, other.licence) == ("bert-base-uncased@main", "main", "Apache-2.0")
    assert find_entry("bert-base-uncased", revision="b" * 40).name == f"bert-base-uncased@{'b' * 12}"
    with pytest.raises(ModelError, match="another model of the registry"):
        find_entry("bert-base-uncased", name="bert-base-uncased", revision="main")
