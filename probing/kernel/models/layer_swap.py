"""Runs the upper layers of an encoder on given states: with other states, the base's layers, or edges cut.

Merchant et al. (2020, "What happens to BERT embeddings during fine-tuning?") and Mosbach et al. (2020) replace the last
layers and measure the loss; here the predictions for one sentence are compared at every n. What puts one state in place
of another, or keeps one token from seeing others, is ``run_from`` with ``states`` and ``cut``.
"""

import copy
import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, Literal, cast

import torch
from torch import nn
from transformers import PreTrainedModel

from probing.kernel.errors import ModelError
from probing.kernel.models.load import Encoder
from probing.kernel.models.states import all_hidden_states

Where = Literal["last", "first"]
Single = Literal["single"]

#: Where a body has the list of its layers.
_PATHS = ("encoder.layer", "transformer.layer", "layers")
#: Model type -> why its layers cannot be run one by one, in words that follow "its layers cannot be run alone:".
NOT_ALONE = {
    "albert": "all layers of ALBERT are one set of weights",
    **dict.fromkeys(("flaubert", "xlm"), "the parts of a layer are in several lists, and no module is a layer"),
    "longformer": "it lengthens its input to its window below its layers",
    "squeezebert": "it turns its states on their side between its layers",
}
#: Model type -> why a token cannot be kept from seeing another, in words that follow "in".
NO_CUT = {
    "convbert": "ConvBERT a convolution mixes neighbouring tokens beside the attention",
    "fnet": "FNet a Fourier transform mixes all tokens; there is no attention",
    "mra": "MRA attention is approximated in blocks of tokens",
    "nystromformer": "Nyströmformer tokens see means of others, not single ones",
    "yoso": "YOSO tokens see others by their hash, and no mask is of a single one",
}
#: Model type -> path of a module on top of the first layer; some DeBERTa-v2 models have a convolution there.
_ON_FIRST = {"deberta-v2": "encoder.conv"}


#: Arguments of a layer by place and by name.
_Given = tuple[tuple[Any, ...], dict[str, Any]]


class NotReplaceable(ModelError):
    """Layers of one model cannot replace those of the other."""


def layers_path(body: PreTrainedModel) -> str:
    """The path of the list of transformer layers in a body; NotReplaceable if no module is a layer."""
    kind = body.config.model_type
    modules = dict(body.named_modules())
    found = [path for path in _PATHS if isinstance(modules.get(path), nn.ModuleList)]
    if kind in NOT_ALONE or not found:
        why = NOT_ALONE.get(kind, f"expected them in {' or '.join(_PATHS)}")
        raise NotReplaceable(f"the model type is {kind!r}, and its layers cannot be run alone: {why}")
    return found[0]


def layers_of(body: PreTrainedModel) -> nn.ModuleList:
    """The transformer layers of a body, in order; NotReplaceable if no module is a layer."""
    return cast(nn.ModuleList, body.get_submodule(layers_path(body)))


def no_cut(body: PreTrainedModel) -> str:
    """Why a token of this body cannot be kept from seeing others (``cut`` of ``run_from``); empty if it can."""
    why = NO_CUT.get(body.config.model_type, "")
    return why and f"no token can be kept from seeing others: in {why}"


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


