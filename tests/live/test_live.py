import math

import pytest
import torch
from transformers import AutoModelForMaskedLM

from probing.facts.askable import answer_ids
from probing.kernel.errors import PromptError
from probing.kernel.fact import SEVERAL_TOKENS, Fact
from probing.kernel.models.head import DecodingHead
from probing.kernel.models.load import load_encoder
from probing.kernel.questions import SeveralMasks, TooLong, UnknownWord
from probing.live.ask import load_live, readable_token
from tests import tiny_models

PROMPT = "Rocky Balboa was born in [MASK]."


@pytest.fixture()
def live(bert):
    """The tiny BERT, read by its own head at every layer."""
    return load_live(bert, "logit_lens", None)


def logits_at(live, prompt, layer, position):
    """Logits of one layer, part by part."""
    row = live.encoder.tokenizer(prompt)["input_ids"]
    with torch.inference_mode():
        hidden = live.encoder.body(input_ids=torch.tensor([row]), output_hidden_states=True).hidden_states
        return live.heads[layer](hidden[layer][0, position]).tolist()


def softmax(scores):
    top = max(scores)
    powers = [math.exp(score - top) for score in scores]
    return [power / sum(powers) for power in powers]


def test_every_layer_answers_as_a_slow_version_does(live):
    answer = live.ask(PROMPT, top=7, watch=("Philadelphia", "boston"))
    assert [layer.layer for layer in answer.layers] == list(range(live.encoder.layers))
    tokenizer = live.encoder.tokenizer
    for layer in answer.layers:
        chances = softmax(logits_at(live, PROMPT, layer.layer, answer.mask_position))
        best = sorted(range(len(chances)), key=lambda n: -chances[n])[:7]
        assert [token.ids for token in layer.tokens] == [(n,) for n in best]
        assert [token.token for token in layer.tokens] == [tokenizer.convert_ids_to_tokens(n) for n in best]
        assert [token.probability for token in layer.tokens] == pytest.approx([chances[n] for n in best], abs=1e-5)
        assert [token.log_probability for token in layer.tokens] == pytest.approx(
            [math.log(chances[n]) for n in best], abs=1e-3
        )
        assert layer.entropy == pytest.approx(-sum(p * math.log(p) for p in chances if p > 0), abs=1e-4)
        for watched, word in zip(layer.watched, ("philadelphia", "boston"), strict=True):
            own = tokenizer.convert_tokens_to_ids(word)
            assert watched.rank == sum(chance >= chances[own] for chance in chances)
            assert watched.probability == pytest.approx(chances[own], abs=1e-5)


@pytest.mark.parametrize("gap", ["[mask]", "<mask>", "___"])
def test_a_gap_in_another_spelling_is_the_same_question(architecture, encoder_of, gap):
    model = load_live(encoder_of(architecture), "logit_lens", None)
    wanted, got = model.ask("Paris is in [MASK]."), model.ask(f"Paris is in {gap}.")
    assert (got.prompt, got.pieces, got.layers) == ("Paris is in [MASK].", wanted.pieces, wanted.layers)
    assert model.gaps(f"{gap} is in {gap}.") == 2
    assert model.fill_left_to_right(f"{gap} is in {gap}.")[0] == model.fill_left_to_right("[MASK] is in [MASK].")[0]


def test_probabilities_of_the_whole_vocabulary_sum_to_one(live):
    answer = live.ask(PROMPT, top=len(live.encoder.tokenizer))
    for layer in answer.layers:
        assert sum(token.probability for token in layer.tokens) == pytest.approx(1, abs=1e-5)
        assert sorted(token.ids[0] for token in layer.tokens) == list(range(len(live.encoder.tokenizer)))
        assert 0 <= layer.entropy <= math.log(len(layer.tokens))


