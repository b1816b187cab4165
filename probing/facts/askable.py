"""The facts that a model can be asked: those whose object is one token in their prompt; the others with a reason."""

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from transformers import PreTrainedTokenizerBase

from probing.kernel.fact import (
    MASK,
    NOT_ONE_MASK,
    OTHER_PROMPT,
    SEVERAL_TOKENS,
    SUBJECT_UNKNOWN,
    TOO_LONG,
    UNKNOWN,
    Fact,
    FactSet,
    restrict,
)
from probing.kernel.files import State, files_state
from probing.kernel.models.hub import Located, open_snapshot
from probing.kernel.models.load import Encoder, load_tokenizer
from probing.kernel.models.names import base_entry, find_entry
from probing.kernel.models.states import Filled, fill_gaps, filled_by, masked_rows

#: A word's token id or the reason why it has none, its prompt's token ids, and the filled sentence.
_Answer = tuple[int | str, list[int], Filled]


def _answers(prompts: Sequence[str], words: Sequence[str], encoder: Encoder) -> list[_Answer]:
    """What each word is in place of its prompt's one ``[MASK]``.

    The tokenizer encodes the filled prompt: a word is one token if a single token covers it, with at most the space
    before it, and the other tokens are those that the model is asked.
    """
    rows, tokenizer = masked_rows(prompts, encoder), encoder.tokenizer
    answers: list[_Answer] = []
    lost = no_answers(encoder)
    for (row, _), filled in zip(rows, fill_gaps(prompts, [[word] for word in words], encoder), strict=True):
        pieces = filled.own_pieces(0)
        answer: int | str
        if not filled.pieces(*filled.words[0]):
            answer = UNKNOWN
        elif len(pieces) != 1:
            # A split object may have unknown pieces, too; "several pieces" is the reason that a user can act on.
            answer = SEVERAL_TOKENS
        elif (token := filled.ids[pieces[0]]) in lost:
            answer = UNKNOWN
        else:
            answer = token if filled.masked(tokenizer.mask_token_id) == row else OTHER_PROMPT
        answers.append((answer, row, filled))
    return answers


def no_answers(encoder: Encoder) -> set[int]:
    """Ids of tokens that stand for no word, and of those that the base whose head is used does not have."""
    return {*encoder.tokenizer.all_special_ids, *encoder.head.without}


def answer_ids(facts: Sequence[Fact], encoder: Encoder) -> list[int | str]:
    """The token id of each fact's object, or the reason why the model cannot be asked the fact."""
    ids: list[int | str] = [NOT_ONE_MASK] * len(facts)
    numbers = [n for n, fact in enumerate(facts) if fact.prompt.count(MASK) == 1]
    some = [facts[n] for n in numbers]
    read = _answers([fact.prompt for fact in some], [fact.object for fact in some], encoder)
    for n, fact, (answer, row, filled) in zip(numbers, some, read, strict=True):
        if row.count(encoder.tokenizer.mask_token_id) != 1:
            continue
        if isinstance(answer, str):
            ids[n] = answer
        elif len(row) > encoder.max_pieces:
            ids[n] = TOO_LONG
        else:
            ids[n] = SUBJECT_UNKNOWN if subject_unknown(fact, row, filled, encoder.tokenizer.unk_token_id) else answer
    return ids


def subject_unknown(fact: Fact, row: Sequence[int], filled: Filled, unknown: int | None) -> bool:
    """Whether the subject (the whole prompt, if it lacks the subject) has an unknown token, or none.

    The model would answer for every such subject alike.
    """
    if unknown not in row and fact.about.isascii():
        return False
    spans = [match.span() for match in re.finditer(re.escape(fact.about), filled.text, re.IGNORECASE)] or [
        (0, len(filled.text))
    ]
    tokens = [filled.ids[n] for span in spans for n in filled.pieces(*span)]
    return not tokens or unknown in tokens


def askable(facts: FactSet, encoder: Encoder) -> tuple[FactSet, list[int]]:
    """The facts that the model can be asked, with the token id of each answer; other facts are counted by reason."""
    answers = answer_ids(facts.facts, encoder)
    reasons = {
        id(fact): answer if isinstance(answer, str) else None for fact, answer in zip(facts.facts, answers, strict=True)
    }
    answerable = restrict(facts, lambda fact: reasons[id(fact)])
    return answerable, [answer for answer in answers if isinstance(answer, int)]


def of_one_piece(facts: Sequence[Fact], model: str, base: str = "") -> tuple[Fact, ...]:
    """The facts whose answer is at most one word piece of the model.

    ``base`` is the model whose tokenizer is used if the model has none; empty: the recorded one.
    """
    entry = find_entry(model)
    other = find_entry(base) if base else base_entry(entry)
    located = _located(entry.location, entry.hub_id, entry.revision)
    if not located.has_tokenizer and other:
        located = _located(other.location, other.hub_id, other.revision)
    tokenizer = _tokenizer(located, files_state([located.folder], "*"))
    filled = filled_by(tokenizer, [fact.prompt for fact in facts], [[fact.object] for fact in facts])
    return tuple(fact for fact, prompt in zip(facts, filled, strict=True) if len(prompt.own_pieces(0)) < 2)


def _located(location: str, hub_id: str, revision: str) -> Located:
    folder = open_snapshot(hub_id, revision or None, True).folder if hub_id else Path(location)
    return Located(hub_id or location, folder, hub_id)


@lru_cache(maxsize=8)
def _tokenizer(located: Located, state: State) -> PreTrainedTokenizerBase:
    return load_tokenizer(located)
