import math

import numpy as np
import pytest
import torch

from probing.heads import decode as decoding
from probing.heads.decode import best_tokens, decode, ranks_of, read_out
from probing.kernel.errors import ModelError
from probing.kernel.models.head import DecodingHead


def slow_rank(scores, token, among=None):
    """Place of a token if everything that is not below it stands before it."""
    return sum(1 for other in (range(len(scores)) if among is None else among) if scores[other] >= scores[token])


def slow_best(scores, k):
    return sorted(range(len(scores)), key=lambda token: (-scores[token], token))[:k]


def slow_log_probability(scores, token):
    return scores[token] - math.log(sum(math.exp(score) for score in scores))


class PlainHead(DecodingHead):
    """A head whose logits are the states themselves."""

    def __init__(self, tokens):
        matrix = torch.nn.Linear(tokens, tokens)
        torch.nn.init.eye_(matrix.weight)
        torch.nn.init.zeros_(matrix.bias)
        super().__init__(matrix, torch.nn.Identity(), torch.nn.Identity(), matrix)

    def transform(self, states):
        return states


def test_best_tokens_are_ordered_by_score_then_id():
    values, ids = best_tokens(torch.tensor([[1.0, 3.0, 3.0, 2.0, 3.0], [0.0, 0.0, 0.0, 0.0, 0.0]]), 3)
    assert ids.tolist() == [[1, 2, 4], [0, 1, 2]]
    assert values.tolist() == [[3, 3, 3], [0, 0, 0]]


def test_best_tokens_agree_with_a_slow_sort_when_many_scores_tie():
    scores = torch.from_numpy(np.random.default_rng(0).integers(0, 6, (40, 50))).float()
    for k in (1, 7, 50):
        assert best_tokens(scores, k)[1].tolist() == [slow_best(row, k) for row in scores.tolist()]


def test_more_tokens_than_the_vocabulary_has_are_all_of_it():
    assert best_tokens(torch.tensor([[1.0, 2.0]]), 10)[1].tolist() == [[1, 0]]


def test_ranks_count_from_one_and_ties_take_the_worst_place():
    scores = torch.tensor([[4.0, 7.0, 7.0, 1.0]])
    ranks = [int(ranks_of(scores, torch.tensor([token]))[0]) for token in range(4)]
    assert ranks == [3, 2, 2, 4]
    assert ranks_of(torch.zeros(1, 9), torch.tensor([0])).tolist() == [9]


def test_read_out_agrees_with_slow_plain_python(monkeypatch):
    # Seven rows a block, so that 40 facts need a ragged last one.
    monkeypatch.setattr(decoding, "ROWS", 7)
    rng = np.random.default_rng(1)
    scores = rng.integers(-5, 6, (40, 30)).astype(np.float32) / 2
    relations = [sorted(rng.choice(30, 6, replace=False).tolist()) for _ in range(3)]
    answers = [relations[n % 3] for n in range(40)]
    gold = [int(rng.choice(among)) for among in answers]
    # From none to five a prompt, some of them equal.
    guests = [rng.integers(0, 30, n % 6).tolist() + [int(rng.integers(30))] * (n % 2) for n in range(40)]
    read = read_out(PlainHead(30), scores, gold, guests, answers, 5, torch.device("cpu"))
    for n, row in enumerate(scores.tolist()):
        assert read.gold_rank[n] == slow_rank(row, gold[n])
        assert read.answer_rank[n] == slow_rank(row, gold[n], answers[n])
        assert read.gold_logp[n] == pytest.approx(slow_log_probability(row, gold[n]), abs=1e-5)
        assert read.top_ids[n].tolist() == slow_best(row, 5)
        wanted = [slow_log_probability(row, token) for token in slow_best(row, 5)]
        assert read.top_logp[n].tolist() == pytest.approx(wanted, abs=1e-5)
    assert read.swapped_rank.tolist() == [
        slow_rank(scores[n].tolist(), token) for n, tokens in enumerate(guests) for token in tokens
    ]
    assert read.gold_rank.dtype == read.swapped_rank.dtype == read.answer_rank.dtype == read.top_ids.dtype == np.uint32
    assert read.gold_logp.dtype == read.top_logp.dtype == np.float32


def test_a_relation_with_one_answer_has_it_first_among_its_answers():
    read = read_out(PlainHead(9), np.zeros((1, 9), dtype=np.float32), [4], [[]], [[4]], 1, torch.device("cpu"))
    assert (read.gold_rank[0], read.answer_rank[0]) == (9, 1)
    assert read.swapped_rank.shape == (0,)


def test_no_more_rows_of_logits_than_a_block_exist_at_once(encoder_of, monkeypatch):
    encoder, seen, real = encoder_of("bert"), [], decoding.decode

    def watched(*given):
        logits = real(*given)
        seen.append((tuple(logits.shape), logits.data_ptr()))
        return logits

    monkeypatch.setattr(decoding, "decode", watched)
    facts = 3 * decoding.ROWS + 5
    states = np.random.default_rng(0).normal(size=(facts, encoder.hidden)).astype(np.float32)
    buffer = decoding.LogitsBuffer()
    for _ in range(2):
        read = read_out(encoder.head, states, [5] * facts, [[6]] * facts, [[5, 6]] * facts, 3, encoder.device, buffer)
    assert len(read.gold_rank) == facts
    vocabulary = encoder.head.vocabulary.out_features
    assert [shape for shape, _ in seen] == ([(decoding.ROWS, vocabulary)] * 3 + [(5, vocabulary)]) * 2
    # Every block of every layer stands in the same memory.
    assert len({place for _, place in seen}) == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_decoding_is_the_head_itself(architecture, encoder_of, dtype, monkeypatch):
    # Blocks of the vocabulary that do not divide it.
    monkeypatch.setattr(decoding, "COLUMNS", 33)
    head, buffer = encoder_of(architecture, dtype).head, decoding.LogitsBuffer()
    states = torch.from_numpy(np.random.default_rng(0).normal(size=(9, head.dense.in_features))).to(dtype)
    with torch.inference_mode():
        torch.testing.assert_close(decode(head, states, buffer), head(states))
        fewer = decode(head, states[:2], buffer)
    assert fewer.shape == (2, head.vocabulary.out_features) and fewer.dtype == dtype


@pytest.mark.parametrize("strange", [np.nan, np.inf])
def test_logits_that_are_not_numbers_are_an_error(strange):
    states = np.zeros((3, 4), dtype=np.float32)
    states[1, 2] = strange
    with pytest.raises(ModelError, match="not finite"):
        read_out(PlainHead(4), states, [0] * 3, [[0]] * 3, [[0]] * 3, 1, torch.device("cpu"))
