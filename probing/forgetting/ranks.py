"""Ranks of right answers at every layer, with own and swapped subject, for prompts that many models are asked."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from probing.facts.askable import askable
from probing.forgetting.memory import Answered
from probing.forgetting.series import guests_of
from probing.heads.decode import LogitsBuffer, ranks_of, read_out
from probing.kernel.errors import FactsError
from probing.kernel.fact import Fact, FactSet, facts_sha256
from probing.kernel.models.head import Head
from probing.kernel.models.layer_swap import replaced_batch
from probing.kernel.models.load import Encoder
from probing.kernel.models.states import batches_by_length, head_states, mask_positions, states_at, tokenize

#: Padded tokens of one batch. Every row of logits has the whole vocabulary, so batches are small.
TOKENS = 2048


@dataclass(frozen=True)
class Prompts:
    """Token ids of prompts, and the position of the mask in each."""

    rows: Sequence[Sequence[int]]
    positions: Sequence[int]

    @classmethod
    def of(cls, prompts: Sequence[str], encoder: Encoder) -> "Prompts":
        """The prompts of facts in the model's tokens; ModelError if one does not have one mask."""
        rows = tokenize(prompts, encoder)
        return cls(rows, mask_positions(rows, encoder))

    def some(self, numbers: Iterable[int]) -> "Prompts":
        """Some of the prompts, in this order."""
        chosen = [int(number) for number in numbers]
        return Prompts([self.rows[n] for n in chosen], [self.positions[n] for n in chosen])


def rank_answers(
    base: Encoder, tuned: Encoder, prompts: Prompts, facts: Sequence[Fact], gold: Sequence[int]
) -> Answered:
    """What both answer to the facts, each by its own pre-trained head, which a model without one has from its base."""
    said, said_logp, (base_rank,), (base_logp,) = first_answers(base, prompts, [gold])
    _, first_logp, (rank, rank_of_said), (logp, logp_of_said) = first_answers(tuned, prompts, [gold, said.tolist()])
    return Answered(
        subjects=[fact.about for fact in facts],
        relations=[fact.relation for fact in facts],
        answers=np.asarray(gold, np.int64),
        said=said,
        base_rank=base_rank,
        rank=rank,
        rank_of_said=rank_of_said,
        base_logp=base_logp,
        logp=logp,
        base_logp_of_said=said_logp,
        logp_of_said=logp_of_said,
        first_logp=first_logp,
    )


def first_answers(encoder: Encoder, prompts: Prompts, targets: Sequence[Sequence[int]] = ()):
    """First token (of equals the lowest id) and log-probability at the last layer; ranks and the same of targets."""
    size = len(prompts.rows)
    first_token, first_logp = np.zeros(size, np.int64), np.zeros(size)
    rank, logp = np.zeros((len(targets), size), np.int64), np.zeros((len(targets), size))
    for batch, states in _batches(encoder, prompts):
        logits = encoder.head(states[encoder.depth]).float()
        norm, best = logits.logsumexp(1), logits.argmax(1)
        target_ids = [torch.tensor([row[n] for n in batch], device=logits.device) for row in targets]
        first_token[batch] = best.cpu().numpy()
        for values, ids in ((first_logp, best), *zip(logp, target_ids, strict=True)):
            values[batch] = (logits.gather(1, ids[:, None])[:, 0] - norm).cpu().numpy()
        for place, ids in enumerate(target_ids):
            rank[place, batch] = ranks_of(logits, ids).cpu().numpy()
    return first_token, first_logp, rank, logp


def choice_logps(
    encoder: Encoder, prompts: Prompts, choices: Sequence[NDArray[np.int64]]
) -> tuple[NDArray[np.int64], list[NDArray[np.float64]]]:
    """First token of each prompt at the last layer, and the log-probabilities of the tokens that it may have."""
    first = np.zeros(len(prompts.rows), np.int64)
    logps = [np.zeros(0)] * len(first)
    for batch, states in _batches(encoder, prompts):
        logits = encoder.head(states[encoder.depth]).float().log_softmax(1).cpu()
        first[batch] = logits.argmax(1).numpy()
        for row, n in zip(logits.numpy().astype(np.float64), batch, strict=True):
            logps[n] = row[choices[n]]
    return first, logps


def ranks(
    encoder: Encoder, prompts: Prompts, targets: Sequence[int], heads: Mapping[int, Head] | None = None
) -> NDArray[np.int64]:
    """(heads, prompts) rank of a token at the mask, from 1, in the order of ``heads``, by layer that each reads.

    None: the pre-trained head reads the last layer.
    """
    heads = {encoder.depth: encoder.head} if heads is None else heads
    by_layer = np.zeros((len(heads), len(prompts.rows)), np.int64)
    for batch, states in _batches(encoder, prompts):
        for place, (layer, head) in enumerate(heads.items()):
            by_layer[place, batch] = _ranks(head, states[layer], [targets[n] for n in batch])
    return by_layer


def ranks_with_layers_back(
    encoder: Encoder, base: Encoder, prompts: Prompts, targets: Sequence[int], most: int
) -> NDArray[np.int64]:
    """(most, prompts) rank of a token at the last layer when the last 1 to ``most`` layers are the base's."""
    by_number = np.zeros((most, len(prompts.rows)), np.int64)
    # Rows of equal length, as ``replaced_batch`` takes no padding.
    lengths: dict[int, list[int]] = {}
    for number, row in enumerate(prompts.rows):
        lengths.setdefault(len(row), []).append(number)
    for length, numbers in sorted(lengths.items()):
        size = max(1, TOKENS // length)
        for start in range(0, len(numbers), size):
            batch = numbers[start : start + size]
            where = torch.tensor([prompts.positions[n] for n in batch], device=encoder.device)
            rows = torch.arange(len(batch), device=encoder.device)
            for n, states in replaced_batch([prompts.rows[number] for number in batch], encoder, base):
                if n > most:
                    break
                if n:
                    by_number[n - 1, batch] = _ranks(
                        encoder.head, states[rows, where], [targets[number] for number in batch]
                    )
    return by_number


def _batches(encoder: Encoder, prompts: Prompts):
    """Numbers of the prompts of each batch, and (layers, prompts, hidden) states at their masks."""
    with torch.inference_mode():
        for batch in batches_by_length([len(row) for row in prompts.rows], TOKENS):
            states = head_states([prompts.rows[n] for n in batch], encoder)
            where = torch.tensor([prompts.positions[n] for n in batch], device=encoder.device)
            rows = torch.arange(len(batch), device=encoder.device)
            yield batch, [state[rows, where] for state in states]


def _ranks(head: Head, states: torch.Tensor, targets: Sequence[int]) -> NDArray[np.int64]:
    with torch.inference_mode():
        return ranks_of(head(states), torch.tensor(targets, device=states.device)).cpu().numpy()


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


def ranks_by_layer(encoder: Encoder, questions: Questions, layers: Sequence[int], head: Head | None = None) -> Ranks:
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
