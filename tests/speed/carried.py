"""Time and memory of measuring what is carried and settled, against one batched pass over the same facts."""

import resource
from statistics import median

import numpy as np
import torch
from transformers import AutoModelForMaskedLM

from probing.facts.carried import TOKENS, Case, measure_cases, sentences, with_hosts
from probing.kernel.models.load import load_encoder
from tests.speed.measurement import Measurement, alternate, random_bert_base, require_equal
from tests.speed.prompts import bench_folder, trex_prompts

#: Passes, and gigabytes, that all layers of the six runs may take.
MOST_PASSES, MOST_MEMORY = 40.0, 4.0


def measure(quick: bool = False) -> list[Measurement]:
    """All layers of the three measures and their nulls, in passes of the model over the same batches."""
    folder = random_bert_base(bench_folder())
    encoder, model = load_encoder(folder, device="cpu"), AutoModelForMaskedLM.from_pretrained(folder).eval()
    count, rounds = (24, 1) if quick else (300, 2)
    asked = trex_prompts(encoder, count if quick else 20 * count)
    every = [
        Case(*each, True) for each in zip(asked.facts, asked.answers, sentences(asked.facts, encoder), strict=True)
    ]
    cases = with_hosts(every, every)
    # Weights do not matter, so those facts are taken that have all that is measured.
    cases = [case for case in cases if case.third and case.same_words][:count] or cases[:count]
    lengths = sorted({len(case.asked.row) for case in cases})
    batches = []
    for length in lengths:
        rows = [case.asked.row for case in cases if len(case.asked.row) == length]
        size = max(1, TOKENS // length)
        batches += [torch.tensor(rows[first : first + size]) for first in range(0, len(rows), size)]

    def passes() -> list[torch.Tensor]:
        with torch.inference_mode():
            return [model(input_ids=rows, attention_mask=torch.ones_like(rows)).logits for rows in batches]

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = measure_cases(cases, encoder)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    mine, other = alternate(lambda: measure_cases(cases, encoder), passes, rounds)
    again = measure_cases(cases, encoder)
    same = all(np.array_equal(found[name], again[name], equal_nan=True) for name in found)
    require_equal(same, "two measurements of the same facts")
    note = f"{len(cases):,} facts, {len(batches)} batches; {min(mine):.1f} to {max(mine):.1f} s"
    ours, one = median(mine), median(other)
    return [
        Measurement(
            "carried and settled, all layers and nulls, in passes",
            ours,
            "one batched pass that decodes all positions",
            one,
            ours / one,
            MOST_PASSES,
            True,
            "measured twice",
            note,
        ),
        Measurement(
            "peak memory of the process meanwhile, GB",
            ours,
            "",
            None,
            peak,
            MOST_MEMORY,
            True,
            "of the operating system",
            f"{before / 2**20:.1f} GB before",
        ),
    ]
