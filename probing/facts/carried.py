"""Whether the model goes by what a layer shows: the gap's state put into another sentence, and the subject hidden.

Definitions are in ``docs/carried.md``. All facts and hosts are chosen by the unchanged model.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from probing.facts.swapped_subjects import Answers
from probing.facts.tables import MEASURED
from probing.heads.decode import LogitsBuffer, decode, ranks_of
from probing.kernel.fact import Fact
from probing.kernel.models.layer_swap import no_cut, run_from
from probing.kernel.models.load import Encoder
from probing.kernel.models.states import all_hidden_states, fill_gaps, masked_rows

#: A fact is host of at most as many others.
MOST_GUESTS = 5
#: Tokens of a batch; each of its rows is run twice at once, as itself and as its null.
TOKENS = 1024
Flags = NDArray[np.floating]  #: 1 yes, 0 no


@dataclass(frozen=True)
class Sentence:
    """The tokens of a fact's prompt."""

    row: list[int]
    gap: int
    subject: tuple[int, ...]  #: places of the subject's tokens, wherever it occurs; empty if the prompt lacks it
    others: tuple[int, ...]  #: places of all other tokens of the text

    def without_subject(self, mask: int) -> list[int]:
        """The row with a mask for each token of the subject."""
        return [mask if place in self.subject else token for place, token in enumerate(self.row)]


def sentences(facts: Sequence[Fact], encoder: Encoder) -> list[Sentence]:
    """The prompts of facts in the model's tokens."""
    read = masked_rows([fact.prompt for fact in facts], encoder)
    filled = fill_gaps([fact.prompt for fact in facts], [[word] for _, word in read], encoder)
    found = []
    for fact, (row, _), one in zip(facts, read, filled, strict=True):
        subject = one.places_of(fact.subject, re.IGNORECASE)
        gap = row.index(encoder.tokenizer.mask_token_id)
        text = {place for n, added in enumerate(one.added) if not added for place in one.beside_gap(*one.spans[n])}
        found.append(Sentence(row, gap, tuple(sorted(subject)), tuple(sorted(text - subject))))
    return found


@dataclass(frozen=True)
class Case:
    """A fact, its sentence, and what it is measured with."""

    fact: Fact
    answer: int  #: token id
    asked: Sentence
    known: bool  #: by the unchanged model's last layer; else an inner layer reads it
    #: Known, in the same wording and length, of a subject without the answer: whose sentence the state is put into;
    #: whose state is put there for the null, of yet another answer; and whose into the fact's own sentence.
    host: "Case | None" = field(default=None, repr=False)
    third: "Case | None" = field(default=None, repr=False)
    other: "Case | None" = field(default=None, repr=False)

    @property
    def same_words(self) -> tuple[int, ...]:
        """Places of as many other words' tokens as the subject has, by hash; empty if there are fewer."""
        order = sorted(self.asked.others, key=lambda place: _hash(self.fact.fact_id, str(place)))
        return tuple(order[: len(self.asked.subject)]) if len(order) >= len(self.asked.subject) else ()


