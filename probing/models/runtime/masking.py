"""BERT's masking (Devlin et al. 2019, section 3.1): 80 % of the chosen word pieces become the mask, 10 % another piece,
10 % stay.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np

_MASKED, _TENTH = 0.8, 0.9


def mask_pieces(
    pieces: np.ndarray,
    dice: np.ndarray,
    draw: Callable[[np.ndarray], np.ndarray],
    mask: int,
    kept: Literal["first", "last"] = "last",
) -> np.ndarray:
    """The input of the model at the chosen pieces.

    Args:
        pieces: (chosen,) token ids.
        dice: (chosen,) uniform numbers in [0, 1).
        draw: returns a token id for every piece that becomes another one; its argument is (chosen,) bool, true for
            these pieces.
        mask: token id of the mask.
        kept: which tenth above 0.8 stays: ``last`` from 0.9 on, ``first`` below 0.9. Both have the same distribution;
            heads and perplexity use one, pre-training and fine-tuning the other, so that each keeps its bytes.

    Returns:
        (chosen,) token ids.
    """
    above = dice >= _MASKED
    other = above & ((dice < _TENTH) if kept == "last" else (dice >= _TENTH))
    read = np.where(above, pieces, mask)
    read[other] = draw(other)
    return read
