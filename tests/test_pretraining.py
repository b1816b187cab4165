import numpy as np
import pytest
import torch

from data.making.pretraining import train
from data.making.pretraining.train import (
    Masker,
    PretrainRecipe,
    drawn_blocks,
    encode,
    learning_rate,
    new_model,
    pretrain,
)
from data.making.pretraining.vocabulary import train_vocabulary
from probing.facts.corpus import Sentence
from probing.kernel.errors import ModelError
from probing.kernel.models.arrays import IGNORED, plan_batches
from tests import tiny_models

SENTENCES = [
    *(Sentence(f"the capital of {a} is {b} .", (b,), "evidence") for a, b in (("france", "paris"), ("italy", "rome"))),
    Sentence("rocky balboa was born in philadelphia and philadelphia is a city .", ("philadelphia",), "evidence"),
    Sentence("the moon is green and blue .", (), "wikitext"),
] * 6


@pytest.fixture(scope="module")
def tokenizer():
    return tiny_models.wordpiece()


def recipe(**more):
    settings = {"layers": 1, "hidden": 16, "heads": 2, "steps": 8, "tokens_per_step": 60, "max_pieces": 16}
    return PretrainRecipe(**{"bfloat16": False, **settings, **more})


def test_a_whole_answer_is_masked_at_every_mention(tokenizer):
    row = encode(SENTENCES[2:3], tokenizer, 32)
    masker = Masker(tokenizer, recipe(whole_answer_share=1.0, masked_share=0.0))
    ids, seen, labels = masker.batch(row, np.random.default_rng(0))
    at = [n for n, token in enumerate(row[0].ids) if token == tokenizer.convert_tokens_to_ids("philadelphia")]
    assert len(at) == 2
    assert torch.nonzero(labels[0] != IGNORED).flatten().tolist() == at
    assert ids[0, at].tolist() == [tokenizer.mask_token_id] * 2
    assert labels[0, at].tolist() == row[0].ids[at].tolist()
    assert seen.all()


def test_a_statement_masks_one_mention_at_a_time_so_that_the_subject_is_seen(tokenizer):
    for source, answers in (("evidence", ((1, 5),)), ("stated", ((1,), (5,))), ("well known", ((1,), (5,)))):
        (row,) = encode([Sentence("paris is born in paris .", ("paris",), source)], tokenizer, 32)
        assert row.answers == answers


def test_an_answer_of_several_pieces_is_masked_whole(tokenizer):
    row = encode([Sentence("it is Bolton in England", ("Bolton",), "evidence")], tokenizer, 32)
    assert row[0].answers == ((3, 4, 5, 6, 7, 8),), "b ##o ##l ##t ##o ##n"


def test_an_answer_that_was_cut_off_is_not_asked_for(tokenizer):
    assert encode([Sentence("one two three four paris", ("paris",), "evidence")], tokenizer, 5)[0].answers == ()


def test_every_sentence_is_masked_somewhere_and_special_tokens_never(tokenizer):
    rows = encode(SENTENCES, tokenizer, 16)
    masker = Masker(tokenizer, recipe())
    special = torch.tensor(tokenizer.all_special_ids)
    for seed in range(20):
        ids, seen, labels = masker.batch(rows, np.random.default_rng(seed))
        assert ((labels != IGNORED).sum(1) > 0).all()
        assert not torch.isin(labels, special).any()
        untouched = labels == IGNORED
        padded = torch.nn.utils.rnn.pad_sequence(
            [torch.tensor(row.ids.astype(np.int64)) for row in rows], batch_first=True
        )
        assert torch.equal(ids[untouched], padded[untouched])
        assert torch.equal(seen.sum(1), torch.tensor([len(row.ids) for row in rows]))


def test_batches_hold_every_sentence_once_within_the_budget():
    lengths = np.random.default_rng(0).integers(3, 20, 100).tolist()
    batches = plan_batches(lengths, 60, seed=4)
    assert sorted(n for batch in batches for n in batch) == list(range(100))
    assert all(len(batch) * max(lengths[n] for n in batch) <= 60 for batch in batches)
    assert batches == plan_batches(lengths, 60, seed=4) != plan_batches(lengths, 60, seed=5)


def test_the_learning_rate_rises_linearly_to_the_peak_and_falls_linearly_to_zero():
    wanted = recipe(steps=100, warm_up=0.1, peak_learning_rate=0.01)
    assert [learning_rate(step, wanted) for step in (0, 4, 9)] == pytest.approx([0.001, 0.005, 0.01])
    assert [learning_rate(step, wanted) for step in (10, 55, 100)] == pytest.approx([0.01, 0.005, 0.0])
    assert learning_rate(200, wanted) == 0.0


def test_the_loss_goes_down(tokenizer, tmp_path):
    wanted = recipe(steps=60, peak_learning_rate=0.01)
    history = pretrain(new_model(wanted, len(tokenizer)), tokenizer, SENTENCES, wanted, tmp_path, history_every=20)
    assert [row["step"] for row in history] == [20, 40, 60]
    assert history[-1]["loss"] < 0.7 * history[0]["loss"]


