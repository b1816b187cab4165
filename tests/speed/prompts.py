"""The prompts of the benchmarks of probing, for a model of BERT-base's size, and the alternative: transformers' ``fill-
mask``.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer, FillMaskPipeline, pipeline

from probing.facts.askable import askable
from probing.facts.fact import Fact, FactSet, shipped_relations
from probing.facts.sources import read_facts
from probing.kernel.files import cache_folder
from probing.kernel.models.load import Encoder
from tests.speed.measurement import seconds_of


@dataclass(frozen=True)
class Asked:
    """Facts spread evenly over all shipped ones, in their order, with the token ids of their answers.

    Attributes:
        facts: the slice.
        answers: (facts,) token ids.
        of: number of all facts that this model can be asked.
    """

    facts: list[Fact]
    answers: list[int]
    of: int


#: Weights of a model -> the facts that it can be asked, and their answers, which take longer than some benchmarks.
_ASKABLE: dict[str, tuple[FactSet, list[int]]] = {}


def trex_prompts(encoder: Encoder, count: int) -> Asked:
    """``count`` askable facts, evenly spread, so that relations and lengths are mixed as in all facts."""
    if encoder.weights_id not in _ASKABLE:
        (found,) = read_facts("trex", shipped_relations(), None)
        _ASKABLE[encoder.weights_id] = askable(found, encoder)
    kept, answers = _ASKABLE[encoder.weights_id]
    at = [n * len(kept.facts) // count for n in range(count)]
    return Asked([kept.facts[n] for n in at], [answers[n] for n in at], len(kept.facts))


def bench_folder() -> Path:
    """Folder of the files that benchmarks make, made if it is missing."""
    (folder := cache_folder() / "bench").mkdir(parents=True, exist_ok=True)
    return folder


#: Best tokens that both give.
TOP = 10
#: Log-probabilities that differ by less are equal, because sums are taken in another order.
NEAR = 1e-4
BATCHES = (1, 8, 16, 32, 64)


def fill_mask(folder: Path, device: str = "cpu") -> FillMaskPipeline:
    """The pipeline, on a device."""
    # Else it would take the numbers' format from the file.
    model = AutoModelForMaskedLM.from_pretrained(folder, dtype=torch.float32).eval()
    return pipeline("fill-mask", model=model, tokenizer=AutoTokenizer.from_pretrained(folder), device=device, top_k=TOP)


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
