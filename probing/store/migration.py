"""Brings rows that earlier versions of the program stored to this version's form."""

from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa

from probing.core.head_kinds import canonical_head
from probing.core.tokens.text import SPACE, TokenText
from probing.store.schema import SCHEMAS

#: How vocabularies mark a token: WordPiece the one that continues a word, byte-level and SentencePiece ones the one that begins it.
_CONTINUES, _BYTES_BEGIN, _BEGINS = "##", "\u0120", "\u2581"
#: Tables whose column ``head`` is a kind of heads.
_NAMING_HEADS = ("runs", "counted_runs", "head_training")
#: The letters that byte-level vocabularies write for bytes: printable ones for themselves, others from U+0100 on.
_PRINTABLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
_OTHERS = tuple(byte for byte in range(256) if byte not in _PRINTABLE)
_BYTES = {chr(byte): byte for byte in _PRINTABLE} | {chr(0x100 + number): byte for number, byte in enumerate(_OTHERS)}


def columns_of(table: str, version: int | None) -> list[str] | None:
    """The columns that a table had in an earlier version; None if no step leads from it to this one."""
    return next((list(columns) for key, (columns, _) in _STEPS.items() if key == (table, version)), None)


def migrated(table: str, version: int, rows: pa.Table) -> pa.Table:
    """The rows of an earlier version's file as ``schema.SCHEMAS`` has them; the file stays unchanged."""
    return _STEPS[table, version][1](rows).select(SCHEMAS[table].names).cast(SCHEMAS[table])


def with_names_of_today(table: str, rows: pa.Table) -> pa.Table:
    """Rows of any version with the names that this one gives to kinds of heads; ``logit_lens`` was ``lens`` up to version 0.6."""
    if table not in _NAMING_HEADS or "head" not in rows.column_names:
        return rows
    place = rows.column_names.index("head")
    names = [canonical_head(name) for name in rows.column(place).to_pylist()]
    return rows.set_column(place, rows.schema.field(place), pa.array(names, rows.schema.field(place).type))


def stored_token_texts(tokens: Sequence[str]) -> list[TokenText]:
    """What ``models.encoders.token_text`` gives for a whole vocabulary, without its tokenizer: its family is guessed by counting marks."""
    mark = _mark(tokens)
    if mark == _BYTES_BEGIN:
        said = [_text_of_bytes(token) for token in tokens]
    elif mark == _BEGINS:
        said = [token.replace(_BEGINS, " ") for token in tokens]
    else:
        return [TokenText(token, not (mark and token.startswith(mark))) for token in tokens]
    return [TokenText(text.strip() or SPACE, text.startswith(" ")) for text in said]


def _mark(tokens: Iterable[str]) -> str:
    """The mark that most of the tokens begin with; ``""`` if none has one."""
    counts = dict.fromkeys((_CONTINUES, _BYTES_BEGIN, _BEGINS), 0)
    for token in tokens:
        for mark in counts:
            counts[mark] += token.startswith(mark)
    best = max(counts, key=lambda mark: counts[mark])
    return best if counts[best] else ""


def _text_of_bytes(token: str) -> str:
    if not all(letter in _BYTES for letter in token):
        return token
    return bytes(_BYTES[letter] for letter in token).decode("utf-8", errors="replace")


def _vocabulary_1(rows: pa.Table) -> pa.Table:
    """Up to version 0.2 a vocabulary held raw tokens only."""
    tokenizers, tokens = rows.column("tokenizer").to_pylist(), rows.column("token").to_pylist()
    numbers: dict[str, list[int]] = {}
    for number, tokenizer in enumerate(tokenizers):
        numbers.setdefault(tokenizer, []).append(number)
    found = [TokenText("", False)] * len(tokens)
    for own in numbers.values():
        for number, said in zip(own, stored_token_texts([tokens[number] for number in own]), strict=True):
            found[number] = said
    texts = pa.array([said.text for said in found], pa.string())
    starts = pa.array([said.starts_word for said in found], pa.bool_())
    return rows.append_column("text", texts).append_column("starts_word", starts)


#: (Table, earlier version) -> its columns, and the step to this version's.
_STEPS: dict[tuple[str, int], tuple[Sequence[str], Callable[[pa.Table], pa.Table]]] = {
    ("vocabulary", 1): (("tokenizer", "id", "token"), _vocabulary_1),
}
