"""A fine-tuned encoder with some layers replaced by the base's, to find the layers whose change lost an answer.

Merchant et al. (2020, "What happens to BERT embeddings during fine-tuning?") and Mosbach et al. (2020) replace the last
layers and measure the loss; here the predictions for one sentence are compared at every n.
"""

import copy
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from operator import attrgetter
from typing import Any, Literal, cast

import torch
from torch import nn
from transformers import PreTrainedModel

from probing.kernel.errors import ModelError
from probing.kernel.models.head import PARTS
from probing.kernel.models.load import Encoder
from probing.kernel.models.states import all_hidden_states

Where = Literal["last", "first"]
Single = Literal["single"]

#: Model type -> path of the list of layers in its body.
LAYERS = {
    **dict.fromkeys(PARTS, "encoder.layer"),
    "distilbert": "transformer.layer",
    "modernbert": "layers",
}
del LAYERS["albert"]
#: Model type -> path of a module on top of the first layer; some DeBERTa-v2 models have a convolution there.
_ON_FIRST = {"deberta-v2": "encoder.conv"}


class NotReplaceable(ModelError):
    """Layers of one model cannot replace those of the other."""


class _FixedStates(nn.Module):
    """Replaces the embeddings; returns fixed states for any input."""

    def __init__(self, states: torch.Tensor):
        super().__init__()
        self.states = states

    def forward(self, *_args: Any, **_kwargs: Any) -> torch.Tensor:
        return self.states


def layers_of(body: PreTrainedModel) -> nn.ModuleList:
    """The transformer layers of a body, in order.

    NotReplaceable: they share their weights (ALBERT), or the architecture is none of ``LAYERS``.
    """
    kind = body.config.model_type
    if kind == "albert":
        raise NotReplaceable("all layers of ALBERT are one set of weights; no single layer of it can be replaced")
    if kind not in LAYERS:
        raise NotReplaceable(
            f"got the model type {kind!r}, whose layers cannot be replaced; expected {', '.join(LAYERS)}"
        )
    layers: nn.ModuleList = attrgetter(LAYERS[kind])(body)
    return layers


def check_replaceable(fine_tuned: Encoder, base: Encoder) -> None:
    """NotReplaceable unless every layer of ``base`` can replace the same layer of ``fine_tuned``."""
    shapes = []
    for encoder in (fine_tuned, base):
        layers = layers_of(encoder.body)
        shapes.append((encoder.body.config.model_type, [tuple(p.shape) for p in layers.parameters()]))
    if shapes[0] != shapes[1]:
        ours, theirs = (f"{e.body.config.model_type}, {e.depth} layers of {e.hidden}" for e in (fine_tuned, base))
        raise NotReplaceable(
            f"layers of {base.name} ({theirs}) do not fit in {fine_tuned.name} ({ours}); expected the model that it was"
            " fine-tuned from"
        )


def replace_layers(fine_tuned: Encoder, base: Encoder, n: int, where: Where = "last") -> Encoder:
    """The fine-tuned encoder with n transformer layers of the base: the last n, or the ``first``.

    All other modules stay the fine-tuned model's: embeddings (also those of relative positions), a norm on top, and the
    head. So n = L is the base only if both have the same other modules. No weight is copied.
    """
    check_replaceable(fine_tuned, base)
    places = _replaced(n, fine_tuned.depth, where)
    for encoder in (fine_tuned, base):
        # transformers hooks a model's layers at its first pass. After this call every layer has its hooks exactly once.
        all_hidden_states([[encoder.tokenizer.mask_token_id]], encoder)
    body = sharing_copy(fine_tuned.body)
    layers, donors = layers_of(body), layers_of(base.body)
    for place in places:
        layers[place] = donors[place]
    recipe = f"{fine_tuned.weights_id}+{where} {n} of {base.weights_id} as {base.configuration}"
    return replace(
        fine_tuned,
        name=f"{fine_tuned.name} ({where} {n} of {base.name})",
        body=body,
        weights_id=hashlib.sha256(recipe.encode()).hexdigest() if places else fine_tuned.weights_id,
    )


