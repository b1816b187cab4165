"""The alternative that asking layers is measured against: transformers' ``fill-mask`` pipeline."""

from collections.abc import Sequence
from pathlib import Path

from transformers import AutoModelForMaskedLM, AutoTokenizer, FillMaskPipeline, pipeline

from probing.bench.measurement import alternate

#: Best tokens that both give.
TOP = 10
BATCHES = (1, 8, 16, 32, 64)


def fill_mask(folder: Path) -> FillMaskPipeline:
    """The pipeline on the CPU."""
    model = AutoModelForMaskedLM.from_pretrained(folder).eval()
    return pipeline("fill-mask", model=model, tokenizer=AutoTokenizer.from_pretrained(folder), device="cpu", top_k=TOP)


def best_batch(pipe: FillMaskPipeline, prompts: Sequence[str]) -> int:
    """The batch size with which the pipeline is fastest."""
    return min(BATCHES, key=lambda size: min(alternate(lambda: pipe(list(prompts), batch_size=size), lambda: None, 1)[0]))
