"""``forgetting recover`` from folders and a file of facts to tables and JSON."""

import json
import shutil

import pytest
import torch
from transformers import AutoModelForMaskedLM

from probing.core.errors import FactsError, ModelError
from tests.models.forgetting.planted import SENTENCES, facts, trained


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    """Folders of a base that knows 300 facts, and of the base with a spoilt last layer."""
    root = tmp_path_factory.mktemp("forgetting")
    trained(facts()[:300], root / "planted")
    shutil.copytree(root / "planted", root / "spoilt")
    model = AutoModelForMaskedLM.from_pretrained(root / "planted")
    with torch.no_grad():
        for one in model.bert.encoder.layer[3].parameters():
            one.copy_(torch.randn(one.shape, generator=torch.Generator().manual_seed(2)) * 0.3)
    model.save_pretrained(root / "spoilt")
    return root


@pytest.fixture()
def asked(tmp_path):
    """The facts and a text as files."""
    rows = [{"subject": f.subject, "relation": f.relation, "object": f.object, "prompt": f.prompt} for f in facts()]
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "text.txt").write_text("".join(f" {sentence} \n" for sentence in SENTENCES))
    return tmp_path


def recovered(run, folders, asked, model="spoilt", *more):
    given = ("--model", folders / model, "--base", folders / "planted", "--facts", asked / "mine.jsonl", "--text", asked / "text.txt")
    return run("forgetting", "recover", *given, "--seeds", 1, "--positions", 1000, *more)


def test_lost_facts_are_shown_by_way_with_yardsticks_and_written_as_json(run, cache, folders, asked):
    output = recovered(run, folders, asked, "spoilt", "--out", asked / "all.json").output
    assert "spoilt lost " in output and "- layers put back: " in output and "| relearned | " in output
    tables = output.split("They come back by")[1].split("wrote ")[0]
    found = json.loads((asked / "all.json").read_text())
    assert found["known"] > 280 and len(found["facts"]) > 50
    assert len({row["fact"] for row in found["facts"]}) == len(found["facts"])
    assert {row["way"] for row in found["shares"]} == {"another layer", "fitted head", "layers put back", "relearned"}
    assert all(0 <= row["low"] <= row["share"] <= row["high"] <= 1 for row in found["shares"])
    again = recovered(run, folders, asked, "spoilt", "--out", asked / "again.json").output
    assert [text.split("They come back by")[1].split("wrote ")[0] for text in (again, output)] == [tables] * 2
    assert (asked / "again.json").read_bytes() == (asked / "all.json").read_bytes()


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
