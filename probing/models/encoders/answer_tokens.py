"""Which facts a model can be asked: is the object one token of its vocabulary?"""

from collections.abc import Sequence

from probing.core.facts.fact import MASK, NOT_ONE_MASK, SEVERAL_TOKENS, TOO_LONG, UNKNOWN, Fact, FactSet, restrict
from probing.models.encoders.hidden_states import tokenize
from probing.models.encoders.load import Encoder


def one_token_ids(prompts: Sequence[str], words: Sequence[str], encoder: Encoder, gaps: Sequence[int] | None = None) -> list[int | str]:
    """The token id that each word becomes in its prompt's ``[MASK]``, or the reason why it has none.

    The tokenizer itself answers: it reads the prompt with the word in the mask's place and says which characters each
    token covers. The word is one token if one token alone covers it, with at most the space before it. Casing, leading
    spaces and underscores are thus the tokenizer's own affair. (To compare the token ids of the prompt with and without
    the word would not do: ALBERT's tokenizer writes ``▁ .`` for a full stop after a mask and ``.`` after a word.)

    Args:
        prompts: texts with a ``[MASK]``.
        words: what to put there.
        encoder: whose tokenizer is asked.
        gaps: of several ``[MASK]`` the one that is meant, from 0; the others stay masks.
    """
    if not prompts:
        return []
    mask = str(encoder.tokenizer.mask_token)
    split = [(prompt.split(MASK), gap + 1) for prompt, gap in zip(prompts, gaps or [0] * len(prompts), strict=True)]
    ends = [(mask.join(parts[:gap]), mask.join(parts[gap:])) for parts, gap in split]
    texts = [before + word + after for (before, after), word in zip(ends, words, strict=True)]
    read = encoder.tokenizer(texts, truncation=False, return_offsets_mapping=True, return_special_tokens_mask=True, verbose=False)
    found: list[int | str] = []
    columns = zip(ends, words, texts, read["input_ids"], read["offset_mapping"], read["special_tokens_mask"], strict=True)
    for (before, _), word, text, ids, spans, special in columns:
        first = len(before)
        last = first + len(word)
        space = len(text[:first].rstrip())
        # A space of its own before the word has no width where offsets are trimmed (RoBERTa); it counts as a piece.
        pieces = [
            number
            for number, (start, end) in enumerate(spans)
            if not special[number] and ((start < last and end > space) or start == end == first)
        ]
        if not pieces:
            found.append(UNKNOWN)
        elif len(pieces) > 1 or spans[pieces[0]][1] > last:
            # A split object may hold unknown pieces too; several pieces is what a reader can act on.
            found.append(SEVERAL_TOKENS)
        else:
            token = ids[pieces[0]]
            found.append(UNKNOWN if token == encoder.tokenizer.unk_token_id else token)
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
    """The facts that the model can be asked, with the token id of each answer; the others are counted by reason."""
    answers = answer_ids(facts.facts, encoder)
    reasons = {id(fact): answer if isinstance(answer, str) else None for fact, answer in zip(facts.facts, answers, strict=True)}
    kept = restrict(facts, lambda fact: reasons[id(fact)])
    return kept, [answer for answer in answers if isinstance(answer, int)]
