"""The prompts of the benchmarks of probing: shipped T-REx-like facts, for a model of BERT-base's size."""

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
        of: number of all facts that this model can be asked.
    """

    facts: list[Fact]
    answers: list[int]
    of: int


def trex_prompts(encoder: Encoder, count: int) -> Asked:
    """``count`` askable facts, evenly spread, so that relations and lengths are mixed as in all facts."""
    (found,) = read_facts("trex", shipped_relations(), None)
    kept, answers = askable(found, encoder)
    at = [n * len(kept.facts) // count for n in range(count)]
    return Asked([kept.facts[n] for n in at], [answers[n] for n in at], len(kept.facts))


def bench_folder() -> Path:
    """Folder of the files that benchmarks make."""
    return cache_folder() / "bench"
