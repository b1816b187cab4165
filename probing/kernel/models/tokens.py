"""Tokens of a vocabulary as readable text."""

from collections.abc import Sequence

from tokenizers import models
from transformers import PreTrainedTokenizerBase

from probing.kernel.text import SPACE, TokenText

#: A token before the decoded one, because decoders drop the space of the first token of a text.
_BEFORE = "a"


def phrase_text(tokenizer: PreTrainedTokenizerBase, tokens: Sequence[str]) -> str:
    """Tokens in the vocabulary's notation as one text, joined by its decoder: ``york ##er`` is yorker."""
    model, decoder = tokenizer.backend_tokenizer.model, tokenizer.backend_tokenizer.decoder
    if decoder is None:
        return " ".join(tokens)
    if isinstance(model, models.WordPiece):
        return str(decoder.decode(list(tokens)))
    return str(decoder.decode([_BEFORE, *tokens])).removeprefix(_BEFORE).strip() or SPACE


def token_texts(tokenizer: PreTrainedTokenizerBase, tokens: Sequence[str]) -> list[TokenText]:
    """The texts of tokens in the vocabulary's notation (``Ġparis``, ``▁paris``), by its decoder; ``##`` stays."""
    model, decoder = tokenizer.backend_tokenizer.model, tokenizer.backend_tokenizer.decoder
    if isinstance(model, models.WordPiece):
        return [TokenText(token, not token.startswith(model.continuing_subword_prefix)) for token in tokens]
    if decoder is None:
        return [TokenText(token, True) for token in tokens]
    texts = []
    for token in tokens:
        text = decoder.decode([_BEFORE, token]).removeprefix(_BEFORE)
        texts.append(TokenText(text.strip() or SPACE, text.startswith(" ")))
    return texts
