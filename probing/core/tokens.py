"""Tokens of a vocabulary as a reader writes them: one rule for pages, figures and the command line."""

#: The letters that byte-level tokenizers (GPT-2's, RoBERTa's) write for bytes: printable ones for themselves, others from U+0100 on.
_PRINTABLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
_OTHERS = tuple(byte for byte in range(256) if byte not in _PRINTABLE)
_BYTES = {chr(byte): byte for byte in _PRINTABLE} | {chr(0x100 + number): byte for number, byte in enumerate(_OTHERS)}
#: What stands for a token that is a space.
SPACE = "␣"


def readable(token: str, byte_letters: bool = True) -> str:
    """A token without the mark of the space before it, its bytes as letters; ``##`` stays.

    Args:
        token: as the vocabulary writes it: ``Ġparis``, ``▁paris``, ``SÃ£o``, ``##s``.
        byte_letters: whether the vocabulary may be byte-level. A stored vocabulary does not say so; there a token that is no text when
            it is read as bytes (half a letter, or a word such as ``são``) is left as it is.
    """
    if token.startswith("▁"):
        return token.removeprefix("▁") or SPACE
    if not byte_letters or token.isascii() or not all(letter in _BYTES for letter in token):
        return token
    try:
        text = bytes(_BYTES[letter] for letter in token).decode("utf-8")
    except UnicodeDecodeError:
        return token
    return text.strip() or SPACE
