import numpy as np
import pytest
import torch

from probing.kernel.errors import ModelError
from probing.kernel.models import states as states_module
from probing.kernel.models.states import batches_by_length, cached_states, mask_positions, states_at, tokenize
from tests.tiny_models import as_read

PROMPTS = [
    "Rocky was born in [MASK].",
    "[MASK]",
    "The capital of France is [MASK] and the capital of Italy is Rome.",
    "It is [MASK].",
    "one two three four [MASK] red green blue sun moon in a city and it is born",
]


def test_batches_are_sorted_by_length_and_keep_to_the_token_budget():
    lengths = [5, 1, 9, 5, 2, 9, 30]
    batches = list(batches_by_length(lengths, tokens=10))
    assert sorted(n for batch in batches for n in batch) == list(range(len(lengths)))
    # [1, 2, ...]: 3 rows of 5 would be 15 tokens; a row above the budget goes alone.
    assert batches == [[1, 4], [0, 3], [2], [5], [6]]
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[n] for n in batch) <= 10


def test_a_batch_that_has_enough_takes_no_longer_row():
    lengths = [2, 2, 2, 3, 3, 4]
    assert list(batches_by_length(lengths, tokens=100)) == [[0, 1, 2, 3, 4, 5]]
    # Three rows of 2 are enough, two of 3 are enough: nothing is padded.
    assert list(batches_by_length(lengths, tokens=100, enough=6)) == [[0, 1, 2], [3, 4], [5]]
    # Rows as long as the last still join, up to the budget.
    assert list(batches_by_length(lengths, tokens=100, enough=2)) == [[0, 1, 2], [3, 4], [5]]
    assert list(batches_by_length(lengths, tokens=100, enough=7)) == [[0, 1, 2, 3, 4], [5]]
    assert list(batches_by_length(lengths, tokens=4, enough=2)) == [[0, 1], [2], [3], [4], [5]]


def test_batched_states_agree_with_single_passes(architecture, encoder_of):
    encoder = encoder_of(architecture)
    rows = tokenize(PROMPTS, encoder)
    at = mask_positions(rows, encoder)
    together = states_at(rows, at, encoder)
    single = np.concatenate([states_at([row], [p], encoder) for row, p in zip(rows, at, strict=True)], axis=1)
    assert together.shape == (encoder.layers, len(PROMPTS), encoder.hidden)
    assert len({len(row) for row in rows}) > 2, "padding has to be at work"
    np.testing.assert_allclose(together, single, atol=2e-5)


def test_states_are_transformers_hidden_states_at_the_mask_as_the_head_reads_them(architecture, encoder_of):
    encoder = encoder_of(architecture)
    row = tokenize(PROMPTS[:1], encoder)[0]
    at = row.index(encoder.tokenizer.mask_token_id)
    with torch.inference_mode():
        hidden = encoder.body(input_ids=torch.tensor([row]), output_hidden_states=True).hidden_states
    ours = states_at([row], [at], encoder)
    for layer, state in enumerate(as_read(hidden, encoder)):
        np.testing.assert_allclose(ours[layer, 0], state[0, at].numpy(), atol=1e-6)


def test_two_passes_agree_to_the_bit(architecture, encoder_of):
    encoder = encoder_of(architecture)
    first, second = (cached_states(PROMPTS, encoder, None) for _ in range(2))
    assert first.tobytes() == second.tobytes()


def test_prompt_order_changes_no_bit(bert):
    forward, backward = cached_states(PROMPTS, bert, None), cached_states(PROMPTS[::-1], bert, None)
    assert forward.tobytes() == backward[:, ::-1].tobytes()


def test_float64_states_stay_float64(encoder_of):
    assert cached_states(PROMPTS, encoder_of("bert", torch.float64), None).dtype == np.float64
    assert cached_states(PROMPTS, encoder_of("bert"), None).dtype == np.float32


def test_cached_states_are_read_and_not_computed_again(bert, tmp_path, monkeypatch):
    path = tmp_path / "deep" / "states.safetensors"
    first = cached_states(PROMPTS, bert, path)
    monkeypatch.setattr(states_module, "states_at", lambda *_: pytest.fail("computed again"))
    assert cached_states(PROMPTS, bert, path).tobytes() == first.tobytes()
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("spoil", [lambda data: data[:40], lambda _: b"", lambda _: b"\x02" + bytes(7) + b"{}"])
def test_a_torn_cache_file_is_computed_again(spoil, bert, tmp_path):
    path = tmp_path / "states.safetensors"
    first = cached_states(PROMPTS, bert, path)
    whole = path.read_bytes()
    path.write_bytes(spoil(whole))
    assert cached_states(PROMPTS, bert, path).tobytes() == first.tobytes()
    assert path.read_bytes() == whole


def test_special_tokens_are_there_and_nothing_is_cut(bert):
    row = tokenize(["it " * 100 + "[MASK]"], bert)[0]
    assert len(row) == 103
    assert row[0] == bert.tokenizer.cls_token_id and row[-1] == bert.tokenizer.sep_token_id


def test_the_models_own_mask_stands_in_for_ours(encoder_of):
    encoder = encoder_of("roberta")
    assert tokenize(["It is [MASK]."], encoder) == tokenize(["It is <mask>."], encoder)


@pytest.mark.parametrize("prompt", ["no mask", "[MASK] [MASK]"])
def test_rows_without_exactly_one_mask_are_refused(prompt, bert):
    with pytest.raises(ModelError, match="expected 1"):
        cached_states([prompt], bert, None)
