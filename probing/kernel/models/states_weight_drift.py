"""The distance by which fine-tuning moved the weights of every layer."""

import math
import re
from collections import defaultdict
from collections.abc import Mapping

import torch

_LAYER = re.compile(r"(?:^|\.)(?:layer|layers|albert_layer_groups)\.(\d+)\.")


def layer_of(parameter: str) -> int | None:
    """0 for the embeddings, 1..L for a transformer layer, None for others (pooler, heads).

    ALBERT's shared weights count as layer 1. DeBERTa's embeddings of relative positions are in no layer: all read them.
    """
    if match := _LAYER.search(parameter):
        return int(match[1]) + 1
    return 0 if "embeddings" in parameter and "rel_embeddings" not in parameter else None


def weight_drift(base: Mapping[str, torch.Tensor], tuned: Mapping[str, torch.Tensor]) -> list[dict]:
    """``layer, drift, parameters``: Frobenius norm of the difference over that of the base's weights, by layer."""
    change: dict[int, float] = defaultdict(float)
    size: dict[int, float] = defaultdict(float)
    count: dict[int, int] = defaultdict(int)
    for name, before in base.items():
        layer = layer_of(name)
        if layer is None or name not in tuned or tuned[name].shape != before.shape or not before.is_floating_point():
            continue
        change[layer] += (tuned[name].double() - before.double()).square().sum().item()
        size[layer] += before.double().square().sum().item()
        count[layer] += before.numel()
    return [
        {"layer": n, "drift": math.sqrt(change[n] / size[n]) if size[n] else 0.0, "parameters": count[n]}
        for n in sorted(count)
    ]
