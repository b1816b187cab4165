"""Ranks of right answers at every layer, with own and swapped subject, exactly as ``probe`` computes them."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from probing.facts.fact import Fact, FactSet, facts_sha256
from probing.forgetting.series import guests_of
from probing.heads.decode import LogitsBuffer, read_out
from probing.kernel.errors import FactsError
from probing.kernel.models.head import DecodingHead
from probing.kernel.models.load import Encoder
from probing.kernel.models.states import mask_positions, states_at, tokenize
from probing.kernel.models.tokens import askable

#: Facts per shard. It is that of ``probe``, because sums depend on which prompts are in one batch.
SHARD = 2048
#: Facts with which the pace of a model is measured.
_TRIAL = 128


class Ranks(NamedTuple):
    """(layers, facts) ranks of the right answer, from 1; with the swapped subject 0 if there is none."""

    own: NDArray[np.uint32]
    swapped: NDArray[np.uint32]


@dataclass(frozen=True)
class Questions:
    """Facts that models of one vocabulary are asked again and again."""

    probe_set: str
    template_set: str
    facts: Sequence[Fact]  #: by relation, else as they were read, which is the order of ``probe``
    gold: Sequence[int]  #: (facts,) token id of each right answer
    rows: Sequence[Sequence[int]]  #: token ids of each prompt
    positions: Sequence[int]  #: of the mask
    swapped: Sequence[Sequence[int]]  #: for each fact the numbers of the facts that have it as swapped subject
    left_out: Mapping[str, int]  #: reason -> number of facts; those that a sample lacks do not count

    @classmethod
    def of(cls, fact_set: FactSet, encoder: Encoder, size: int | None = None) -> "Questions":
        """The facts that a model can be asked, or ``size`` of them; FactsError if there are none.

        A sample has the smallest ids, which are hashes, so a larger one has all facts of a smaller one.
        """
        askable_facts, answers = askable(fact_set, encoder)
        if not askable_facts.facts:
            raise FactsError(
                f"{encoder.name} can be asked none of the {fact_set.n_read:,} facts of {fact_set.probe_set}"
            )
        ids = [fact.fact_id for fact in askable_facts.facts]
        chosen = sorted(range(len(ids)), key=ids.__getitem__)[:size]
        order = sorted(chosen, key=lambda n: (askable_facts.facts[n].relation, n))
        facts = [askable_facts.facts[n] for n in order]
        rows = tokenize([fact.prompt for fact in facts], encoder)
        gold = [answers[n] for n in order]
        return cls(
            askable_facts.probe_set,
            askable_facts.template_set,
            facts,
            gold,
            rows,
            mask_positions(rows, encoder),
            guests_of(facts),
            askable_facts.left_out,
        )

    @property
    def relations(self) -> list[str]:
        return [fact.relation for fact in self.facts]

    @property
    def sha256(self) -> str:
        """Checksum over ids, prompts and answer tokens in order."""
        return facts_sha256(self.facts, self.gold)


def ranks_by_layer(
    encoder: Encoder, questions: Questions, layers: Sequence[int], head: DecodingHead | None = None
) -> Ranks:
    """The ranks of all right answers at some layers, each read by one head, by default the pre-trained one."""
    head, size = head or encoder.head, len(questions.facts)
    own, swapped = (np.zeros((len(layers), size), np.uint32) for _ in range(2))
    buffer = LogitsBuffer()
    for first in range(0, size, SHARD):
        some = range(first, min(first + SHARD, size))
        states = states_at([questions.rows[n] for n in some], [questions.positions[n] for n in some], encoder)
        gold, asked_by = [questions.gold[n] for n in some], [questions.swapped[n] for n in some]
        asking = [number for numbers in asked_by for number in numbers]
        answers = [[questions.gold[number] for number in numbers] for numbers in asked_by]
        # Ranks among a relation's answers are not needed; one list for all facts makes them cheap.
        among = [gold[:1]] * len(gold)
        for place, layer in enumerate(layers):
            readout = read_out(head, states[layer], gold, answers, among, 1, encoder.device, buffer)
            own[place, some.start : some.stop] = readout.gold_rank
            swapped[place, asking] = readout.swapped_rank
    return Ranks(own, swapped)


def affordable(encoder: Encoder, fact_set: FactSet, layers: Sequence[int], seconds: float) -> int:
    """How many facts a model answers in so many seconds, measured on a few of them."""
    trial = Questions.of(fact_set, encoder, _TRIAL)
    ranks_by_layer(encoder, trial, layers)
    start = time.perf_counter()
    ranks_by_layer(encoder, trial, layers)
    return max(len(trial.facts), int(seconds / (time.perf_counter() - start) * len(trial.facts)))
