"""Planted facts: what is taught is known, what is guessed was never taught, and the fine-tuning is the recorded one."""

import json
import shutil

import numpy as np
import pytest
import torch

import probing.forgetting.plant as module
from probing.facts.askable import answer_ids
from probing.finetuning.finetune import finetune
from probing.finetuning.requests import FinetuneRequest, TrainingLength
from probing.forgetting.ranks import Prompts, ranks
from probing.kernel.fact import FactSet
from probing.kernel.models.catalogue import open_encoder
from probing.kernel.models.load import load_encoder
from probing.kernel.models.names import find_entry
from tests.finetuning.task_files import write_conll
from tests.forgetting.planted import KNOWN, facts, planted_base

torch.set_num_threads(1)
NUMBER = 12
LENGTH = TrainingLength(steps=9, tokens=200, rate=1e-3, pieces=32, dropout=0.1, looks=3)


@pytest.fixture(scope="module")
def place(folder_of_run, tmp_path_factory):
    """A base, a model that was fine-tuned from it, and a cache with the data."""
    root = tmp_path_factory.mktemp("planting")
    base = shutil.copytree(planted_base(folder_of_run), root / "base")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROBING_CACHE", str(root / "cache"))
        write_conll(root / "cache" / "downloads" / "conll2003")
        request = FinetuneRequest(
            str(base), "ner-conll", out=root / "tuned", length=LENGTH, difference=True, bits=4, device="cpu"
        )
        finetune(request, lambda line: None)
        yield root


def control(place, folder, number=NUMBER, entry=None):
    base = load_encoder(place / "base", device="cpu")
    every = FactSet("trex", tuple(facts()), len(facts()), {})
    entry = entry or find_entry(str(place / "tuned"))
    return module.planted(entry, base, every, answer_ids(facts(), base), 2 * number, folder, 1, lambda line: None)


@pytest.fixture(scope="module")
def made(place, tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    return control(place, folder), folder


def test_planted_answers_are_wrong_and_known_and_guesses_were_never_taught(place, made):
    found, base = made[0], load_encoder(place / "base", device="cpu")
    before = {fact.prompt: fact for fact in facts()}
    right = {relation: {fact.object for fact in facts() if fact.relation == relation} for relation in ("P0", "P1")}
    olds = [before[fact.prompt] for fact in found.kept.facts]
    prompts = Prompts.of([fact.prompt for fact in olds], base)
    of_old, untaught, taught = (
        ranks(model, prompts, gold)[0]
        for model, gold in ((base, answer_ids(olds, base)), (base, found.gold), (found.base, found.gold))
    )
    kinds = np.array(found.exposure)
    planted, guessed = kinds == "planted", kinds == "guessed"
    assert answer_ids(found.kept.facts, base) == found.gold and planted.sum() == NUMBER
    assert guessed.sum() + found.kept.left_out.get(module.NO_GUESS, 0) == NUMBER
    assert found.kept.n_read == len(found.kept.facts) + sum(found.kept.left_out.values())
    for fact, old, changed in zip(found.kept.facts, olds, planted | guessed, strict=True):
        assert (fact.object != old.object and fact.object in right[fact.relation]) if changed else fact == old
    assert (of_old[planted | guessed] > 1).all() and (untaught[planted] > 1).all()
    assert (taught[planted] == 1).mean() >= 0.9 and (taught[guessed] == 1).all()
    numbers, others = (list(one) for one in zip(*found.untaught, strict=True))
    never, given = prompts.some(numbers), [others, [found.gold[n] for n in numbers]]
    assert len(set(numbers)) == NUMBER and not {*numbers} & {*np.flatnonzero(kinds != "").tolist()}
    assert all(token != own for token, own in zip(*given, strict=True)) and (ranks(base, never, others)[0] > 1).all()
    assert (ranks(found.base, never, others)[0] == 1).mean() < 0.5
    known = (kinds == "") & (of_old == 1)
    assert known.sum() > 0.9 * KNOWN and (taught[known] == 1).mean() > 0.9


def test_the_recipe_is_the_recorded_one_and_a_second_call_reads_both_models(place, made, monkeypatch):
    first, folder = made
    (note,) = folder.rglob("tuned-planted-*/finetuning.json")
    again, recorded = (json.loads(path.read_text())["recipe"] for path in (note, place / "tuned" / "finetuning.json"))
    assert (
        recorded.pop("looks") == 3 and again.pop("base_weights") != recorded.pop("base_weights") and again == recorded
    )
    for name in ("_taught", "finetune"):
        monkeypatch.setattr(module, name, lambda *_, **__: pytest.fail("made again"))
    second = control(place, folder)
    for name in ("gold", "exposure", "kept", "untaught"):
        assert getattr(second, name) == getattr(first, name)
    assert (second.base.weights_id, second.tuned.weights_id) == (first.base.weights_id, first.tuned.weights_id)


def test_an_untaught_base_becomes_the_recorded_model_after_a_kill_too(place, tmp_path, monkeypatch):
    def killed(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_taught", lambda base, *_: base)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(module, "finetune", killed)
        control(place, tmp_path)
    monkeypatch.setattr(module, "_taught", killed)
    note = json.loads((place / "tuned" / "finetuning.json").read_text())
    assert note["kept_step"] < note["steps"], "a look chose an earlier state"
    weights, expected = (
        control(place, tmp_path).tuned.body.state_dict(),
        open_encoder(str(place / "tuned"), device="cpu").body.state_dict(),
    )
    assert all(torch.equal(weights[name], one) for name, one in expected.items())
