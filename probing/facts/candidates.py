"""Candidates for the gap of a prompt, of any number of tokens: their log-likelihood at every layer, and their ranks."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from probing.facts.askable import no_answers, subject_unknown
from probing.facts.requests import ANSWER_L2R, INDEPENDENT
from probing.heads.decode import ROWS, LogitsBuffer, decode
from probing.kernel.errors import ModelError
from probing.kernel.fact import (
    MASK,
    NO_CANDIDATE,
    NO_OTHER,
    NOT_ONE_MASK,
    OTHER_PROMPT,
    SUBJECT_UNKNOWN,
    TOO_LONG,
    UNKNOWN,
    Fact,
)
from probing.kernel.models.head import Head
from probing.kernel.models.load import Encoder
from probing.kernel.models.states import (
    ENOUGH_TOKENS,
    TOKENS_A_BATCH,
    Filled,
    batches_by_length,
    fill_gaps,
    head_states,
    masked_rows,
)

#: Left to right takes a pass for each token of a candidate, so at each layer it scores the best by ``independent``
#: only. They are chosen layer by layer: what one layer alone puts first is not among the best of the last one.
BEST = 50
#: Prompts whose log-likelihoods are held at a time, for all layers and candidates.
_PROMPTS = 64
#: Positions whose states are held, at all layers, until they are decoded together.
_POSITIONS = 4 * ROWS
_Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Cut:
    """Candidates as the tokenizer cuts them in a gap."""

    texts: tuple[str, ...]
    pieces: tuple[tuple[int, ...], ...]  #: token ids of each; none of one that is left out
    words: tuple[tuple[int, ...], ...]  #: place of the first token of the word that each token is of
    reasons: tuple[str, ...]  #: why it is left out; empty if it is not

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """(candidates,) number of tokens; 0 of one that is left out."""
        return np.array([len(pieces) for pieces in self.pieces], dtype=np.int64)

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """(candidates,) number of the first one with the same tokens: ``Paris`` and ``paris`` may be one answer."""
        seen: dict[tuple[int, ...], int] = {}
        return np.array([seen.setdefault(pieces, n) for n, pieces in enumerate(self.pieces)], dtype=np.int64)


@dataclass(frozen=True)
class Question:
    """A fact as the model is asked it."""

    row: tuple[int, ...]  #: token ids of the prompt, with one mask
    cut: Cut  #: the candidates, one object for many facts
    answer: int  #: number of the right one
    others: tuple[int, ...]  #: numbers of the prompt's other right answers, which do not count against it
    room: int  #: tokens that a candidate may have in this prompt

    @property
    def possible(self) -> NDArray[np.bool_]:
        """(candidates,) those that can stand in this prompt."""
        return (self.cut.lengths > 0) & (self.cut.lengths <= self.room)

    @property
    def distinct(self) -> NDArray[np.bool_]:
        """(candidates,) those that can stand in this prompt, the first of each that have the same tokens."""
        return self.possible & (self.cut.first == np.arange(len(self.cut.first)))

    @property
    def among(self) -> NDArray[np.bool_]:
        """(candidates,) those that the right answer is ranked among, itself included."""
        distinct = self.distinct
        distinct[self.cut.first[[*self.others, self.answer]]] = False
        distinct[self.answer] = True
        return distinct


def ask(
    facts: Sequence[Fact],
    candidates: Mapping[str, Sequence[str]],
    right: Mapping[tuple[str, str], Iterable[str]],
    encoder: Encoder,
) -> list[Question | str]:
    """Each fact as a question, or the reason why the model cannot be asked it; every prompt has one ``[MASK]``.

    ``candidates`` are different texts by relation, ``right`` the right answers by relation and prompt.
    """
    prompts, mask = [fact.prompt for fact in facts], encoder.tokenizer.mask_token_id
    # Relations may share one long list.
    numbers = {id(texts): {text: n for n, text in enumerate(texts)} for texts in candidates.values()}
    filled = fill_gaps(prompts, [[fact.object] for fact in facts], encoder)
    lost, cuts = no_answers(encoder), dict[tuple[object, ...], Cut]()
    asked: list[Question | str] = []
    for fact, (row, _), own in zip(facts, masked_rows(prompts, encoder), filled, strict=True):
        texts, cut = candidates[fact.relation], None
        known = numbers[id(texts)]
        if row.count(mask) != 1:
            asked.append(NOT_ONE_MASK)
            continue
        if (answer := known.get(fact.object)) is None:
            asked.append(NO_CANDIDATE)
            continue
        read = _pieces(own, row, mask, lost)
        # A text is cut by itself, once its ends are known (``masked_rows``), so prompts that are equal around the gap
        # cut alike. Should this prompt not, the candidates are cut in it.
        for key in ((id(texts), *_around(fact.prompt)), (id(texts), fact.prompt)):
            if key not in cuts:
                cuts[key] = cut_in(fact.prompt, texts, encoder)
            cut = cuts[key]
            if (cut.pieces[answer], cut.words[answer], cut.reasons[answer]) == read:
                break
        assert cut
        room = encoder.max_pieces - len(row) + 1
        others = {known[text] for text in right[fact.relation, fact.prompt] if text in known} - {answer}
        if read[2]:
            asked.append(read[2])
        elif len(read[0]) > room:
            asked.append(TOO_LONG)
        elif subject_unknown(fact, row, own, encoder.tokenizer.unk_token_id):
            asked.append(SUBJECT_UNKNOWN)
        else:
            question = Question(tuple(row), cut, answer, tuple(sorted(others)), room)
            asked.append(question if question.among.sum() > 1 else NO_OTHER)
    return asked


def cut_in(prompt: str, candidates: Sequence[str], encoder: Encoder, gap: int = 0) -> Cut:
    """The candidates as they are cut in place of the prompt's ``[MASK]``, or of one of several, from 0."""
    ((row, other),) = masked_rows([prompt], encoder)
    gaps = range(prompt.count(MASK))
    words = [[text if place == gap else other for place in gaps] for text in candidates]
    filled = fill_gaps([prompt] * len(candidates), words, encoder)
    mask, lost = encoder.tokenizer.mask_token_id, no_answers(encoder)
    read = [_pieces(one, row, mask, lost, gap) for one in filled]
    return Cut(tuple(candidates), *(tuple(column) for column in zip(*read, strict=True)))  # type: ignore[arg-type]


