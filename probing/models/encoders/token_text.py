"""Tokens of a vocabulary as a reader writes them, asked of the tokenizer: one rule for what is stored and for what a live model shows."""

from collections.abc import Sequence

from tokenizers import models
from transformers import PreTrainedTokenizerBase

from probing.core.tokens.text import SPACE, TokenText

#: A token in front of the asked one: at the start of a text, decoders drop the space of the first token.
_BEFORE = "a"


def token_texts(tokenizer: PreTrainedTokenizerBase, tokens: Sequence[str]) -> list[TokenText]:
    """The texts of tokens, in order, as the tokenizer's own decoder writes them; ``##`` stays.

    Args:
        tokenizer: of any family.
        tokens: as its vocabulary writes them: ``Ġparis``, ``▁paris``, ``SÃ£o``, ``##s``.
    """
    model, decoder = tokenizer.backend_tokenizer.model, tokenizer.backend_tokenizer.decoder
    if isinstance(model, models.WordPiece):
        return [TokenText(token, not token.startswith(model.continuing_subword_prefix)) for token in tokens]
    if decoder is None:
        return [TokenText(token, True) for token in tokens]
    found = []
    for token in tokens:
        said = decoder.decode([_BEFORE, token]).removeprefix(_BEFORE)
        found.append(TokenText(said.strip() or SPACE, said.startswith(" ")))
    return found
