"""A sentence whose gap gets another sentence's state after a layer, or does not see some words above it."""

from collections.abc import Callable, Sequence

import torch

from probing.heads.decode import layer_logits
from probing.kernel.errors import PromptError
from probing.kernel.models.layer_swap import NotReplaceable, no_cut, run_from
from probing.kernel.models.states import all_hidden_states, fill_gaps, masked_rows
from probing.kernel.questions import Answer
from probing.live.ask import LiveModel

Check = Callable[[], None]


def ask_swapped(
    live: LiveModel, first: str, second: str, top: int = 10, watch: Sequence[str] = (), check: Check | None = None
) -> Answer:
    """What the last layer says to the second sentence if its gap gets the first one's state after each layer.

    ``layers[l]`` is after layer l; one gap and one token in each sentence, read by the model's last head. ``check`` and
    the errors are those of ``LiveModel.ask``; NotReplaceable if no module of the model is a layer.
    """
    row = live.row(first)
    place = live.position(row, None)
    given = [state[0, place] for state in all_hidden_states([row], live.encoder)]

    def at_layer(states: Sequence[torch.Tensor], layer: int, own: list[int], gap: int) -> torch.Tensor:
        put = states[layer].clone()
        put[0, gap] = given[layer]
        return put if layer == live.encoder.depth else run_from(live.encoder, layer, put, [own])

    return _asked(live, second, at_layer, top, watch, check)


def ask_cut(
    live: LiveModel,
    prompt: str,
    words: Sequence[str],
    top: int = 10,
    watch: Sequence[str] = (),
    check: Check | None = None,
) -> Answer:
    """What the last layer says if the gap does not see some words above each layer; ``layers[L]`` sees all.

    ``words`` of the sentence, wherever they occur. Errors as in ``ask_swapped``; PromptError for a word that the
    sentence lacks, NotReplaceable if attention takes no mask of single tokens.
    """
    if why := no_cut(live.encoder.body):
        raise NotReplaceable(why)
    hidden = word_places(live, prompt, words)

    def at_layer(states: Sequence[torch.Tensor], layer: int, own: list[int], gap: int) -> torch.Tensor:
        if layer == live.encoder.depth:
            return states[layer]
        cut = torch.zeros(1, len(own), len(own), dtype=torch.bool, device=live.encoder.device)
        cut[0, gap, hidden] = True
        return run_from(live.encoder, layer, states[layer], [own], cut=cut)

    return _asked(live, prompt, at_layer, top, watch, check)


def word_places(live: LiveModel, prompt: str, words: Sequence[str]) -> list[int]:
    """Places of the words' tokens in the sentence with its gap masked."""
    text = live.common(prompt)
    live.gaps(prompt)
    ((_, word),) = masked_rows([text], live.encoder)
    (filled,) = fill_gaps([text], [[word] * text.count("[MASK]")], live.encoder)
    places: set[int] = set()
    for one in words:
        if not (found := filled.places_of(one)):
            raise PromptError(f"got {one!r} as a word to hide; expected words of {prompt!r}")
        places |= found
    return sorted(places)


def _asked(
    live: LiveModel,
    prompt: str,
    at_layer: Callable[[Sequence[torch.Tensor], int, list[int], int], torch.Tensor],
    top: int,
    watch: Sequence[str],
    check: Check | None,
) -> Answer:
    """The answer with the last layer's states after each layer is changed in place of those of the layers."""

    def read(row: list[int], at: Sequence[int]) -> torch.Tensor:
        if len(at) > 1:
            raise PromptError("a word to follow has several tokens; here words of one token are followed")
        (gap,), states, last = at, all_hidden_states([row], live.encoder), []
        for layer in range(live.encoder.layers):
            if check:
                check()
            last.append(at_layer(states, layer, row, gap)[0, gap])
        with torch.inference_mode():
            logits = layer_logits([live.heads[-1]] * len(last), torch.stack(last))
        return logits.log_softmax(1)[:, None]

    return live.ask(prompt, top, watch, None, 1, read=read)
