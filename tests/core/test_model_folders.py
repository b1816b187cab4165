"""What is known of a model without loading it."""

import json
import subprocess
import sys

import pytest

from probing.core.errors import ModelError
from probing.core.model_folders import FINETUNING, base_entry, find_entry, finetuning_note, variant_and_seed
from probing.core.tasks.training_length import training_of
from probing.ui.frame.live_models import Choice, base_of


def test_a_model_is_looked_up_without_torch():
    code = (
        "import sys; from probing.core.model_folders import find_entry; find_entry('nesia-mini'); print('torch' in"
        " sys.modules)"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
        == "False"
    )


def test_the_note_beside_a_model_names_its_base(tmp_path):
    assert finetuning_note(tmp_path) == {} and find_entry(str(tmp_path)).base == ""
    (tmp_path / FINETUNING).write_text(json.dumps({"base": "nesia-mini", "objective": "QA-SQuAD-1"}), encoding="utf-8")
    entry = find_entry(str(tmp_path))
    assert (entry.base, entry.objective, base_entry(entry).name) == ("nesia-mini", "QA-SQuAD-1", "nesia-mini")


@pytest.mark.parametrize("text", ["[half", "[]", '"text"', "\0"])
def test_a_damaged_note_is_an_error_where_the_model_is_opened_and_no_note_elsewhere(tmp_path, monkeypatch, text):
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path))
    folder = tmp_path / "models" / "mine"
    folder.mkdir(parents=True)
    (folder / FINETUNING).write_text(text, encoding="utf-8")
    for read in (finetuning_note, variant_and_seed, lambda place: find_entry(str(place))):
        with pytest.raises(
            ModelError, match=r"finetuning\.json is not what finetune writes .*; fine-tune the model again"
        ):
            read(folder)
    assert training_of("mine") is None
    assert base_of(Choice("mine", str(folder), "")) == ""


def test_models_that_differ_by_the_seed_of_their_fine_tuning_alone_have_one_variant(tmp_path):
    def noted(name, **fields):
        folder = tmp_path / name
        folder.mkdir()
        recipe = {"objective": "cola", "base_weights": "w", "data_sha256": "d", "learning_rate": 2e-5} | fields
        (folder / FINETUNING).write_text(
            json.dumps({"base": "b", "objective": "CoLA", "recipe": recipe}), encoding="utf-8"
        )
        return variant_and_seed(folder)

    first = noted("first")
    assert first[1] == 1 and len(first[0]) == 12 and int(first[0], 16) >= 0
    assert noted("second", seed=2) == (first[0], 2)
    # What an old recipe does not say is what its defaults say.
    assert noted("said", pooling="first", schedule="linear", beta2=0.999, dropout=None, fresh_pooler=False) == first
    others = [{"steps": 5}, {"pooling": "mean"}, {"beta2": 0.99}]
    assert len({first[0], *(noted(f"other-{n}", **one)[0] for n, one in enumerate(others))}) == 4
    assert variant_and_seed(tmp_path) == ("", None)
    (tmp_path / FINETUNING).write_text(
        json.dumps({"base": "b", "objective": "CoLA", "recipe": {"rate": 1}}), encoding="utf-8"
    )
    with pytest.raises(ModelError, match="is not what finetune writes"):
        variant_and_seed(tmp_path)


@pytest.mark.parametrize("model", ["~no-such-user/model", f"/{'x' * 300}"])
def test_a_text_that_can_be_no_folder_is_an_error_of_the_model(model):
    with pytest.raises(ModelError, match="can be no folder"):
        find_entry(model)