def _hash(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def chosen(cases: Sequence[Case], most: int) -> list[Case]:
    """At most so many cases, as many of each relation as there are: by fact id, which is a hash."""
    turns, placed = defaultdict[str, int](int), []
    for case in sorted(cases, key=lambda case: case.fact.fact_id):
        placed.append((turns[case.fact.relation], case.fact.fact_id, case))
        turns[case.fact.relation] += 1
    return [case for *_, case in sorted(placed, key=lambda one: one[:2])[:most]]


def with_hosts(known: Sequence[Case], some: Sequence[Case]) -> list[Case]:
    """Some of the known cases with host and others of all of them; None where there is none."""
    groups = defaultdict[tuple[object, ...], list[Case]](list)
    for case in sorted(known, key=lambda case: case.fact.fact_id):
        groups[_alike(case)].append(case)
    answers, guests = Answers([case.fact for case in known]), defaultdict[str, int](int)
    found = []
    for case in some:
        group, subjects = groups[_alike(case)], answers.subjects_with(case.fact)
        start = group.index(case)
        turned = (*group[start:], *group[:start])
        able = [one for one in turned if one.answer != case.answer and one.fact.subject not in subjects]
        host = next((one for one in able if guests[one.fact.fact_id] < MOST_GUESTS), None)
        third = None
        if host:
            guests[host.fact.fact_id] += 1
            third = next(
                (one for one in able if one.answer != host.answer and one.fact.subject != host.fact.subject), None
            )
        found.append(replace(case, host=host, third=third, other=able[0] if able else None))
    return found


def _alike(case: Case) -> tuple[object, ...]:
    """What a fact shares with those whose sentences its state is put into."""
    wording = case.fact.prompt.replace(case.fact.subject, "[X]") if case.fact.subject else case.fact.prompt
    return case.fact.probe_set, case.fact.relation, wording, len(case.asked.row), case.asked.gap


def measure_cases(
    cases: Sequence[Case], encoder: Encoder, passed: Callable[[int], object] = lambda n: None
) -> dict[str, Flags]:
    """``MEASURED`` and ``as_before``, (layers 0..L, cases), 1 or 0, NaN if not measured; and ``guessed``, (cases,).

    Whether the last layer puts the case's answer first after a change at each layer; ``as_before``: whether the state
    alone brings what the unchanged model answers; ``guessed``: whether the answer is first with the subject masked and
    no state put. Nothing is settled without ``layer_swap.no_cut``. ``passed`` is called with the cases of each batch.
    """
    found: dict[str, Flags] = {
        name: np.full((encoder.layers, len(cases)), np.nan, np.float32) for name in (*MEASURED, "as_before")
    }
    found["guessed"] = np.zeros(len(cases), np.float32)
    lengths = [len(case.asked.row) for case in cases]
    for length in sorted(set(lengths)):
        numbers = [n for n, own in enumerate(lengths) if own == length]
        size = max(1, TOKENS // length)
        for first in range(0, len(numbers), size):
            batch = numbers[first : first + size]
            _Batch([cases[n] for n in batch], encoder).into(found, np.array(batch))
            passed(len(batch))
    return found


class _Run(NamedTuple):
    """A sentence that is run from every layer on with something changed at the gap."""

    name: str  #: of ``MEASURED``
    number: int  #: of the case in its batch, whose answer is wanted
    row: tuple[int, ...]
    donor: Case | None = None  #: whose state is put at the gap
    hidden: tuple[int, ...] = ()  #: places that the gap does not see


def _runs(cases: Sequence[Case], mask: int) -> Iterator[_Run]:
    """All that is measured of a batch."""
    for n, case in enumerate(cases):
        own, without = tuple(case.asked.row), tuple(case.asked.without_subject(mask))
        if case.asked.subject:
            yield _Run("alone", n, without, case)
            if case.other:
                yield _Run("alone_null", n, without, case.other)
            if case.known:
                yield _Run("settled", n, own, hidden=case.asked.subject)
            if case.known and case.same_words:
                yield _Run("settled_null", n, own, hidden=case.same_words)
        if case.host:
            host = tuple(case.host.asked.row)
            yield _Run("against", n, host, case)
            if case.third:
                yield _Run("against_null", n, host, case.third)


class _Batch:
    """Cases whose sentences have one length, so that nothing is padded."""

    def __init__(self, cases: Sequence[Case], encoder: Encoder):
        self._cases, self._encoder, self._buffer = cases, encoder, LogitsBuffer()
        mask = encoder.tokenizer.mask_token_id
        self._masked = [tuple(case.asked.without_subject(mask)) for case in cases]
        self._runs = list(_runs(cases, mask))
        donors = [tuple(run.donor.asked.row) for run in self._runs if run.donor]
        own = [tuple(case.asked.row) for case in cases]
        rows = dict.fromkeys([*own, *self._masked, *donors, *(run.row for run in self._runs)])
        self._place = {row: n for n, row in enumerate(rows)}
        #: Of the unchanged model, by layer.
        self._states = all_hidden_states(list(rows), encoder)

    def into(self, found: dict[str, Flags], numbers: np.ndarray) -> None:
        """Writes the columns of these cases."""
        with torch.inference_mode():
            last, gaps = self._states[-1], self._gaps(self._cases)
            _, said = self._answers(last[self._at([tuple(case.asked.row) for case in self._cases]), gaps], self._cases)
            found["guessed"][numbers], _ = self._answers(last[self._at(self._masked), gaps], self._cases)
            for hiding in (False,) if no_cut(self._encoder.body) else (False, True):
                runs = [run for run in self._runs if bool(run.hidden) == hiding]
                for layer, right, first in self._followed(runs, hiding) if runs else ():
                    for name in MEASURED:
                        some = np.array([run.name == name for run in runs])
                        of = np.array([run.number for run in runs])[some]
                        found[name][layer, numbers[of]] = right[some]
                        if name == "alone":
                            found["as_before"][layer, numbers[of]] = first[some] == said[of]

    def _followed(self, runs: Sequence[_Run], hiding: bool) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Of each layer whether the last one puts the cases' answers first, and which token it does."""
        cases = [self._cases[run.number] for run in runs]
        each = torch.arange(len(runs), device=self._encoder.device)
        rows, gaps = self._at([run.row for run in runs]), self._gaps(cases)
        cut = None
        if hiding:
            cut = torch.zeros(len(runs), len(runs[0].row), len(runs[0].row), dtype=torch.bool)
            for n, run in enumerate(runs):
                cut[n, cases[n].asked.gap, list(run.hidden)] = True
            cut = cut.to(self._encoder.device)
        donors = [run.donor for run in runs if run.donor]
        given = self._at([tuple(one.asked.row) for one in donors]), self._gaps(donors)
        for layer, all_states in enumerate(self._states):
            states = all_states[rows]
            if not hiding:
                states[each, gaps] = all_states[given]
            if layer < self._encoder.depth:
                states = run_from(self._encoder, layer, states, [run.row for run in runs], cut=cut)
            yield layer, *self._answers(states[each, gaps], cases)

    def _at(self, rows: Sequence[tuple[int, ...]]) -> torch.Tensor:
        return torch.tensor([self._place[row] for row in rows], device=self._encoder.device)

    def _gaps(self, cases: Sequence[Case]) -> torch.Tensor:
        return torch.tensor([case.asked.gap for case in cases], device=self._encoder.device)

    def _answers(self, last: torch.Tensor, cases: Sequence[Case]) -> tuple[np.ndarray, np.ndarray]:
        """(rows,) whether the case's answer is first in a state of the last layer, and which token is."""
        logits = decode(self._encoder.head, last.to(self._encoder.exact), self._buffer)
        answers = torch.tensor([case.answer for case in cases], device=logits.device)
        return (ranks_of(logits, answers) == 1).cpu().numpy(), logits.argmax(1).cpu().numpy()
