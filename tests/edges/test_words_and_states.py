"""Which pieces a span has, what layer 0 is, and states on disk."""

import logging

import numpy as np
import pytest
import torch

from probing.edges import states as module
from probing.edges.states import STEPS, cut_words, lexical_states, part_arrays, word_states
from probing.edges.targets import Part, Record, Target
from probing.kernel.errors import ModelError
from probing.kernel.models.head import PARTS
from probing.kernel.models.load import load_encoder
from probing.sentences.examples import Example
from probing.sentences.vectors import sentence_states
from tests import tiny_models

LONG = ("paris", "rome") * 30


def record(*words: str, spans=((0, 1),)) -> Record:
    return Record(words, tuple(Target(span, None, ("x",)) for span in spans))


def pieces_of(encoder, words, span) -> list[str]:
    cut = cut_words([words], encoder)[0]
    ids = [piece for word in range(*span) for piece in cut.ids[cut.first[word] : cut.last[word]]]
    return encoder.tokenizer.convert_ids_to_tokens(ids)


def test_a_sentence_is_cut_as_its_words_with_blanks_between_them_are(encoder_of, architecture):
    encoder = encoder_of(architecture)
    words = ("The", "capital", "of", "Italy", "is", "Rome", ",", "it", "do", "n't", "play", ".")
    (cut,) = cut_words([words], encoder)
    assert list(cut.ids) == encoder.tokenizer(" ".join(words))["input_ids"]
    assert cut.beyond == len(words) and all(last > first for first, last in zip(cut.first, cut.last, strict=True))
    assert cut.first[0] == 1 and list(cut.first[1:]) == list(cut.last[:-1]) and cut.last[-1] == len(cut.ids) - 1


def test_a_word_has_all_its_pieces_and_a_span_those_of_its_words(bert, encoder_of):
    words = ("The", "zebra", "plays", "do", "n't")
    assert pieces_of(bert, words, (1, 3)) == ["z", "##e", "##b", "##r", "##a", "plays"]
    assert pieces_of(encoder_of("roberta"), ("It", "is", "Rome"), (2, 3)) == encoder_of("roberta").tokenizer.tokenize(
        " Rome"
    )


def test_words_without_pieces_are_skipped_and_a_span_of_none_else_is_left_out(bert, tmp_path):
    asked = record("\x07", "paris", "\u00ad", "is", "\x07", spans=((0, 1), (2, 3), (0, 3), (1, 4), (4, 5)))
    found = word_states([asked], bert, tmp_path)
    arrays = part_arrays(Part((asked,)), found, ["x"])
    assert arrays.left_out == {"words without word pieces": 3}
    assert arrays.target.tolist() == [2, 3] and np.diff(arrays.spans[0].starts).tolist() == [1, 2]


def test_texts_that_the_vocabulary_does_not_know_are_counted(bert, tmp_path, caplog):
    rows = [record("ሀለሐ", "መሠ", "ረሰቀ"), record("paris", "is", "ረሰቀ"), record("rome")]
    word_states(rows, bert, tmp_path)
    sentence_states([Example(" ".join(row.words), "a") for row in rows], bert, tmp_path)
    assert caplog.text.count(f"texts mostly unknown to the vocabulary of {bert.name}: 1 of 3") == 2


def test_targets_behind_the_longest_input_are_left_out_and_counted(encoder_of, architecture, tmp_path):
    encoder = encoder_of(architecture)
    (cut,) = cut_words([LONG], encoder)
    (whole,) = cut_words([LONG[:5]], encoder)
    assert len(cut.ids) == encoder.max_pieces and cut.ids[-1] == whole.ids[-1], "the token at the end stays there"
    one = cut.last[3] - cut.first[3]
    # A word that is cut in two is beyond it.
    assert (
        cut.last[cut.beyond - 1]
        <= encoder.max_pieces - 1
        < cut.last[cut.beyond - 1] + max(one, cut.last[4] - cut.first[4])
    )
    asked = record(
        *LONG,
        spans=((0, 1), (cut.beyond - 1, cut.beyond), (cut.beyond - 1, cut.beyond + 1), (len(LONG) - 1, len(LONG))),
    )
    found = word_states([asked, record("paris")], encoder, tmp_path)
    arrays = part_arrays(Part((asked,)), found, ["x"])
    assert arrays.left_out == {"beyond the model's longest input": 2} and arrays.target.tolist() == [0, 1]


