"""An encoder from a transformers model in memory, such as one that was just trained."""

import copy
import hashlib
from collections.abc import Callable

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from probing.kernel.errors import ModelError, NoOwnHead
from probing.kernel.models.check import (
    broken_files_named,
    check_answers,
    check_finite,
    check_tokenizer,
    lent_head,
    log_notes,
    longest_input,
    shape_of,
    with_offsets,
)
from probing.kernel.models.check_configuration import computation_digest
from probing.kernel.models.checkpoint import why_no_head
from probing.kernel.models.checkpoint_cases import why_unusable
from probing.kernel.models.head import pretrained_head
from probing.kernel.models.hub_weights import joint_weights_id
from probing.kernel.models.load import Encoder, pick_device
from probing.kernel.options import spelled
from probing.kernel.provenance import LOCAL
from probing.kernel.registry import name_of_model


def encoder_of(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase | None,
    *,
    name: str | None = None,
    base: Callable[[], Encoder] | None = None,
    device: str = "auto",
) -> Encoder:
    """An encoder with a copy of a model's weights, in float32 and eval mode; later training does not change it.

    The head of another task is ignored; ``base`` opens the model whose head is used if ``model`` has no masked-LM head
    (NoOwnHead without one). By default the name has eight digits of the identity: two states of one training differ.
    """
    if not isinstance(model, PreTrainedModel):
        expected = (
            "expected the name of a model, a folder, or a transformers model (of a wrapped one, the model inside)"
        )
        raise ModelError(f"got {type(model).__name__}, {expected}")
    source = f"the {type(model).__name__} in memory"
    if not isinstance(tokenizer, PreTrainedTokenizerBase):
        raise ModelError(
            f"got {type(tokenizer).__name__} as the tokenizer of {source}; give the model's own (tokenizer=)"
        )
    chosen = pick_device(device)
    kind, config = model.config.model_type, model.config
    if reason := why_unusable(kind, getattr(config, "num_hidden_layers", None), getattr(config, "is_decoder", False)):
        raise ModelError(f"{source} {reason}")
    _check_weights(source, model)
    with broken_files_named(source):
        names = [name for name, _ in model.named_parameters(remove_duplicate=False)]
        lacks = why_no_head(kind, [type(model).__name__], names)
        lent = base() if lacks and base is not None else None
        if lacks and lent is None:
            raise NoOwnHead(f"{source} {lacks} ({spelled('base')})")
        body = copy.deepcopy(model.base_model).to(chosen, torch.float32)
        assert isinstance(body, PreTrainedModel)
        body.eval().requires_grad_(False)
        tokenizer = with_offsets(tokenizer)
        notes = [check_tokenizer(source, tokenizer, config.vocab_size)]
        if lent is None:
            head = pretrained_head(model)
        else:
            own, theirs = shape_of(config, tokenizer), shape_of(lent.body.config, lent.tokenizer)
            head, note = lent_head(source, own, lent.name, theirs, lent.head)
            notes.append(note)
        head = head.to(chosen, torch.float32)
        check_finite(source, body, head)
        longest = longest_input(body, tokenizer)
        check_answers(source, body, head, tokenizer)
        identity = (
            weights_id_in_memory(body, head)
            if lent is None
            else joint_weights_id(weights_id_in_memory(body), lent.weights_id)
        )
        origin = name_of_model(model.name_or_path) if model.name_or_path else str(kind)
        name = name or f"{origin}-{identity[:8]}"
        return Encoder(
            name=name,
            body=body,
            head=head,
            tokenizer=tokenizer,
            weights_id=identity,
            configuration=computation_digest((config, lent.body.config if lent else config), tokenizer),
            revision=LOCAL,
            base=lent.name if lent is not None else name,
            depth=int(config.num_hidden_layers),
            hidden=int(config.hidden_size),
            max_pieces=longest,
            device=chosen,
            options="--model FOLDER",
            opens_base=base if lent is not None else None,
            base_source=lent.at_commit if lent is not None else "",
            notes=log_notes(*notes),
        )


def _check_weights(source: str, model: PreTrainedModel) -> None:
    """Raises a ``ModelError`` if a weight is not a floating-point tensor in memory."""
    for name, weight in model.named_parameters():
        if weight.is_meta or not weight.is_floating_point():
            got = "has no values yet" if weight.is_meta else f"is in {str(weight.dtype).removeprefix('torch.')}"
            raise ModelError(f"{name} of {source} {got}, expected floating-point weights; load the original weights")


def weights_id_in_memory(*modules: torch.nn.Module) -> str:
    """sha256 over the name, shape and float32 bytes of every weight.

    The same weights in a folder have another identity, that of its files (``sources.weights.weights_id_of``).
    """
    digest = hashlib.sha256(b"in memory")
    for module in modules:
        for name, weight in sorted(module.named_parameters()):
            digest.update(f"{name}{tuple(weight.shape)}".encode())
            digest.update(weight.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
