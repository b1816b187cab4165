"""A device that is none: its tensors compute on the CPU, say that they are elsewhere, and refuse to meet tensors that
are not.

What leaves a tensor behind on the CPU fails here as it would on a GPU. It calls itself ``meta``, for torch would look
for the driver of a ``cuda``; where our code checks a device's kind, it distinguishes the CPU from all others.
"""

from dataclasses import replace

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from probing.kernel.models.load import Encoder

ELSEWHERE = torch.device("meta")


class Elsewhere(torch.Tensor):
    """A tensor of the other device, around one of the CPU."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(
            cls,
            inner.size(),
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            device=ELSEWHERE,
            requires_grad=False,
        )

    def __init__(self, inner):
        self.inner = inner

    def data_ptr(self):
        return self.inner.data_ptr()

    def tolist(self):
        return self.inner.tolist()  # As a GPU's tensors do, it fetches the numbers.

    def __repr__(self):
        return f"Elsewhere({self.inner!r})"

    @classmethod
    def __torch_dispatch__(cls, call, types, args=(), kwargs=None):
        return dispatch(call, args, kwargs or {})


def each(change, part):
    """A tuple, list or dictionary, within others or not, with each of its items changed; torch's own is slower."""
    if isinstance(part, dict):
        return {name: each(change, one) for name, one in part.items()}
    return type(part)([each(change, one) for one in part]) if isinstance(part, tuple | list) else change(part)


def dispatch(call, args, kwargs):
    """Runs an operation on the CPU, and says that it ran where its tensors are."""
    tensors = []
    each(lambda one: tensors.append(one) if isinstance(one, torch.Tensor) else None, (args, kwargs))
    away = [one for one in tensors if isinstance(one, Elsewhere)]
    asked = kwargs.get("device")
    moves = call in (torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default)
    # A single number may come from the CPU, as a GPU takes it.
    behind = [one for one in tensors if not isinstance(one, Elsewhere) and one.dim()]
    if away and behind and not moves:
        raise RuntimeError(
            f"{call}: expected all tensors on one device, found {len(away)} on {ELSEWHERE} and {len(behind)} on cpu"
        )
    to = torch.device(asked) if asked is not None else ELSEWHERE if away else torch.device("cpu")
    if call is torch.ops.aten.copy_.default:
        to = args[0].device
    wrapped = {id(one.inner): one for one in away}
    if asked is not None:
        kwargs = kwargs | {"device": torch.device("cpu")}
    args, kwargs = each(lambda one: one.inner if isinstance(one, Elsewhere) else one, (args, kwargs))
    result = call(*args, **kwargs)
    if to.type != ELSEWHERE.type:
        return result

    def named(one):
        if not isinstance(one, torch.Tensor):
            return one
        # What was changed in its place is still the same tensor.
        return wrapped[id(one)] if id(one) in wrapped else Elsewhere(one)

    return each(named, result)


class OtherDevice(TorchDispatchMode):
    """Inside, ``ELSEWHERE`` is a device like others. Load models outside: transformers needs torch's own ``meta`` for
    that.
    """

    def __torch_dispatch__(self, call, types, args=(), kwargs=None):
        return dispatch(call, args, kwargs or {})


def moved(encoder: Encoder) -> Encoder:
    """The encoder, loaded for this alone, with body and head on the other device."""
    # The quick kernels of attention are chosen by device before they can be seen here.
    encoder.body.set_attn_implementation("eager")
    return replace(encoder, body=encoder.body.to(ELSEWHERE), head=encoder.head.to(ELSEWHERE), device=ELSEWHERE)