def replaced_states(
    row: Sequence[int],
    fine_tuned: Encoder,
    base: Encoder,
    where: Where = "last",
    check: Callable[[], None] | None = None,
) -> torch.Tensor:
    """(n, tokens, hidden): the last layer's states of one sentence with n = 0..L layers replaced.

    Each as ``replace_layers`` gives it; what values of n share is computed once. ``check`` is called before every n.
    """
    return torch.cat([states for _, states in replaced_batch([row], fine_tuned, base, where, check)])


def replaced_batch(
    rows: Sequence[Sequence[int]],
    fine_tuned: Encoder,
    base: Encoder,
    where: Where | Single = "last",
    check: Callable[[], None] | None = None,
) -> Iterator[tuple[int, torch.Tensor]]:
    """``replaced_states`` of rows of equal length: n and (rows, tokens, hidden), one n at a time to save memory.

    ``single`` replaces layer n alone.
    """
    check_replaceable(fine_tuned, base)
    if where != "single":
        _replaced(0, fine_tuned.depth, where)
    own, theirs = list(layers_of(fine_tuned.body)), list(layers_of(base.body))
    states, last = all_hidden_states(rows, fine_tuned), fine_tuned.depth
    yield 0, states[last]
    state = states[0]
    for n in range(1, last + 1):
        if check:
            check()
        if where == "last":
            yield n, _run(fine_tuned, theirs[last - n :], last - n, states[last - n], rows)
        elif where == "single":
            yield n, _run(fine_tuned, [theirs[n - 1], *own[n:]], n - 1, states[n - 1], rows)
        else:
            state = _run(fine_tuned, [theirs[n - 1]], n - 1, state, rows)
            yield n, _run(fine_tuned, own[n:], n, state, rows) if n < last else state


def _replaced(n: int, depth: int, where: str) -> range:
    """Indices of the replaced layers, from 0."""
    if where not in ("last", "first"):
        raise ValueError(f"got {where!r}, expected last or first")
    if not 0 <= n <= depth:
        raise ValueError(f"n is {n}, expected 0 to {depth}")
    return range(n) if where == "first" else range(depth - n, depth)


def sharing_copy(body: PreTrainedModel) -> PreTrainedModel:
    """New modules around the same tensors."""
    return copy.deepcopy(body, {id(tensor): tensor for tensor in chain(body.parameters(), body.buffers())})


def _run(
    encoder: Encoder, layers: Sequence[nn.Module], below: int, states: torch.Tensor, rows: Sequence[Sequence[int]]
) -> torch.Tensor:
    """(rows, tokens, hidden) after some layers alone; ``below`` layers lie under them, whose output is ``states``."""
    kind = encoder.body.config.model_type
    modules = {"embeddings": _FixedStates(states), LAYERS[kind]: nn.ModuleList(layers)}
    if "embeddings_project" in encoder.body._modules:
        modules["embeddings_project"] = nn.Identity()  # ELECTRA's: it is already applied to the given states.
    if encoder.on_top and below + len(layers) < encoder.depth:
        modules[encoder.on_top] = nn.Identity()
    without = [_ON_FIRST[kind]] if kind in _ON_FIRST and below else []
    body = _changed(encoder.body, {**modules, **dict.fromkeys(without)})
    ids = torch.tensor([list(row) for row in rows], device=encoder.device)
    with torch.inference_mode():
        states = body(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state
    return states


def _changed(body: PreTrainedModel, modules: Mapping[str, nn.Module | None]) -> PreTrainedModel:
    """A copy of a body with other modules at some paths, each of one or two names; the body itself stays unchanged."""
    copies: dict[str, nn.Module] = {"": _shallow(body)}
    for path, module in modules.items():
        owner, _, name = path.rpartition(".")
        if owner not in copies:
            copies[owner] = copies[""]._modules[owner] = _shallow(body.get_submodule(owner))
        copies[owner]._modules[name] = module
    return cast(PreTrainedModel, copies[""])


def _shallow(module: nn.Module) -> nn.Module:
    made = copy.copy(module)
    made._modules = dict(module._modules)
    return made
