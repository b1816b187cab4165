"""Words of several tokens through the layers, and gaps of several pieces, against slow versions and planted answers."""

import math
from functools import partial

import pytest
import torch
from transformers import AutoModelForMaskedLM

from probing.facts.candidates import rank_all
from probing.kernel.errors import PromptError
from probing.kernel.models.head import DecodingHead
from probing.kernel.models.states import tokenize
from probing.kernel.questions import SeveralMasks, TooLong, UnknownWord
from probing.live import ask as module
from probing.live.ask import LiveModel, load_live
from tests.facts.test_candidates import PROMPTS, SUBJECTS, TEXTS, by_hand, knowing, scorer_of
from tests.kernel.test_architectures import cut_at

#: A fixture of the tests of candidates: an encoder whose layer 1 alone gives each of 30 subjects its answer, and heads.
knows = knowing
PROMPT = "Rocky Balboa was born in [MASK]."


@pytest.fixture()
def live(bert):
    return load_live(bert, "logit_lens", None)


def logp_at(model, row: list[int], start: int, pieces: int) -> torch.Tensor:
    """(pieces, vocabulary) log-probabilities of a model of transformers."""
    with torch.inference_mode():
        return model(input_ids=torch.tensor([row])).logits[0, start : start + pieces].log_softmax(-1)


@pytest.mark.parametrize("name", ["bert", "roberta", "modernbert"])
def test_a_followed_phrase_is_what_candidates_and_transformers_say(name, folder_of, encoder_of):
    encoder, exact = encoder_of(name), encoder_of(name, torch.float64)
    model = AutoModelForMaskedLM.from_pretrained(folder_of(name)).eval()
    for prompt in PROMPTS:
        cut, ranked = rank_all(prompt, TEXTS, scorer_of(exact))
        texts = [text for text, pieces in zip(TEXTS, cut.pieces, strict=True) if 1 < len(pieces) <= 5]
        assert len(texts) >= 3
        # Doubled numbers against Scorer's, which are doubled, too; those of transformers are not.
        doubled = load_live(exact, "logit_lens", None).ask(prompt, 1, texts, pieces=1)
        for number, text in enumerate(texts):
            wanted = [layer.watched[number].probability for layer in doubled.layers]
            found = ranked["log_likelihood"][:, TEXTS.index(text)]
            assert [math.log(value) for value in wanted] == pytest.approx(found.tolist(), abs=1e-6)
            assert found == pytest.approx(by_hand(model, encoder.tokenizer, prompt, text, "independent"), abs=1e-4)
            ids, at, row = cut.pieces[TEXTS.index(text)], doubled.mask_position, tokenize([prompt], encoder)[0]
            masked = [*row[:at], *[encoder.tokenizer.mask_token_id] * len(ids), *row[at + 1 :]]
            last = logp_at(model, masked, at, len(ids))
            worst = max(int((of >= of[token]).sum()) for of, token in zip(last, ids, strict=True))
            assert doubled.layers[-1].watched[number].rank == worst


def test_a_phrase_that_one_layer_alone_raises_is_found_there(knows):
    encoder, heads = knows
    live = LiveModel(encoder, heads, "planted")
    for subject, phrase in ((SUBJECTS[0], "red green blue"), (SUBJECTS[1], "one two three"), (SUBJECTS[2], "moon sun")):
        answer = live.ask(f"The music of {subject} is [MASK].", 3, (phrase,))
        assert answer.filled == len(phrase.split()) == answer.pieces.count("[MASK]")
        for layer in answer.layers:
            assert (layer.watched[0].rank == 1) == (layer.tokens[0].token == phrase) == (layer.layer == 1)
        best = answer.layers[1]
        assert best.tokens[0].ids == best.watched[0].ids and best.tokens[0].probability > best.tokens[1].probability


def slowly(model, row: list[int], at: int, pieces: int, lost: set[int], beam: float, top: int) -> dict:
    """Best first by its definition: all tokens at all masks of all kept fillings, one pass for each of them."""
    mask, kept = row[at], {(row[at],) * pieces: 0.0}
    for step in range(pieces):
        found: dict[tuple[int, ...], float] = {}
        for filled, score in kept.items():
            logp = logp_at(model, [*row[:at], *filled, *row[at + 1 :]], at, pieces).tolist()
            for place in (place for place, token in enumerate(filled) if token == mask):
                for token in set(range(len(logp[0]))) - lost:
                    new = (*filled[:place], token, *filled[place + 1 :])
                    found[new] = max(found.get(new, -math.inf), score + logp[place][token])
        ranked = sorted(found, key=lambda filled: -found[filled])
        kept = {filled: found[filled] for filled in ranked[: beam if step < pieces - 1 else top]}
    return kept


