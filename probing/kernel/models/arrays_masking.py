"""BERT's masking: of the chosen pieces 80 % become the mask, 10 % another, 10 % stay (Devlin et al. 2019)."""

from collections.abc import Callable
from typing import Literal

import numpy as np

_MASKED, _TENTH = 0.8, 0.9


def mask_pieces(
    pieces: np.ndarray,
    dice: np.ndarray,
    draw: Callable[[np.ndarray], np.ndarray],
    mask: int,
    unchanged: Literal["first", "last"] = "last",
) -> np.ndarray:
    """The (chosen,) token ids of the input; ``dice`` are (chosen,) uniform numbers in [0, 1).

    ``draw`` returns a token for every piece that becomes another one, which its (chosen,) bool argument marks.
    ``unchanged``: which tenth above 0.8 stays; both are in use, so that each use keeps its bytes.
    """
    above = dice >= _MASKED
    other = above & ((dice < _TENTH) if unchanged == "last" else (dice >= _TENTH))
    read = np.where(above, pieces, mask)
    read[other] = draw(other)
    return read
