"""Tasks in the shape of the eight, on shipped sentences, because the speed of probes does not depend on the meaning of
labels.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from probing.core.edges.target import Part, Record, Span, Target
from probing.core.facts.sources import read_facts
from probing.core.facts.templates import shipped_relations


@dataclass(frozen=True)
class Size:
    """Size and shape of a task.

    Attributes:
        task: its name.
        records: number of sentences of its training part, counted with repetitions.
        targets: number of targets of its training part.
        labels: number of labels.
        words: mean number of words of each span.
    """

    task: str
    records: int
    targets: int
    labels: int
    words: tuple[float, ...]

    @property
    def names(self) -> list[str]:
        """Names of its labels."""
        return [f"label {number:02d}" for number in range(self.labels)]

    def part(self, sentences: Sequence[tuple[str, ...]], records: int, seed: int = 0) -> Part:
        """A part of this shape; the sentences are used in order, and again from the first."""
        draw = np.random.default_rng([seed, self.records])
        a_record = self.targets / self.records
        found = []
        for number in range(records):
            words = sentences[number % len(sentences)]
            count = max(1, round(a_record * (number + 1)) - round(a_record * number))
            found.append(Record(words, tuple(self._target(draw, len(words)) for _ in range(count))))
        return Part(tuple(found))

    def _target(self, draw: np.random.Generator, words: int) -> Target:
        spans = [_span(draw, words, mean) for mean in self.words]
        return Target(spans[0], spans[1] if len(spans) == 2 else None, (self.names[draw.integers(self.labels)],))


def _span(draw: np.random.Generator, words: int, mean: float) -> Span:
    long = min(words, int(draw.geometric(1 / mean)))
    start = int(draw.integers(words - long + 1))
    return start, start + long


#: The eight tasks: training parts as `probing edges tasks` counts them.
SIZES = (
    Size("pos", 12_544, 204_577, 49, (1,)),
    Size("constituents", 12_504, 189_656, 29, (6.98,)),
    Size("dependencies", 12_544, 204_577, 51, (1, 1)),
    Size("entities", 11_132, 23_499, 4, (1.45,)),
    Size("srl", 33_468, 81_399, 58, (1.02, 3.61)),
    Size("coreference", 5_782, 37_346, 2, (2.35, 2.02)),
    Size("proto-roles", 2_191, 5_663, 18, (1, 1)),
    Size("relations", 6_851, 6_851, 19, (1.03, 1.06)),
)
#: Distinct sentences of all eight training parts together, 18 words each: the input of the encoder.
DISTINCT = 34_503


def sentences(count: int) -> list[tuple[str, ...]]:
    """Shipped statements of facts, two at a time, as long as the tasks' sentences."""
    (found,) = read_facts("trex", shipped_relations(), None)
    stated = [fact.prompt.replace("[MASK]", fact.object).split() for fact in found.facts]
    at = [number * (len(stated) // 2) // count for number in range(count)]
    return list(dict.fromkeys((*stated[2 * number], *stated[2 * number + 1]) for number in at))