def test_the_last_layer_is_that_of_transformers_for_the_filled_sentence_with_the_mask_put_in(
    architecture, folder_of, encoder_of
):
    encoder = encoder_of(architecture)
    answer = load_live(encoder, "logit_lens", None).ask(PROMPT, top=5, watch=["Philadelphia"])
    model = AutoModelForMaskedLM.from_pretrained(folder_of(architecture)).eval()
    (word,) = answer.layers[-1].watched
    row = encoder.tokenizer(PROMPT.replace("[MASK]", "Philadelphia"))["input_ids"]
    (own,) = word.ids
    assert row[answer.mask_position] == own
    row[answer.mask_position] = encoder.tokenizer.mask_token_id
    with torch.inference_mode():
        wanted = model(input_ids=torch.tensor([row])).logits[0, answer.mask_position].softmax(0)
    assert word.rank == 1 + int((wanted > wanted[own]).sum())
    assert [token.ids[0] for token in answer.layers[-1].tokens] == wanted.topk(5).indices.tolist()
    assert [token.probability for token in answer.layers[-1].tokens] == pytest.approx(
        wanted.topk(5).values.tolist(), abs=1e-5
    )
    assert len(answer.layers) == encoder.layers


def test_float64_models_answer(encoder_of):
    encoder = encoder_of("bert", torch.float64)
    assert load_live(encoder, "logit_lens", None).ask(PROMPT).layers[-1].tokens


def test_an_answer_says_what_was_read_where_and_how_long_it_took(live):
    answer = live.ask(PROMPT)
    assert answer.pieces == ("[CLS]", "rocky", "balboa", "was", "born", "in", "[MASK]", ".", "[SEP]")
    assert answer.pieces[answer.mask_position] == "[MASK]"
    assert (answer.model, answer.head, answer.device, answer.prompt) == ("tiny-bert", "logit_lens", "cpu", PROMPT)
    assert 0 < answer.seconds < 10
    assert [len(layer.tokens) for layer in answer.layers] == [10] * 4


def test_several_masks_are_named_with_their_positions(live):
    with pytest.raises(SeveralMasks, match="2 masks") as caught:
        live.ask("[MASK] was born in [MASK].")
    assert caught.value.positions == (1, 5)


def test_one_of_several_masks_is_read_while_the_others_stay(live):
    prompt = "[MASK] was born in [MASK]."
    answer = live.ask(prompt, top=1, mask_index=1)
    assert answer.mask_position == 5 and answer.pieces.count("[MASK]") == 2
    scores = logits_at(live, prompt, 3, 5)
    assert answer.layers[3].tokens[0].ids[0] == scores.index(max(scores))


def test_six_hundred_tokens_are_too_long_and_both_numbers_are_told(live):
    with pytest.raises(TooLong, match="takes at most 48") as caught:
        live.ask("it " * 600 + "[MASK]")
    assert (caught.value.pieces, caught.value.limit) == (603, 48)
    with pytest.raises(TooLong):
        live.fill_left_to_right("it " * 600 + "[MASK]")
    assert live.ask("it " * 45 + "[MASK]").mask_position == 46


@pytest.mark.parametrize(
    ("prompt", "gap", "word", "token"),
    [
        ("[MASK] paris is it.", 0, "and", "and"),
        ("It [MASK] is it.", 0, "and", "Ġand"),
        ("[MASK] paris [MASK] it.", 0, "and", "and"),
        ("[MASK] paris [MASK] it.", 1, "and", "Ġand"),
        ("<mask> paris <mask> it.", 1, "and", "Ġand"),
    ],
)
def test_a_watched_word_is_the_token_that_it_becomes_at_the_mask_that_is_asked(encoder_of, prompt, gap, word, token):
    encoder = encoder_of("roberta")
    live = load_live(encoder, "logit_lens", None)
    wanted = encoder.tokenizer.convert_tokens_to_ids(token)
    if encoder.tokenizer.convert_ids_to_tokens(wanted) != token:
        pytest.skip("the tiny vocabulary lacks the token")
    assert live.watched_ids(word, prompt, gap) == (wanted,)
    watched = live.ask(prompt, watch=[word], mask_index=gap).layers[1].watched[0]
    assert watched.ids == (wanted,)
    assert [
        one.ids for one in (answer.layers[0].watched[0] for answer in live.fill_left_to_right(prompt, watch=[word])[1])
    ][gap] == (wanted,)


@pytest.mark.parametrize("name", ["bert", "roberta", "albert", "modernbert"])
def test_a_followed_answer_has_the_rank_that_probe_stores(name, encoder_of):
    live = load_live(encoder_of(name), "logit_lens", None)
    for prompt, word in (
        ("[MASK] is the capital of it.", "one"),
        ("It was born in [MASK].", "Berlin"),
        ("([MASK]) is it.", "a"),
    ):
        token = answer_ids([Fact("own", "r", "s", word, prompt, prompt)], live.encoder)[0]
        if isinstance(token, int):
            watched = live.ask(prompt, watch=[f" {word} "]).layers[0].watched[0]
            assert (watched.ids, watched.token) == ((token,), f" {word} ") and watched.rank >= 1
            assert readable_token(live.encoder.tokenizer, token).lower() == word.lower()
        else:
            assert token == SEVERAL_TOKENS and len(live.watched_ids(word, prompt)) > 1