def _pieces(
    filled: Filled, row: list[int], mask: int, lost: set[int], gap: int = 0
) -> tuple[tuple[int, ...], tuple[int, ...], str]:
    """Token ids of the words in the gap, the word that each is of, and why they are left out if they are."""
    own = filled.own_pieces(gap)
    ids = tuple(filled.ids[n] for n in own)
    if not filled.pieces(*filled.words[gap]) or lost.intersection(ids):
        return (), (), UNKNOWN
    if not own or filled.masked(mask) != row:
        return (), (), OTHER_PROMPT
    return ids, filled.words_of(own), ""


def _around(prompt: str) -> tuple[str, bool, str, bool]:
    """The letters or blanks that touch the gap on each side, and whether the text begins or ends with them."""
    before, after = prompt.split(MASK)
    left, right = re.findall(r"\S+|\s+", before)[-1:], re.findall(r"\S+|\s+", after)[:1]
    return "".join(left), "".join(left) == before, "".join(right), "".join(right) == after


@dataclass(frozen=True)
class _Pass:
    """A row of tokens, and at which positions tokens of which candidates are scored."""

    prompt: int
    row: list[int]
    read: list[tuple[int, NDArray[np.int64], NDArray[np.int64]]]  #: position, numbers of candidates, a token of each