@pytest.mark.parametrize(("name", "pieces", "beam"), [("bert", 3, 5), ("albert", 2, 5), ("bert", 2, 10_000)])
def test_every_layer_fills_best_first_as_a_slow_version_of_the_model_cut_there_does(
    name, pieces, beam, folder_of, encoder_of, monkeypatch
):
    """With a beam for every filling the best of all phrases, in the better of the two orders, is found."""
    monkeypatch.setattr(module, "BEAM", beam)
    encoder = encoder_of(name)
    answer = load_live(encoder, "logit_lens", None).ask(PROMPT, 7, pieces=pieces)
    row, lost = tokenize([PROMPT], encoder)[0], set(encoder.tokenizer.all_special_ids)
    for layer in answer.layers[1 if beam == 5 else -1 :]:
        wanted = slowly(cut_at(folder_of(name), layer.layer), row, answer.mask_position, pieces, lost, beam, 7)
        assert [one.log_probability for one in layer.tokens] == pytest.approx(list(wanted.values()), abs=1e-4)
        assert {one.ids for one in layer.tokens[:6]} <= set(wanted)
        for one in layer.tokens:
            assert one.probability == pytest.approx(math.exp(one.log_probability))


def test_no_piece_is_a_token_that_stands_for_no_word_and_pieces_are_joined(bert):
    head = DecodingHead(bert.head.dense, bert.head.activation, bert.head.norm, torch.nn.Linear(16, len(bert.tokenizer)))
    with torch.no_grad():
        head.vocabulary.weight.zero_()
        head.vocabulary.bias.zero_()
        for place, token in enumerate(("[MASK]", "[SEP]", "[UNK]", "paris", "##s")):
            head.vocabulary.bias[bert.tokenizer.convert_tokens_to_ids(token)] = 9.0 - place
    answer = LiveModel(bert, [head] * 4, "planted").ask(PROMPT, 4, pieces=2)
    for layer in answer.layers:
        assert layer.tokens[0].token == "paris paris"
        assert {"pariss", "##s paris"} == {one.token for one in layer.tokens[1:3]}


def test_tokens_of_a_phrase_are_shown_as_the_phrase(architecture, encoder_of):
    live = load_live(encoder_of(architecture), "logit_lens", None)
    ids = live.watched_ids("red green", "It is [MASK] and it.")
    assert live._text(ids).replace(" ", "") == "redgreen" and ("esm" in architecture or " " in live._text(ids))


def test_one_piece_and_followed_phrases_leave_the_numbers_of_one_token(live):
    alone = live.ask(PROMPT, 5, ("paris",))
    both = live.ask(PROMPT, 5, ("paris", "red green blue"))
    assert live.ask(PROMPT, 5, ("paris",), pieces=1).layers == alone.layers
    assert [(one.tokens, one.watched[0], one.entropy) for one in both.layers] == [
        (one.tokens, one.watched[0], one.entropy) for one in alone.layers
    ]
    # The followed word does not change how the gap is filled, and the other way round.
    three = live.ask(PROMPT, 5, ("paris",), pieces=3)
    assert [one.watched for one in three.layers] == [one.watched for one in alone.layers] and three.filled == 3
    assert [one.tokens for one in live.ask(PROMPT, 5, ("red green blue",)).layers] == [
        one.tokens for one in three.layers
    ]


def test_of_several_gaps_one_is_filled_or_followed_and_the_others_stay(live):
    prompt = "[MASK] was born in [MASK]."
    answer = live.ask(prompt, 3, ("red green",), 1)
    assert answer.pieces.count("[MASK]") == 3 and answer.mask_position == 5 and answer.filled == 2
    _, filled = live.fill_left_to_right(prompt, 3, ("red green",))
    first = live.ask(prompt, 3, ("red green",), 0, 1)
    assert filled[0].layers == first.layers and filled[1].layers[0].watched[0].rank >= 1
    with pytest.raises(SeveralMasks):
        live.ask(prompt, pieces=2)


def test_what_cannot_be_filled_or_followed_is_refused(live):
    ask = partial(live.ask, PROMPT)
    for given, error, words in (
        ({"watch": ["one two three one two three"]}, UnknownWord, "6 tokens"),
        ({"watch": ["привет"]}, UnknownWord, "no tokens"),
        ({"watch": ["[MASK]"]}, UnknownWord, "expected a word"),
        ({"watch": [" "]}, UnknownWord, "expected a word"),
        ({"pieces": 0}, PromptError, "1 to 5"),
        ({"pieces": 6}, PromptError, "1 to 5"),
        ({"pieces": 2, "top": 0}, PromptError, "top 0"),
    ):
        with pytest.raises(error, match=words):
            ask(**given)
    assert len(live.ask("it " * 44 + "[MASK]", pieces=2).pieces) == 48
    whole = "it " * 45 + "[MASK]"
    with pytest.raises(TooLong, match="with 2 in the gap has 49"):
        live.ask(whole, pieces=2)
    assert live.ask(whole, watch=["paris"]).filled == 1
    with pytest.raises(UnknownWord, match="room for one to 1,"):
        live.ask(whole, watch=["paris", "red green"])
