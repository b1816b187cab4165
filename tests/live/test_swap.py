"""One sentence's state in another's gap, and words hidden from a gap: both ends are known, and mistakes are named."""

import pytest
import torch

import probing
from probing.kernel.errors import PromptError
from probing.kernel.models.layer_swap import NotReplaceable
from probing.kernel.models.states import all_hidden_states, tokenize
from probing.live.ask import load_live
from probing.live.swap import ask_cut, ask_swapped, word_places

FIRST, SECOND = "paris is the capital of [MASK].", "rocky balboa was born in [MASK]."


@pytest.fixture
def live(encoder_of):
    return load_live(encoder_of("bert"), "logit_lens", None)


def words(layer):
    return [(token.ids, token.log_probability) for token in layer.tokens]


def test_at_the_last_layer_the_first_sentence_speaks_and_a_sentence_put_into_itself_changes_nothing(live):
    found = ask_swapped(live, FIRST, SECOND, 5, ["rome"])
    assert [layer.layer for layer in found.layers] == [0, 1, 2, 3] and found.prompt == SECOND
    own = {sentence: live.ask(sentence, 5).layers[-1] for sentence in (FIRST, SECOND)}
    assert [ids for ids, _ in words(found.layers[-1])] == [ids for ids, _ in words(own[FIRST])]
    for layer in ask_swapped(live, SECOND, SECOND, 5).layers:
        assert [ids for ids, _ in words(layer)] == [ids for ids, _ in words(own[SECOND])]
    assert [ids for ids, _ in words(found.layers[0])] == [ids for ids, _ in words(own[SECOND])], "a mask is a mask"
    assert all(layer.watched[0].token == "rome" for layer in found.layers)


def test_each_row_is_the_whole_model_with_that_state_put_in_by_a_hook(live):
    encoder, found = live.encoder, ask_swapped(live, FIRST, SECOND, 3)
    first, second = tokenize([FIRST, SECOND], encoder)
    mask = encoder.tokenizer.mask_token_id
    given, gap = all_hidden_states([first], encoder)[2][0, first.index(mask)], second.index(mask)

    def put(_module, _args, output):
        output = output.clone()
        output[0, gap] = given
        return output

    hook = encoder.body.encoder.layer[1].register_forward_hook(put)
    with torch.no_grad():
        last = encoder.body(input_ids=torch.tensor([second])).last_hidden_state[:, gap]
        best = encoder.head(last).topk(3).indices[0].tolist()
    hook.remove()
    assert [token.ids for token in found.layers[2].tokens] == [(token,) for token in best]


def test_hidden_words_are_cut_from_the_gap_above_each_layer(live):
    found, own = ask_cut(live, SECOND, ["rocky", "born"], 5), live.ask(SECOND, 5).layers[-1]
    assert [ids for ids, _ in words(found.layers[-1])] == [ids for ids, _ in words(own)]
    assert words(found.layers[0]) != words(found.layers[-1])
    row = tokenize([SECOND], live.encoder)[0]
    tokens = live.encoder.tokenizer.convert_ids_to_tokens([row[place] for place in word_places(live, SECOND, ["born"])])
    assert tokens == ["born"]


def test_mistakes_are_named(live, encoder_of):
    with pytest.raises(PromptError, match="expected words of"):
        ask_cut(live, SECOND, ["paris"])
    with pytest.raises(PromptError, match="several tokens"):
        ask_swapped(live, FIRST, SECOND, 5, ["red green"])
    with pytest.raises(PromptError, match="no \\[MASK\\]"):
        ask_swapped(live, "no gap", SECOND)
    for sentences in ((FIRST, "[MASK] is [MASK]"), ("[MASK] is [MASK]", SECOND)):
        with pytest.raises(PromptError, match="2 masks"):
            ask_swapped(live, *sentences)
    with pytest.raises(NotReplaceable, match="no token can be kept"):
        ask_cut(load_live(encoder_of("fnet"), "logit_lens", None), FIRST, ["paris"])
    with pytest.raises(NotReplaceable, match="ALBERT"):
        ask_swapped(load_live(encoder_of("albert"), "logit_lens", None), FIRST, SECOND)


def test_a_notebook_has_both(folder_of):
    model = probing.load(str(folder_of("bert")), "logit_lens", device="cpu")
    swapped, cut = model.swap(FIRST, SECOND, top=2, watch="rome"), model.cut(SECOND, "rocky", top=2)
    assert len(swapped.table) == len(cut.table) == 8 and len(swapped.watched) == 4
    assert swapped.figure().data
