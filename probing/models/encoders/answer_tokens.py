"""Selects the facts that a model can be asked: those whose object is one token of its vocabulary."""

from collections.abc import Sequence

from probing.core.facts.fact import MASK, NOT_ONE_MASK, SEVERAL_TOKENS, TOO_LONG, UNKNOWN, Fact, FactSet, restrict
from probing.models.encoders.head import NO_PLACE
from probing.models.encoders.hidden_states import tokenize
from probing.models.encoders.load import Encoder


def one_token_ids(prompts: Sequence[str], words: Sequence[str], encoder: Encoder, gaps: Sequence[int] | None = None) -> list[int | str]:
    """The token id of each word in place of its prompt's ``[MASK]``, or the reason why it has none.

    The tokenizer encodes the prompt with the word in place of the mask and returns the characters of each token. The word is
    one token if a single token covers it, with at most the space before it. So casing, leading spaces and underscores are
    left to the tokenizer. (Comparing the token ids of the prompt with and without the word would fail: ALBERT's tokenizer
    writes ``▁ .`` for a full stop after a mask and ``.`` after a word.)

    Args:
        prompts: texts with a ``[MASK]``.
        words: the words to put there.
        encoder: its tokenizer is used.
        gaps: index of the ``[MASK]`` of each prompt that has several, from 0; the others stay masks.
    """
    if not prompts:
        return []
    mask = str(encoder.tokenizer.mask_token)
    split = [(prompt.split(MASK), gap + 1) for prompt, gap in zip(prompts, gaps or [0] * len(prompts), strict=True)]
    ends = [(mask.join(parts[:gap]), mask.join(parts[gap:])) for parts, gap in split]
    texts = [before + word + after for (before, after), word in zip(ends, words, strict=True)]
    read = encoder.tokenizer(texts, truncation=False, return_offsets_mapping=True, return_special_tokens_mask=True, verbose=False)
    found: list[int | str] = []
    # The unknown token, and tokens that the base whose head is used does not have.
    lost = {encoder.tokenizer.unk_token_id, *(encoder.head.vocabulary.bias == NO_PLACE).nonzero().flatten().tolist()}
    columns = zip(ends, words, texts, read["input_ids"], read["offset_mapping"], read["special_tokens_mask"], strict=True)
    for (before, _), word, text, ids, spans, special in columns:
        first = len(before)
        last = first + len(word)
        space = len(text[:first].rstrip())
        # If the space before the word is a separate piece, its width is 0 where offsets are trimmed (RoBERTa); it counts as a piece.
        pieces = [
            number
            for number, (start, end) in enumerate(spans)
            if not special[number] and ((start < last and end > space) or start == end == first)
        ]
        if not pieces:
            found.append(UNKNOWN)
        elif len(pieces) > 1 or spans[pieces[0]][1] > last:
            # A split object may have unknown pieces, too; "several pieces" is the reason that a user can act on.
            found.append(SEVERAL_TOKENS)
        else:
            token = ids[pieces[0]]
            found.append(UNKNOWN if token in lost else token)
    return found


def answer_ids(facts: Sequence[Fact], encoder: Encoder) -> list[int | str]:
    """The token id of each fact's object, or the reason why the model cannot be asked the fact."""
    rows = tokenize([fact.prompt for fact in facts], encoder)
    mask = encoder.tokenizer.mask_token_id
    found: list[int | str] = [
        NOT_ONE_MASK if row.count(mask) != 1 or fact.prompt.count(MASK) != 1 else "" for fact, row in zip(facts, rows, strict=True)
    ]
    asked = [n for n, reason in enumerate(found) if not reason]
    ids = one_token_ids([facts[n].prompt for n in asked], [facts[n].object for n in asked], encoder)
    for n, token in zip(asked, ids, strict=True):
        too_long = isinstance(token, int) and len(rows[n]) > encoder.max_pieces
        found[n] = TOO_LONG if too_long else token
    return found


def askable(facts: FactSet, encoder: Encoder) -> tuple[FactSet, list[int]]:
    """The facts that the model can be asked, with the token id of each answer; other facts are counted by reason."""
    answers = answer_ids(facts.facts, encoder)
    reasons = {id(fact): answer if isinstance(answer, str) else None for fact, answer in zip(facts.facts, answers, strict=True)}
    kept = restrict(facts, lambda fact: reasons[id(fact)])
    return kept, [answer for answer in answers if isinstance(answer, int)]