def test_stored_states_are_those_of_the_sentence_alone(encoder_of, architecture, tmp_path):
    encoder = encoder_of(architecture)
    records = [
        record("the", "capital", "of", "Spain", spans=((3, 4), (0, 2))),
        record("Rocky", "plays", "jazz", "zebra", spans=((2, 4),)),
    ]
    found = word_states(records, encoder, tmp_path, "float32")
    assert (found.layers, found.hidden) == (encoder.layers, encoder.hidden)
    for asked in records:
        (cut,) = cut_words([asked.words], encoder)
        with torch.no_grad():
            states = encoder.body(torch.tensor([cut.ids]), output_hidden_states=True).hidden_states
        for target in asked.targets:
            pieces = found.pieces(asked, target.span1)
            wanted = torch.stack(
                [layer[0, cut.first[target.span1[0]] : cut.last[target.span1[1] - 1]] for layer in states], 1
            )
            torch.testing.assert_close(found.read(pieces)[:, 1:], wanted[:, 1:], rtol=1e-4, atol=1e-5)
    norms = np.linalg.norm(np.concatenate([np.asarray(file) for file in found.files]), axis=2).mean(0)
    assert found.norms == pytest.approx(norms, rel=1e-6)


def test_layer_0_is_the_same_wherever_a_word_is(encoder_of, architecture, tmp_path):
    assert set(STEPS) == set(PARTS)
    encoder = encoder_of(architecture)
    asked = record("red", "jazz", "is", "jazz", "and", "blue", "jazz", spans=((1, 2), (3, 4), (6, 7)))
    shuffled = record("is", "blue", "jazz", "and", "red", spans=((2, 3),))
    found = word_states([asked, shuffled], encoder, tmp_path)
    states = [found.read(found.pieces(one, target.span1)) for one in (asked, shuffled) for target in one.targets]
    for other in states[1:]:
        assert torch.equal(states[0][:, 0], other[:, 0])
        assert not torch.allclose(states[0][:, 1], other[:, 1], atol=1e-3)


def test_layer_0_is_the_model_s_own_but_for_positions_and_token_types(folder_of, architecture):
    encoder = load_encoder(folder_of(architecture), device="cpu")
    ids = torch.tensor([cut_words([("red", "jazz", "is")], encoder)[0].ids])
    for name in ("position_embeddings", "token_type_embeddings", "task_type_embeddings"):
        if table := getattr(encoder.body.embeddings, name, None):
            torch.nn.init.zeros_(table.weight)
    with torch.no_grad():
        own = encoder.body(ids, output_hidden_states=True).hidden_states[0]
        torch.testing.assert_close(lexical_states(encoder.body, ids), own)


def test_an_electra_without_projection_has_layer_0_too(tmp_path):
    from transformers import ElectraConfig, ElectraForMaskedLM

    tokenizer = tiny_models.wordpiece()
    sizes = {
        "hidden_size": 16,
        "embedding_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
    }
    ElectraForMaskedLM(ElectraConfig(vocab_size=len(tokenizer), max_position_embeddings=48, **sizes)).save_pretrained(
        tmp_path / "model"
    )
    tokenizer.save_pretrained(tmp_path / "model")
    encoder = load_encoder(tmp_path / "model", device="cpu")
    asked = record("jazz", "is", "jazz", spans=((0, 1), (2, 3)))
    found = word_states([asked], encoder, tmp_path / "cache", "float32")
    first, second = (found.read(found.pieces(asked, target.span1)) for target in asked.targets)
    assert torch.equal(first[:, 0], second[:, 0]) and not torch.equal(first[:, 1], second[:, 1])


