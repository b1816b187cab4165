"""A head fitted in closed form to the last layer of a fine-tuned model, on ordinary text."""

from collections.abc import Sequence

import torch

from probing.heads.lenses import Sums, least_squares
from probing.heads.recipe import HeadRecipe, mask_rows
from probing.kernel.errors import HeadError
from probing.kernel.models.head import DecodingHead, fresh_copy
from probing.kernel.models.load import Encoder
from probing.kernel.models.names import LEAST_SQUARES
from probing.kernel.models.states import all_hidden_states, batches_by_length

#: Padded tokens of one batch.
_TOKENS = 4096


def fitted_head(tuned: Encoder, base: Encoder, sentences: Sequence[str], positions: int, seed: int = 0) -> DecodingHead:
    """The base's head on top of the affine map that takes the tuned last layer nearest to the base's (least squares).

    Both read ``sentences``, without any fact that is asked, with the same ``positions`` masked pieces. If only the
    tuned model's head has changed, this is the base's own head.
    """
    recipe = HeadRecipe(kind=LEAST_SQUARES, seed=seed, text_sha256="")
    text = mask_rows(base, sentences, recipe, positions, seed)
    rows = [text.row(number) for number in range(len(text.ends))]
    width = base.hidden + 1
    squares, products = (
        torch.zeros(width, width, dtype=torch.float64),
        torch.zeros(width, base.hidden, dtype=torch.float64),
    )
    for batch in batches_by_length([len(row) for row in rows], _TOKENS):
        where = [(place, int(text.index[n])) for place, number in enumerate(batch) for n in text.positions_of(number)]
        states = [_last_states(model, [rows[n] for n in batch], where) for model in (tuned, base)]
        own = torch.cat([states[0], states[0].new_ones((len(where), 1))], 1)
        squares, products = squares + own.T @ own, products + own.T @ states[1]
    if not torch.isfinite(products).all():
        raise HeadError(f"the last layer of {tuned.name} is not finite on the text that a head is fitted to")
    affine = least_squares(Sums(squares, products), recipe.ridge)
    head = fresh_copy(base.head, LEAST_SQUARES)
    head.fold(affine.weight, affine.bias)
    return head.eval().requires_grad_(False)


def _last_states(model: Encoder, rows: Sequence[Sequence[int]], where: Sequence[tuple[int, int]]) -> torch.Tensor:
    """(positions, hidden) states of the last layer, in float64 on the CPU."""
    states = all_hidden_states(rows, model)[model.depth]
    index = torch.tensor(where, device=states.device).T
    return states[index[0], index[1]].to("cpu", torch.float64)
