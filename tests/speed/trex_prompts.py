"""The prompts that the benchmarks of probing ask: shipped facts in the shape of T-REx, of a model of BERT-base's size."""

from dataclasses import dataclass
from pathlib import Path

from probing.core.facts.fact import Fact
from probing.core.facts.sources import read_facts
from probing.core.facts.templates import shipped_relations
from probing.core.paths import cache_folder
from probing.models.encoders.answer_tokens import askable
from probing.models.encoders.load import Encoder


@dataclass(frozen=True)
class Asked:
    """Facts spread evenly over all shipped ones, in their order, with the token ids of their answers.

    Attributes:
        facts: the slice.
        answers: (facts,) token ids.
        of: how many there are in all that this model can be asked.
    """

    facts: list[Fact]
    answers: list[int]
    of: int


def trex_prompts(encoder: Encoder, count: int) -> Asked:
    """``count`` askable facts, evenly spread, so that relations and lengths are mixed as they are in all of them."""
    (found,) = read_facts("trex", shipped_relations(), None)
    kept, answers = askable(found, encoder)
    at = [n * len(kept.facts) // count for n in range(count)]
    return Asked([kept.facts[n] for n in at], [answers[n] for n in at], len(kept.facts))


def bench_folder() -> Path:
    """Where benchmarks keep what they make."""
    return cache_folder() / "bench"
