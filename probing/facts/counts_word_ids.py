"""Numbers for the words of answers and prompts, so that kinds of answers are found by joins of integers."""

from collections import defaultdict
from functools import lru_cache

import duckdb
import numpy as np
import pyarrow as pa

from probing.facts.totals import piece, plain, words

#: Numbers of words lie below; a set of words starts at a multiple of it.
_SPACE = 1 << 32


def load_words(connection: duckdb.DuckDBPyConnection) -> None:
    """Makes the temporary tables that ``counting`` joins, from ``vocabulary`` and the run's facts.

    ``pieces`` (tokenizer, id, word: a number, NULL if a token is no whole word, shape), ``word_places`` (fact_id, and
    where the word sets of its subject, relation and prompt start), ``word_table`` (place: start of a set + number of a
    word in it).
    """
    numbers = _pieces(connection)
    places: dict[tuple, int] = defaultdict(lambda: _SPACE * len(places))
    entries: set[int] = set()
    starts: dict[str, list] = {"fact_id": [], "subject_start": [], "relation_start": [], "prompt_start": []}
    rows = connection.execute(
        "SELECT fact_id, probe_set, relation, subject, object, prompt FROM facts SEMI JOIN known USING (fact_id)"
    ).fetchall()
    for fact_id, probe_set, relation, subject, answer, prompt in rows:
        # Facts without a subject are distinguished by their prompt.
        of_subject = places[probe_set, relation, "subject", subject or prompt]
        of_relation, of_prompt = places[probe_set, relation], places["prompt", prompt]
        word = numbers.get(plain(answer))
        if word is not None:
            entries.update((of_subject + word, of_relation + word))
        entries.update(of_prompt + numbers[word] for word in words(prompt) if word in numbers)
        for name, value in zip(starts, (fact_id, of_subject, of_relation, of_prompt), strict=True):
            starts[name].append(value)
    kinds = [pa.string(), pa.int64(), pa.int64(), pa.int64()]
    _create(
        connection,
        "word_places",
        pa.table([pa.array(v, kind) for v, kind in zip(starts.values(), kinds, strict=True)], list(starts)),
    )
    _create(connection, "word_table", pa.table({"place": np.fromiter(entries, np.int64, len(entries))}))


def _pieces(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Makes ``pieces``; returns word -> number."""
    numbers: dict[str, int] = {}
    rows = []
    for tokenizer, number, text, starts_word in connection.execute(
        "SELECT tokenizer, id, text, starts_word FROM vocabulary"
    ).fetchall():
        word, shape = _word_and_shape(text, starts_word)
        rows.append((tokenizer, number, None if word is None else numbers.setdefault(word, len(numbers)), shape))
    names, kinds = ("tokenizer", "id", "word", "shape"), (pa.string(), pa.uint32(), pa.int64(), pa.string())
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    _create(
        connection,
        "pieces",
        pa.table([pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)], list(names)),
    )
    return numbers


@lru_cache(maxsize=200_000)
def _word_and_shape(text: str, starts_word: bool) -> tuple[str | None, str]:
    """Of a token: whoever counts many runs of one vocabulary asks for each many times."""
    token = piece(text, starts_word)
    return token.word, token.shape


def _create(connection: duckdb.DuckDBPyConnection, name: str, table: pa.Table) -> None:
    connection.register("incoming", table)
    connection.execute(f"CREATE TEMP TABLE {name} AS SELECT * FROM incoming")
    connection.unregister("incoming")