@pytest.mark.parametrize(
    ("name", "prompt", "token"),
    [
        ("bert", "It is [MASK].", "##s"),
        ("bert", "It is 19[MASK].", "##4"),
        ("roberta", "It is [MASK].", "ĠBerlin"),
        ("roberta", "It is one[MASK].", "ĠBerlin"),
        ("roberta", "[MASK] is it.", "ĠBerlin"),
        ("albert", "It is [MASK]ed.", "▁berlin"),
    ],
)
def test_a_token_can_be_followed_as_the_vocabulary_writes_it(name, prompt, token, encoder_of):
    live = load_live(encoder_of(name), "logit_lens", None)
    wanted = live.encoder.tokenizer.vocab[token]
    answer = live.ask(prompt, top=len(live.encoder.tokenizer), watch=[token])
    for layer in answer.layers:
        (followed,) = layer.watched
        assert followed.ids == layer.tokens[followed.rank - 1].ids == (wanted,)
    assert not answer.notes


def test_a_token_that_cannot_stand_there_as_a_word_is_followed_with_a_note(encoder_of):
    live = load_live(encoder_of("roberta"), "logit_lens", None)
    answer = live.ask("It is [MASK].", watch=["aris"])
    assert answer.layers[0].watched[0].ids == (live.encoder.tokenizer.vocab["aris"],)
    assert answer.notes == ("aris is not one token as a word here; the token aris of the vocabulary is followed.",)


@pytest.mark.parametrize(
    ("prompt", "word"), [("It is ber[MASK].", "lin"), ("It is [MASK]rlin.", "be"), ("It is on[MASK].", "e")]
)
def test_a_word_that_merges_with_letters_beside_the_gap_is_not_taken_for_another_token(prompt, word, live):
    with pytest.raises(UnknownWord, match=f"'{word}' merges with the letters beside the gap .*; write blanks between"):
        live.ask(prompt, watch=[word])


def test_unknown_pieces_and_special_tokens_that_were_typed_are_said(live):
    said = {
        "☃ is in [MASK].": "The model reads [CLS] [UNK] is in [MASK] . [SEP], where [UNK] stands for",
        "[CLS] It is in [MASK]. [SEP]": "The sentence has [CLS] and [SEP];",
        "<s>It is in [MASK].</s>": "The sentence has <s> and </s>;",
    }
    for prompt, words in said.items():
        (note,) = live.ask(prompt).notes
        assert note.startswith(words)


@pytest.mark.parametrize(
    "prompt",
    [
        "I 💛 [MASK] 🎉.",
        "👩‍👩‍👧 is [MASK]",
        "<script>alert('x')</script> [MASK] <b>&amp;</b>",
        "[SEP] [CLS] [PAD] [MASK] [UNK]",
        "$x^2$ **[MASK]** `code`\n\n# title",
        "\x00\u200b[MASK]\u202e",
        "[[MASK]]",
    ],
)
def test_emoji_and_markup_are_asked_like_any_text(prompt, architecture, encoder_of):
    answer = load_live(encoder_of(architecture), "logit_lens", None).ask(prompt, top=3)
    assert all(len(layer.tokens) == 3 for layer in answer.layers)
    assert not any(math.isnan(layer.entropy) for layer in answer.layers)


def test_filling_from_the_left_keeps_every_answer(live):
    text, (only,) = live.fill_left_to_right(PROMPT)
    assert only.layers == live.ask(PROMPT).layers and text.startswith("Rocky Balboa was born in ")
    text, answers = live.fill_left_to_right("[MASK] was born in [MASK].", top=2, watch=["paris"])
    assert [answer.mask_position for answer in answers] == [1, 5]
    assert "[MASK]" not in text and text.endswith(".") and " was born in " in text
    assert answers[0].pieces.count("[MASK]") == 2 and answers[1].pieces.count("[MASK]") == 1
    # The first mask holds the last layer's best token when the second is asked.
    specials = live.encoder.tokenizer.all_special_tokens
    best = [token.token for token in live.ask("[MASK] was born in [MASK].", 10, mask_index=0).layers[-1].tokens]
    assert answers[1].pieces[1] == next(token for token in best if token not in specials)
    assert all(layer.watched[0].rank >= 1 for answer in answers for layer in answer.layers)


