"""Which facts a model can be asked: is the object one token of its vocabulary?"""

from collections.abc import Sequence

from probing.core.facts import MASK, NOT_ONE_MASK, SEVERAL_TOKENS, TOO_LONG, UNKNOWN, Fact, FactSet, restrict
from probing.models.encoders import Encoder
from probing.models.states import tokenize


def answer_ids(facts: Sequence[Fact], encoder: Encoder) -> list[int | str]:
    """The token id of each fact's object, or the reason why it has none.

    The tokenizer itself answers: it reads the prompt once with the mask and once with the object in its place. The
    object is one token if exactly that one position differs. Casing, leading spaces and underscores are thus the
    tokenizer's own affair.
    """
    masked = tokenize([fact.prompt for fact in facts], encoder)
    filled = tokenize([fact.prompt.replace(MASK, fact.object) for fact in facts], encoder)
    mask, unknown = encoder.tokenizer.mask_token_id, encoder.tokenizer.unk_token_id
    found: list[int | str] = []
    for with_mask, with_object in zip(masked, filled, strict=True):
        if with_mask.count(mask) != 1:
            found.append(NOT_ONE_MASK)
            continue
        at = with_mask.index(mask)
        same = len(with_mask) == len(with_object) and with_mask[:at] == with_object[:at] and with_mask[at + 1 :] == with_object[at + 1 :]
        if not same:
            # A split object may hold unknown pieces too; several pieces is what a reader can act on.
            found.append(SEVERAL_TOKENS)
        elif with_object[at] == unknown:
            found.append(UNKNOWN)
        elif len(with_mask) > encoder.max_pieces:
            found.append(TOO_LONG)
        else:
            found.append(with_object[at])
    return found


def askable(facts: FactSet, encoder: Encoder) -> tuple[FactSet, list[int]]:
    """The facts that the model can be asked, with the token id of each answer; the others are counted by reason."""
    answers = answer_ids(facts.facts, encoder)
    reasons = {id(fact): answer if isinstance(answer, str) else None for fact, answer in zip(facts.facts, answers, strict=True)}
    kept = restrict(facts, lambda fact: reasons[id(fact)])
    return kept, [answer for answer in answers if isinstance(answer, int)]