def test_an_architecture_without_known_embeddings_is_refused(bert):
    class Strange:
        class config:
            model_type = "strange"

    with pytest.raises(
        ModelError, match="got the model type 'strange', whose word embeddings are unknown; expected albert, bert"
    ):
        lexical_states(Strange(), torch.tensor([[1]]))


RECORDS = [
    record("paris", "is", word, spans=((0, 1), (2, 3))) for word in ("red", "blue", "jazz", "music", "sun", "moon")
]


def bytes_of(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("states-*")}


def test_states_are_made_once_and_a_lost_or_damaged_file_again(bert, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(module, "PIECES_A_FILE", 4)
    real, made = module._encode, []
    monkeypatch.setattr(module, "_encode", lambda group, *given: made.append(len(group)) or real(group, *given))
    states = word_states(RECORDS, bert, tmp_path)
    kept = bytes_of(tmp_path)
    assert made == [2, 2, 2] and len(kept) == 6
    numbers = np.arange(12)
    everything = states.read(numbers)
    assert torch.equal(everything, torch.cat([states.read(numbers[:5]), states.read(numbers[5:])]))
    word_states(RECORDS, bert, tmp_path)
    assert made == [2, 2, 2]
    spoilt = {
        "states-0000.npy": lambda data: data[:-5],
        "states-0001.npy": lambda data: data[:-5] + bytes([data[-5] ^ 1]) + data[-4:],
        "states-0002.npy": lambda data: b"",
        "states-0001.crc": lambda data: b"00000000",
    }
    for name, spoil in spoilt.items():
        (path,) = tmp_path.rglob(name)
        path.write_bytes(spoil(path.read_bytes()))
        made.clear()
        with caplog.at_level(logging.WARNING):
            again = word_states(RECORDS, bert, tmp_path)
        assert made == [2] and bytes_of(tmp_path) == kept and torch.equal(again.read(numbers), everything), name
        assert "damaged and is made again" in caplog.text
    for path in tmp_path.rglob("*.crc"):
        path.unlink()
    assert torch.equal(word_states(RECORDS, bert, tmp_path).read(numbers), everything)


def test_other_weights_words_or_numbers_are_other_states(bert, encoder_of, tmp_path):
    folders = set()
    for encoder, records, dtype in (
        (bert, RECORDS, "float16"),
        (bert, RECORDS, "float32"),
        (bert, RECORDS[:2], "float16"),
        (encoder_of("electra"), RECORDS, "float16"),
    ):
        word_states(records, encoder, tmp_path, dtype)
        now = {path for path in tmp_path.iterdir() if path.is_dir()}
        assert len(now - folders) == 1
        folders = now


def test_states_that_do_not_fit_the_number_format_are_refused(folder_of, tmp_path):
    encoder = load_encoder(folder_of("bert"), device="cpu")
    with torch.no_grad():
        encoder.body.encoder.layer[-1].output.LayerNorm.weight.mul_(1e6)
    with pytest.raises(ModelError, match="too large for float16, or not finite; keep them as float32"):
        word_states(RECORDS, encoder, tmp_path)
    assert not bytes_of(tmp_path)
    assert torch.isfinite(word_states(RECORDS, encoder, tmp_path, "float32").read(np.arange(3))).all()


def test_records_of_one_text_share_its_states(bert, tmp_path):
    one, other = record("paris", "is", "red", spans=((0, 1),)), record("paris", "is", "red", spans=((2, 3),))
    found = word_states([one, other], bert, tmp_path)
    assert len(found.files[0]) == 2
    assert found.pieces(one, (0, 1)).tolist() == [0] and found.pieces(other, (2, 3)).tolist() == [1]
