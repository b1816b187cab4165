"""The alternative in the benchmarks of probing: transformers' ``fill-mask`` pipeline."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transformers import AutoModelForMaskedLM, AutoTokenizer, FillMaskPipeline, pipeline

from tests.speed.measurement import seconds_of

#: Best tokens that both give.
TOP = 10
#: Log-probabilities that differ by less are equal, because sums are taken in another order.
NEAR = 1e-4
BATCHES = (1, 8, 16, 32, 64)


def fill_mask(folder: Path) -> FillMaskPipeline:
    """The pipeline on the CPU."""
    model = AutoModelForMaskedLM.from_pretrained(folder).eval()
    return pipeline("fill-mask", model=model, tokenizer=AutoTokenizer.from_pretrained(folder), device="cpu", top_k=TOP)


def best_batch(pipe: FillMaskPipeline, prompts: Sequence[str]) -> int:
    """The batch size with which the pipeline is fastest on all of these prompts; on fewer prompts another size may be
    faster.
    """
    pipe(list(prompts[:1]))
    return min(BATCHES, key=lambda size: seconds_of(lambda: pipe(list(prompts), batch_size=size)))


def far_apart(ids: Sequence[int], logs: Sequence[float], wanted: Sequence[Mapping[str, Any]]) -> float:
    """Maximum distance of the log-probabilities of best tokens from the pipeline's log-probabilities of the same
    tokens.

    Tokens must be the same, except for a token that ties with the pipeline's last one.

    Args:
        ids: best tokens.
        logs: their natural log-probabilities.
        wanted: the pipeline's answer to the same prompt.
    """
    theirs = {one["token"]: math.log(one["score"]) for one in wanted}
    apart = [abs(log - theirs.get(token, min(theirs.values()))) for token, log in zip(ids, logs, strict=True)]
    # Also position by position, to detect scores in another order than the pipeline's.
    return max([*apart, *(abs(log - other) for log, other in zip(logs, theirs.values(), strict=True))])