class Scorer:
    """Log-likelihoods of candidates by an encoder with a head for each of some layers.

    ``independent``: all tokens of a candidate are masked, one pass for each number of tokens. ``answer_l2r``: a token
    is scored with itself and the later ones masked. ``within_word_l2r``: with itself and the later ones of its word
    masked (Kauf and Ivanova 2023). A log-likelihood is the sum over the candidate's tokens, in nats.
    """

    def __init__(self, encoder: Encoder, heads: Sequence[Head], layers: Sequence[int], measure: str):
        self.encoder, self.heads, self.layers, self.measure = encoder, heads, layers, measure
        self._buffer, self._mask = LogitsBuffer(), encoder.tokenizer.mask_token_id
        ((row, _),) = masked_rows([MASK], encoder)
        self._nothing = tuple(row)

    def score(self, rows: Sequence[Sequence[int]], cut: Cut, best: int = BEST) -> tuple[_Numbers, _Numbers]:
        """(layers, rows, candidates) log-likelihoods by ``independent`` and by the measure; rows have one mask.

        NaN: a candidate that is left out or too long. Left to right scores the ``best`` of each layer and row, and
        those that tie with the last of them; the others are NaN.
        """
        shape, room = (len(rows), len(cut.texts)), np.array([self.encoder.max_pieces - len(row) + 1 for row in rows])
        possible = (cut.lengths > 0) & (cut.lengths <= room[:, None])
        independent = self._sums(list(self._independent(rows, cut, room)), shape)
        independent[:, ~possible] = np.nan
        if self.measure == INDEPENDENT:
            return independent, independent
        falling = -np.sort(np.where(possible, -independent, np.inf), axis=2)
        chosen = independent >= falling[:, :, [min(best, shape[1]) - 1]]
        scores = self._sums(list(self._left_to_right(rows, cut, chosen)), shape, chosen)
        scores[~chosen] = np.nan
        return independent, scores

    def alone(self, cut: Cut) -> tuple[_Numbers, _Numbers]:
        """(layers, candidates) log-likelihoods as ``score`` gives them, without a prompt, all scored by the measure."""
        independent, scores = self.score([self._nothing], cut, best=len(cut.texts))
        return independent[:, 0], scores[:, 0]

    def _independent(self, rows: Sequence[Sequence[int]], cut: Cut, room: NDArray[np.int64]) -> Iterator[_Pass]:
        of_length = [(m, np.flatnonzero(cut.lengths == m)) for m in np.unique(cut.lengths[cut.lengths > 0]).tolist()]
        tokens = {m: np.array([cut.pieces[n] for n in numbers], dtype=np.int64) for m, numbers in of_length}
        for prompt, row in enumerate(rows):
            at = row.index(self._mask)
            for m, numbers in of_length:
                if m <= room[prompt]:
                    read = [(at + place, numbers, tokens[m][:, place]) for place in range(m)]
                    yield _Pass(prompt, [*row[:at], *[self._mask] * m, *row[at + 1 :]], read)

    def _left_to_right(self, rows: Sequence[Sequence[int]], cut: Cut, chosen: NDArray[np.bool_]) -> Iterator[_Pass]:
        """One pass for candidates with equal tokens up to the masked ones."""
        for prompt, row in enumerate(rows):
            at = row.index(self._mask)
            shared: dict[tuple[int, ...], dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
            for number in np.flatnonzero(chosen[:, prompt].any(0)).tolist():
                pieces, words = cut.pieces[number], cut.words[number]
                for place in range(len(pieces)):
                    inside = tuple(
                        piece if n < place or (self.measure != ANSWER_L2R and words[n] != words[place]) else self._mask
                        for n, piece in enumerate(pieces)
                    )
                    shared[inside][place].append(number)
            for inside, places in shared.items():
                read = [
                    (at + place, np.array(numbers), np.array([cut.pieces[n][place] for n in numbers]))
                    for place, numbers in places.items()
                ]
                yield _Pass(prompt, [*row[:at], *inside, *row[at + 1 :]], read)

    def _sums(
        self, passes: Sequence[_Pass], shape: tuple[int, int], chosen: NDArray[np.bool_] | None = None
    ) -> _Numbers:
        """(layers, prompts, candidates) sums of what passes read; a layer decodes only what it has ``chosen``."""
        sums = np.zeros((len(self.layers), *shape))
        held: list[tuple[list[_Pass], torch.Tensor]] = []
        for batch in batches_by_length([len(one.row) for one in passes], TOKENS_A_BATCH, ENOUGH_TOKENS):
            some = [passes[n] for n in batch]
            states = head_states([one.row for one in some], self.encoder)
            rows = [n for n, one in enumerate(some) for _ in one.read]
            positions = [position for one in some for position, *_ in one.read]
            at = torch.tensor(rows, device=self.encoder.device), torch.tensor(positions, device=self.encoder.device)
            held.append((some, torch.stack([states[layer][at].to(self.encoder.exact) for layer in self.layers])))
            if sum(one.shape[1] for _, one in held) >= _POSITIONS:
                self._decode(held, sums, chosen)
                held = []
        if held:
            self._decode(held, sums, chosen)
        return sums

    def _decode(
        self, held: list[tuple[list[_Pass], torch.Tensor]], sums: _Numbers, chosen: NDArray[np.bool_] | None
    ) -> None:
        """Adds the log-probabilities of tokens at held positions; never holds more than ``ROWS`` rows of logits."""
        states = torch.cat([some for _, some in held], dim=1)
        read = [(one.prompt, *what[1:]) for some, _ in held for one in some for what in one.read]
        sizes = [len(numbers) for _, numbers, _ in read]
        position, prompt = np.repeat(np.arange(len(read)), sizes), np.repeat([one[0] for one in read], sizes)
        candidate, token = (np.concatenate([one[column] for one in read]) for column in (1, 2))
        for number, head in enumerate(self.heads):
            some = slice(None) if chosen is None else np.flatnonzero(chosen[number, prompt, candidate])
            used, at = np.unique(position[some], return_inverse=True)
            tokens, found = token[some], np.empty(len(at))
            for first in range(0, len(used), ROWS):
                block = slice(*np.searchsorted(at, (first, first + ROWS)))
                of = states[number, torch.from_numpy(used[first : first + ROWS]).to(states.device)]
                rows, columns = (
                    torch.from_numpy(numbers).to(states.device) for numbers in (at[block] - first, tokens[block])
                )
                found[block] = self._log_probabilities(head, of, rows, columns)
            np.add.at(sums[number], (prompt[some], candidate[some]), found)

    def _log_probabilities(
        self, head: Head, states: torch.Tensor, rows: torch.Tensor, tokens: torch.Tensor
    ) -> NDArray[np.float64]:
        """Natural log-probability of each token in its row of the states."""
        with torch.inference_mode():
            logits = decode(head, states, self._buffer)
            logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
            norm = logits.logsumexp(1)
            # A NaN or infinite logit makes its row's logsumexp non-finite.
            if not torch.isfinite(norm).all():
                raise ModelError("a head gave logits that are not finite; its training has diverged")
            return (logits[rows, tokens] - norm[rows]).cpu().double().numpy()


def place(scores: _Numbers, behind: _Numbers, answer: int, among: NDArray[np.bool_]) -> tuple[_Numbers, _Numbers]:
    """(layers,) rank of a candidate, from 1, and how many tie with it, itself included; ties get their mean rank.

    It is ranked ``among`` candidates by ``scores``, (layers, candidates); those without a score (NaN) come behind all
    others, in the order of ``behind``.
    """
    scored, own, own_behind = ~np.isnan(scores) & among, scores[:, [answer]], behind[:, [answer]]
    rest = among & ~scored
    better = np.where(np.isnan(own), scored | (rest & (behind > own_behind)), scored & (scores > own)).sum(1)
    tied = np.where(np.isnan(own), rest & (behind == own_behind), scored & (scores == own)).sum(1)
    return better + (tied + 1) / 2, tied.astype(np.float64)


def best_of(scores: _Numbers, behind: _Numbers, among: NDArray[np.bool_]) -> NDArray[np.int64]:
    """(layers,) number of the first candidate in the order of ``place``; of several that tie the first one."""
    scored = np.where(~np.isnan(scores) & among, scores, -np.inf)
    rest = np.where(among, behind, -np.inf)
    return np.where(np.isneginf(scored).all(1), rest.argmax(1), scored.argmax(1))


@dataclass(frozen=True)
class Ranks:
    """Each fact's right answer among its candidates; (layers, facts), log-likelihoods in nats."""

    rank: _Numbers
    tied: _Numbers  #: candidates with equal scores, itself included
    log_likelihood: _Numbers  #: by the measure; NaN if left to right did not score it
    best: NDArray[np.int64]  #: number of the first candidate
    alone_log_likelihood: _Numbers  #: of the answer without the prompt, by the measure
    alone_rank: _Numbers
    alone_tied: _Numbers
    pmi_rank: _Numbers  #: by log-likelihood minus that without the prompt
    pmi_tied: _Numbers


def rank(questions: Sequence[Question], scorer: Scorer, passed: Callable[[int], object] = lambda facts: None) -> Ranks:
    """Ranks the right answer of each question; the facts of a prompt share its passes.

    ``passed`` is called after each block of prompts with its number of facts.
    """
    shape = len(scorer.layers), len(questions)
    kinds = {name: np.int64 if name == "best" else np.float64 for name in Ranks.__dataclass_fields__}
    found: dict[str, Any] = {name: np.empty(shape, kind) for name, kind in kinds.items()}
    cuts: dict[int, dict[tuple[int, ...], list[int]]] = defaultdict(lambda: defaultdict(list))
    for number, question in enumerate(questions):
        cuts[id(question.cut)][question.row].append(number)
    for of_row in cuts.values():
        cut = questions[next(iter(of_row.values()))[0]].cut
        alone, alone_scores = scorer.alone(cut)
        rows = list(of_row)
        for first in range(0, len(rows), _PROMPTS):
            some = rows[first : first + _PROMPTS]
            independent, scores = scorer.score(some, cut)
            for at, number in ((at, number) for at, row in enumerate(some) for number in of_row[row]):
                one, behind = scores[:, at], independent[:, at]
                answer, among = questions[number].answer, questions[number].among
                ranks = (
                    *place(one, behind, answer, among),
                    one[:, answer],
                    best_of(one, behind, among),
                    alone_scores[:, answer],
                    *place(alone_scores, alone, answer, among),
                    *place(one - alone_scores, behind - alone, answer, among),
                )
                for column, values in zip(found.values(), ranks, strict=True):
                    column[:, number] = values
            passed(sum(len(of_row[row]) for row in some))
    return Ranks(**found)


def rank_all(prompt: str, candidates: Sequence[str], scorer: Scorer) -> tuple[Cut, dict[str, _Numbers]]:
    """The candidates as they are cut in a prompt with one ``[MASK]``, and (layers, candidates) columns of ``Ranks``.

    NaN: a candidate that is left out, and log-likelihoods that left to right does not compute.
    """
    cut = cut_in(prompt, candidates, scorer.encoder)
    ((row, _),) = masked_rows([prompt], scorer.encoder)
    (independent, scores), (alone, alone_scores) = scorer.score([row], cut), scorer.alone(cut)
    scores, independent = scores[:, 0], independent[:, 0]
    possible = ~np.isnan(independent[0])
    columns = {"rank": np.full_like(scores, np.nan), "pmi_rank": np.full_like(scores, np.nan)}
    for number in np.flatnonzero(possible).tolist():
        columns["rank"][:, number], _ = place(scores, independent, number, possible)
        columns["pmi_rank"][:, number], _ = place(scores - alone_scores, independent - alone, number, possible)
    return cut, columns | {"log_likelihood": scores, "alone_log_likelihood": alone_scores}
