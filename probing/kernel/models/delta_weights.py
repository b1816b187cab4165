"""A fine-tuned body stored as its difference from the base: 8 or 4 bits per weight, without unchanged tensors.

Heads and predictions of such a model are computed from the stored weights, not from those before rounding.
"""

import zlib
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from probing.kernel.errors import ModelError
from probing.kernel.files import atomic_file

FILE = "difference.safetensors"
_SCALE = ".scale"
_BASE = "base_weights"
#: Bits per weight -> the largest integer that a change is stored as.
STEPS: Mapping[int, int] = {8: 127, 4: 7}


def parameters_of(model: torch.nn.Module) -> dict[str, torch.nn.Parameter]:
    """The parameters by name, each once; tied word embeddings have their name in the body.

    torch gives a tied parameter the name that it finds first, which in XLM-R is that of the head.
    """
    prefix = getattr(model, "base_model_prefix", "")
    of_body = getattr(model, prefix, model).named_parameters() if prefix else ()
    body = {f"{prefix}.{name}": weight for name, weight in of_body}
    inside = {id(weight) for weight in body.values()}
    return body | {name: weight for name, weight in model.named_parameters() if id(weight) not in inside}


def save_difference(
    base: Mapping[str, torch.Tensor], tuned: Mapping[str, torch.Tensor], base_weights: str, folder: Path, bits: int = 8
) -> Path:
    """Writes the changed parameters; those that only one of the two has are left out.

    A matrix is stored as integers from -127 to 127 (in 4 bits: -7 to 7) with a scale per row (its largest change / 127
    or 7), a vector in float16. Integers of 4 bits are packed two per byte and deflated, which saves another fifth.
    """
    tensors: dict[str, torch.Tensor] = {}
    for name in sorted(base.keys() & tuned.keys()):
        change = tuned[name].detach().float().cpu() - base[name].detach().float().cpu()
        if not change.any():
            continue
        if change.dim() < 2:
            tensors[name] = change.half()
            continue
        scale = change.abs().amax(dim=tuple(range(1, change.dim())), keepdim=True) / STEPS[bits]
        numbers = torch.round(change / scale.clamp_min(1e-12)).to(torch.int8)
        tensors[name] = numbers if bits == 8 else _packed(numbers)
        tensors[name + _SCALE] = scale
    with atomic_file(folder / FILE) as temporary:
        # One entry, because safetensors writes several in an order that changes from file to file, and equal models
        # must be equal bytes.
        save_file(tensors, temporary, metadata={_BASE: base_weights})
    return folder / FILE


def apply_difference(model: torch.nn.Module, folder: Path, base_weights: str) -> set[str]:
    """Adds a stored difference to a model with the base's weights, in place; the names of what it changes.

    ModelError: the file is damaged, belongs to another base, or does not fit the model.
    """
    path = folder / FILE
    parameters = parameters_of(model)
    try:
        with safe_open(path, framework="pt") as stream, torch.no_grad():
            expected = (stream.metadata() or {}).get(_BASE, "")
            if expected != base_weights:
                raise ModelError(
                    f"{path} is a difference from weights {expected[:12]}, the base given has {base_weights[:12]}; name"
                    " its own base"
                )
            names = [name for name in stream.keys() if not name.endswith(_SCALE)]  # noqa: SIM118
            for name in names:
                change = stream.get_tensor(name)
                if change.dtype == torch.uint8 and name in parameters:
                    change = _unpacked(change, parameters[name].shape)
                if name not in parameters or parameters[name].shape != change.shape:
                    raise ModelError(
                        f"{path} changes {name} of shape {tuple(change.shape)}, which the base does not have; name its"
                        " own base"
                    )
                change = (
                    change.float() * stream.get_tensor(name + _SCALE) if change.dtype == torch.int8 else change.float()
                )
                parameters[name].add_(change.to(parameters[name].dtype))
    except (SafetensorError, zlib.error) as error:
        raise ModelError(f"{path} cannot be read ({error}); fetch or make the model again") from error
    return set(names)


def _packed(numbers: torch.Tensor) -> torch.Tensor:
    """Integers from -7 to 7, two per byte (the first in the lower half), deflated."""
    halves = (numbers.flatten() + 8).to(torch.uint8)
    halves = torch.nn.functional.pad(halves, (0, halves.numel() % 2), value=8)
    packed = zlib.compress((halves[::2] | halves[1::2] << 4).numpy().tobytes(), 9)
    return torch.frombuffer(bytearray(packed), dtype=torch.uint8)


def _unpacked(stored: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    """Inverse of ``_packed``, as int8; flat if it does not have this shape."""
    pairs = torch.frombuffer(bytearray(zlib.decompress(stored.numpy().tobytes())), dtype=torch.uint8)
    numbers = torch.stack([pairs & 15, pairs >> 4], dim=1).flatten().to(torch.int8) - 8
    count = shape.numel()
    return numbers[:count].reshape(shape) if numbers.numel() == count + count % 2 else numbers