def replaced_states(
    row: Sequence[int],
    fine_tuned: Encoder,
    base: Encoder,
    where: Where = "last",
    check: Callable[[], None] | None = None,
) -> torch.Tensor:
    """(n, tokens, hidden): the last layer's states of one sentence with n = 0..L layers replaced.

    All other modules stay the fine-tuned model's (embeddings, also of relative positions, a norm on top, the head), so
    n = L is the base only if both have the same. What values of n share is computed once. ``check`` is called before
    every n.
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
    if where not in ("last", "first", "single"):
        raise ValueError(f"got {where!r}, expected last, first or single")
    own, theirs = list(layers_of(fine_tuned.body)), list(layers_of(base.body))
    states, last = all_hidden_states(rows, fine_tuned), fine_tuned.depth
    yield 0, states[last]
    state = states[0]
    for n in range(1, last + 1):
        if check:
            check()
        if where == "last":
            yield n, run_from(fine_tuned, last - n, states[last - n], rows, theirs[last - n :])
        elif where == "single":
            yield n, run_from(fine_tuned, n - 1, states[n - 1], rows, [theirs[n - 1], *own[n:]])
        else:
            state = run_from(fine_tuned, n - 1, state, rows, [theirs[n - 1]])
            yield n, run_from(fine_tuned, n, state, rows) if n < last else state


def sharing_copy(body: PreTrainedModel) -> PreTrainedModel:
    """New modules around the same tensors."""
    return copy.deepcopy(body, {id(tensor): tensor for tensor in chain(body.parameters(), body.buffers())})


def run_from(
    encoder: Encoder,
    below: int,
    states: torch.Tensor,
    rows: Sequence[Sequence[int]],
    layers: Sequence[nn.Module] | None = None,
    cut: torch.Tensor | None = None,
) -> torch.Tensor:
    """(rows, tokens, hidden) after the layers above number ``below``, whose output are the given ``states``.

    ``rows`` of token ids have one length. ``layers`` are run instead of the encoder's own; the norm on top is left out
    if they are too few to reach it. ``cut``, (rows, tokens, tokens) bool: in all these layers the first token does not
    see the second (``no_cut``). To the last bit that of the whole model if nothing is changed.
    """
    kind, path, own = encoder.body.config.model_type, layers_path(encoder.body), list(layers_of(encoder.body))
    run = [_hooked(one) for one in (own[below:] if layers is None else layers)]
    run[0].register_forward_pre_hook(lambda _, args, kwargs: ((states, *args[1:]), kwargs), with_kwargs=True)
    if cut is not None:
        for one in run:
            one.register_forward_pre_hook(partial(_cut, cut[:, None]), with_kwargs=True)
    # Bodies with this path look up by number what a layer gets.
    passed = [_hooked(one, passes=True) for one in own[:below]] if path == "layers" else []
    modules: dict[str, nn.Module | None] = {path: nn.ModuleList([*passed, *run])}
    if encoder.on_top and below + len(run) < encoder.depth:
        modules[encoder.on_top] = nn.Identity()
    if kind in _ON_FIRST and below:
        modules[_ON_FIRST[kind]] = None
    ids = torch.tensor([list(row) for row in rows], device=encoder.device)
    with torch.inference_mode():
        output = _changed(encoder.body, modules)(input_ids=ids, attention_mask=torch.ones_like(ids))
    return cast(torch.Tensor, output.last_hidden_state)


def _hooked(layer: nn.Module, passes: bool = False) -> nn.Module:
    """A copy of a layer with the same weights and hooks of its own; or one that returns what it gets."""
    made = _shallow(layer)
    for name in ("_forward_pre_hooks", "_forward_pre_hooks_with_kwargs"):
        setattr(made, name, OrderedDict(getattr(layer, name)))
    if passes:
        made.forward = lambda states, *_args, **_kwargs: states
    return made


def _cut(cut: torch.Tensor, layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Given:
    """The arguments of a layer with the mask of its attention changed, (rows, 1, tokens, tokens)."""
    names = list(inspect.signature(layer.forward).parameters)
    mask = (dict(zip(names, args, strict=False)) | kwargs).get("attention_mask")
    # Without padding, a layer may get none.
    mask = args[0].new_zeros(1) if mask is None else mask
    hidden = torch.finfo(mask.dtype).min if mask.is_floating_point() else 0
    mask = torch.where(cut, torch.full_like(mask, hidden), mask)
    place = names.index("attention_mask")
    if place < len(args):
        return (*args[:place], mask, *args[place + 1 :]), kwargs
    return args, kwargs | {"attention_mask": mask}


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
