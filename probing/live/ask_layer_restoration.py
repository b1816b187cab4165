"""Predictions for a typed cloze sentence with some layers of a fine-tuned encoder replaced by the base's."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from probing.heads.decode import layer_logits
from probing.kernel.models.layer_swap import Where, replaced_states
from probing.kernel.models.load import Encoder
from probing.kernel.questions import Answer
from probing.live.ask import LiveModel


@dataclass(frozen=True)
class ReplacedAnswer:
    """Predictions for one sentence with n = 0..L layers replaced."""

    model: str
    base: str  #: name of the model whose layers replace them
    reader: str  #: name of the model whose masked-LM head decodes the last layer
    where: str  #: the ``last`` or the ``first`` n
    answer: Answer  #: ``layers[n]`` is the last layer with n layers replaced


def ask_replaced(
    live: LiveModel,
    base: Encoder,
    prompt: str,
    where: Where = "last",
    top: int = 10,
    watch: Sequence[str] = (),
    mask_index: int | None = None,
    check: Callable[[], None] | None = None,
) -> ReplacedAnswer:
    """Predictions at the mask with n = 0..L layers replaced, always by the live model's own last head.

    ``check`` is called before every n, when the model is not in use. Errors as in ``LiveModel.ask``; NotReplaceable.
    """

    def read(row: list[int], at: int) -> torch.Tensor:
        states = replaced_states(row, live.encoder, base, where, check)
        with torch.inference_mode():
            # All n in one batch, as in ``LiveModel.ask``, so that n = L is the base to the last bit.
            return layer_logits([live.heads[-1]] * len(states), states[:, at]).log_softmax(1)

    answer = live.ask(prompt, top, watch, mask_index, read=read)
    return ReplacedAnswer(live.encoder.name, base.name, live.encoder.base, where, answer)