def test_filling_ends_although_the_model_wants_another_mask(bert):
    head = DecodingHead(bert.head.dense, bert.head.activation, bert.head.norm, torch.nn.Linear(16, len(bert.tokenizer)))
    with torch.no_grad():
        head.vocabulary.weight.zero_()
        head.vocabulary.bias.zero_()
        for place, token in enumerate(("[MASK]", "[SEP]", "##s", "paris")):
            head.vocabulary.bias[bert.tokenizer.convert_tokens_to_ids(token)] = 9.0 - place
    live = load_live(bert, "logit_lens", None)
    live.heads = [head] * 4
    text, answers = live.fill_left_to_right("[MASK] is [MASK].")
    assert text == "##s is ##s."
    assert [answer.layers[-1].tokens[0].token for answer in answers] == ["[MASK]", "[MASK]"]
    # The word piece went in as one token, not as the text "##s".
    assert answers[1].pieces == ("[CLS]", "##s", "is", "[MASK]", ".", "[SEP]")


def test_tokens_are_shown_as_a_reader_writes_them(encoder_of):
    def text(name, token):
        tokenizer = encoder_of(name).tokenizer
        return readable_token(tokenizer, tokenizer.convert_tokens_to_ids(token))

    assert text("roberta", "ĠBerlin") == text("modernbert", "ĠBerlin") == "Berlin"
    assert text("albert", "▁berlin") == "berlin"
    assert text("roberta", "Ġ") == text("albert", "▁") == "␣"
    assert text("bert", "##s") == "##s"
    # Half of a letter in UTF-8 is shown as the tokenizer names it.
    assert text("roberta", "Ã") == "Ã"


def test_rows_of_the_vocabulary_matrix_without_a_token_are_shown_by_number(tmp_path):
    encoder = load_encoder(tiny_models.save("bert", tmp_path / "padded", padded=8), device="cpu")
    size = len(encoder.tokenizer)
    assert encoder.head.vocabulary.out_features == size + 8
    answer = load_live(encoder, "logit_lens", None).ask(PROMPT, top=size)
    assert any(token.token == f"unused {size}" for layer in answer.layers for token in layer.tokens)


def test_every_token_is_predicted_as_a_slow_version_does_and_the_gap_as_a_question_about_it(live):
    got, asked = live.every_token(PROMPT, top=5), live.ask(PROMPT, top=5)
    assert (
        got.pieces == asked.pieces
        and got.ids.shape == (live.encoder.layers, len(asked.pieces), 5) == got.probabilities.shape
    )
    assert list(got.own) == live.encoder.tokenizer(PROMPT)["input_ids"]
    for layer in range(live.encoder.layers):
        at_gap = asked.layers[layer].tokens
        assert got.ids[layer, asked.mask_position].tolist() == [token.ids[0] for token in at_gap]
        assert [got.words[token.ids[0]] for token in at_gap] == [token.token for token in at_gap]
        for position in range(len(got.pieces)):
            chances = softmax(logits_at(live, PROMPT, layer, position))
            best = sorted(range(len(chances)), key=lambda n: -chances[n])[:5]
            assert got.ids[layer, position].tolist() == best
            assert got.probabilities[layer, position].tolist() == pytest.approx([chances[n] for n in best], abs=1e-5)


def test_a_text_without_a_gap_is_predicted_and_an_empty_or_endless_one_is_not(live, monkeypatch):
    text = "Rocky Balboa was born in Philadelphia."
    at_once = live.every_token(text, top=3)
    monkeypatch.setattr("probing.live.ask._AT_ONCE", 2)
    in_blocks = live.every_token(text, top=3)
    assert (at_once.ids == in_blocks.ids).all() and at_once.probabilities == pytest.approx(
        in_blocks.probabilities, abs=1e-6
    )
    for wrong, error in ((" ", PromptError), ("word " * 5000, TooLong)):
        with pytest.raises(error):
            live.every_token(wrong)
    for top in (0, len(live.encoder.tokenizer) + 1):
        with pytest.raises(PromptError, match=f"got top {top}"):
            live.every_token(text, top)
