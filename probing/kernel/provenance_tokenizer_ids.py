"""The id of a stored vocabulary: it depends on the tokens, so vocabularies with the same name and size differ."""

import hashlib
import json
from collections.abc import Sequence


def tokenizer_id(name: str, tokens: Sequence[str]) -> str:
    """``NAME-SIZE-CHECKSUM``: the tokenizer's id in a run's row and in the file of its vocabulary."""
    return f"{name}-{len(tokens)}-{tokens_checksum(tokens)}"


def tokens_checksum(tokens: Sequence[str]) -> str:
    """First 8 hex digits of sha256 over the JSON list of the tokens by id."""
    return hashlib.sha256(json.dumps(list(tokens), ensure_ascii=False).encode(errors="surrogatepass")).hexdigest()[:8]
