"""The alternative that asking layers is measured against: transformers' ``fill-mask`` pipeline."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transformers import AutoModelForMaskedLM, AutoTokenizer, FillMaskPipeline, pipeline

from tests.speed.measurement import seconds_of

#: Best tokens that both give.
TOP = 10
#: Log-probabilities so near are equal: sums are taken in another order.
NEAR = 1e-4
BATCHES = (1, 8, 16, 32, 64)


def fill_mask(folder: Path) -> FillMaskPipeline:
    """The pipeline on the CPU."""
    model = AutoModelForMaskedLM.from_pretrained(folder).eval()
    return pipeline("fill-mask", model=model, tokenizer=AutoTokenizer.from_pretrained(folder), device="cpu", top_k=TOP)


def best_batch(pipe: FillMaskPipeline, prompts: Sequence[str]) -> int:
    """The batch size with which the pipeline is fastest on all of these prompts: on fewer, other sizes are."""
    pipe(list(prompts[:1]))
    return min(BATCHES, key=lambda size: seconds_of(lambda: pipe(list(prompts), batch_size=size)))


def far_apart(ids: Sequence[int], logs: Sequence[float], wanted: Sequence[Mapping[str, Any]]) -> float:
    """How far, at most, log-probabilities of best tokens are from those that the pipeline gives to the same tokens.

    A token that the pipeline leaves out may only be one that ties with its last; so tokens are the same ones, but for near scores.

    Args:
        ids: best tokens.
        logs: their natural log-probabilities.
        wanted: the pipeline's answer to the same prompt.
    """
    theirs = {one["token"]: math.log(one["score"]) for one in wanted}
    apart = [abs(log - theirs.get(token, min(theirs.values()))) for token, log in zip(ids, logs, strict=True)]
    # Place by place as well: scores in another order than the pipeline's are found out.
    return max([*apart, *(abs(log - other) for log, other in zip(logs, theirs.values(), strict=True))])
