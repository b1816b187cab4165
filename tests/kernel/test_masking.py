"""One masking serves heads, fine-tuning, pre-training and perplexity, and each keeps the bytes that it had with its own
code.
"""

import numpy as np
import pytest

from probing.finetuning.examples import collate, mask_tokens, text_rows
from probing.kernel.models.arrays import IGNORED, mask_pieces

MASK = 3
ORDINARY = np.arange(10, 60)


@pytest.mark.parametrize("kept", ["first", "last"])
def test_eighty_per_cent_become_the_mask_ten_another_piece_and_ten_stay(kept):
    rng = np.random.default_rng(0)
    pieces = np.full(40_000, 7)
    read = mask_pieces(pieces, rng.random(len(pieces)), lambda other: rng.choice(ORDINARY, other.sum()), MASK, kept)
    assert [(read == MASK).mean(), np.isin(read, ORDINARY).mean(), (read == 7).mean()] == pytest.approx(
        [0.8, 0.1, 0.1], abs=0.005
    )
    assert (pieces == 7).all(), "the input stays unchanged"


@pytest.mark.parametrize("chosen", [0, 1, 5, 40])
def test_heads_are_masked_as_piece_by_piece(chosen):
    for seed in range(50):
        slow, fast = np.random.default_rng(seed), np.random.default_rng(seed)
        pieces = np.arange(100, 100 + chosen, dtype=np.int32)
        expected = pieces.copy()
        for place, dice in enumerate(slow.random(chosen)):
            if dice < 0.8:
                expected[place] = MASK
            elif dice < 0.9:
                expected[place] = int(slow.choice(ORDINARY))
        got = mask_pieces(pieces, fast.random(chosen), lambda other, rng=fast: rng.choice(ORDINARY, other.sum()), MASK)
        assert got.dtype == pieces.dtype and got.tolist() == expected.tolist()
        assert slow.random() == fast.random(), "as many numbers were drawn"


def test_fine_tuning_is_masked_as_it_was(bert):
    tokenizer = bert.tokenizer
    rows = text_rows(
        ["the capital of france is paris .", "the sun is red and the moon is blue ."] * 20, tokenizer, 32, joined=False
    )
    batch, slow = collate(rows, tokenizer), np.random.default_rng(1)
    before = batch["input_ids"].numpy().copy()
    labels = mask_tokens(batch, tokenizer, 0.3, np.random.default_rng(1)).numpy()
    slow.random(before.shape)  # Which pieces are chosen.
    kind = slow.random(before.shape)
    ordinary = np.setdiff1d(np.arange(len(tokenizer)), tokenizer.all_special_ids)
    other = ordinary[slow.integers(len(ordinary), size=before.shape)]
    chosen = labels != IGNORED
    expected = np.where(chosen & (kind < 0.8), tokenizer.mask_token_id, np.where(chosen & (kind >= 0.9), other, before))
    assert chosen.sum() > 50 and (batch["input_ids"].numpy() == expected).all()