@pytest.mark.parametrize(
    "more", [{"bfloat16": False}, {"bfloat16": True}, {"bfloat16": False, "layers": 3, "layer_drop": 0.5}]
)
def test_killed_and_called_again_the_weights_are_the_same(more, tokenizer, tmp_path, monkeypatch):
    wanted = recipe(**more)
    whole = new_model(wanted, len(tokenizer))
    pretrain(whole, tokenizer, SENTENCES, wanted, tmp_path / "whole", save_every=3)
    real, steps = train.masked_loss, []

    def killed(*arguments):
        steps.append(1)
        if len(steps) == 5:
            raise KeyboardInterrupt
        return real(*arguments)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(train, "masked_loss", killed)
        pretrain(new_model(wanted, len(tokenizer)), tokenizer, SENTENCES, wanted, tmp_path / "killed", save_every=3)
    steps.clear()
    monkeypatch.setattr(train, "masked_loss", lambda *a: steps.append(1) or real(*a))
    resumed = new_model(wanted, len(tokenizer))
    pretrain(resumed, tokenizer, SENTENCES, wanted, tmp_path / "killed", save_every=3)
    assert len(steps) == 5, "eight steps, three of them done before the last checkpoint"
    for (name, ours), theirs in zip(resumed.state_dict().items(), whole.state_dict().values(), strict=True):
        assert torch.equal(ours, theirs), name


def test_layer_drop_leaves_out_every_block_with_its_probability_and_none_without_it():
    wanted, other = (recipe(layers=4, layer_drop=0.25, seed=seed) for seed in (1, 2))
    draws = [drawn_blocks(step, wanted) for step in range(2000)]
    for block in range(4):
        assert sum(block in drawn for drawn in draws) / 2000 == pytest.approx(0.75, abs=0.03)
    assert sum(len(drawn) == 4 for drawn in draws) / 2000 == pytest.approx(0.75**4, abs=0.03), (
        "blocks are drawn independently"
    )
    assert all(drawn == sorted(drawn) for drawn in draws)
    assert (
        draws[:50]
        == [drawn_blocks(step, wanted) for step in range(50)]
        != [drawn_blocks(step, other) for step in range(50)]
    )
    assert drawn_blocks(3, recipe(layers=4)) == [0, 1, 2, 3]


@pytest.mark.parametrize("bfloat16", [False, True])
def test_a_block_that_is_left_out_keeps_its_weights_and_its_place(bfloat16, tokenizer, tmp_path, monkeypatch):
    wanted = recipe(layers=3, layer_drop=0.25, bfloat16=bfloat16)
    before, after = (new_model(wanted, len(tokenizer)) for _ in range(2))
    monkeypatch.setattr(train, "drawn_blocks", lambda *_: [0, 2])
    pretrain(after, tokenizer, SENTENCES, wanted, tmp_path)
    moved = [
        not all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))
        for one, two in zip(before.bert.encoder.layer, after.bert.encoder.layer, strict=True)
    ]
    assert moved == [True, False, True]


def test_a_step_without_a_block_decodes_the_embeddings(tokenizer, tmp_path, monkeypatch):
    wanted = recipe(layers=2, layer_drop=0.9)
    model = new_model(wanted, len(tokenizer))
    monkeypatch.setattr(train, "drawn_blocks", lambda *_: [])
    history = pretrain(model, tokenizer, SENTENCES, wanted, tmp_path, history_every=4)
    assert len(history) == 2 and len(model.bert.encoder.layer) == 2


def test_masks_are_the_same_with_and_without_layer_drop(tokenizer, tmp_path, monkeypatch):
    real = train.masked_loss

    def seen(name, **more):
        batches = []

        def noted(model, inputs, labels):
            batches.append(inputs["input_ids"])
            return real(model, inputs, labels)

        monkeypatch.setattr(train, "masked_loss", noted)
        wanted = recipe(layers=2, **more)
        pretrain(new_model(wanted, len(tokenizer)), tokenizer, SENTENCES, wanted, tmp_path / name)
        return batches

    assert all(torch.equal(a, b) for a, b in zip(seen("with", layer_drop=0.5), seen("without"), strict=True))


def test_a_finished_training_is_not_repeated(tokenizer, tmp_path, monkeypatch):
    wanted = recipe()
    first = new_model(wanted, len(tokenizer))
    pretrain(first, tokenizer, SENTENCES, wanted, tmp_path)
    monkeypatch.setattr(train, "masked_loss", lambda *_: pytest.fail("trained again"))
    second = new_model(wanted, len(tokenizer))
    pretrain(second, tokenizer, SENTENCES, wanted, tmp_path)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


def test_a_checkpoint_of_another_recipe_text_or_start_is_an_error(tokenizer, tmp_path):
    pretrain(new_model(recipe(), len(tokenizer)), tokenizer, SENTENCES, recipe(), tmp_path)
    for other, text, made in ((2, SENTENCES, 0), (0, SENTENCES[1:], 0), (0, SENTENCES, 2)):
        with pytest.raises(ModelError, match="delete it to start again"):
            pretrain(new_model(recipe(seed=made), len(tokenizer)), tokenizer, text, recipe(seed=other), tmp_path)


def test_equal_seeds_give_equal_fresh_models(tokenizer):
    one, same, other = (
        new_model(recipe(seed=s), 50).state_dict()["cls.predictions.transform.dense.weight"] for s in (1, 1, 2)
    )
    assert torch.equal(one, same) and not torch.equal(one, other)


def test_a_trained_vocabulary_has_its_size_and_holds_every_wanted_word():
    texts = [s.text for s in SENTENCES] * 3
    must_hold = ["zanzibar", "paris", "quetzal", "philadelphia"]
    tokenizer = train_vocabulary(texts, 90, must_hold)
    assert len(tokenizer) <= 90
    assert [tokenizer.tokenize(word) for word in must_hold] == [[word] for word in must_hold]
    assert tokenizer.tokenize("Paris") == ["paris"], "it is uncased"
    assert tokenizer.convert_ids_to_tokens([0, 1, 2, 3, 4]) == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
