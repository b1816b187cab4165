"""Sentences of CoNLL-U files: their comments, and the columns of their words."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from probing.kernel.text import ErrorClass

_COLUMNS = 10


@dataclass
class TreebankSentence:
    """A sentence of a CoNLL-U file; ``comments`` are key -> value of lines such as ``# sent_id = …``."""

    comments: dict[str, str] = field(default_factory=dict)
    #: Number of the line and the ten columns of each.
    words: list[tuple[int, list[str]]] = field(default_factory=list)
    end: int = 0

    def column(self, place: int) -> tuple[str, ...]:
        """One column of all words, from 0: 1 is the form, 3 the universal and 4 the language's own part of speech."""
        return tuple(columns[place] for _, columns in self.words)


def conllu_sentences(
    lines: Iterable[tuple[int, str]], path: Path, error_class: ErrorClass
) -> Iterator[TreebankSentence]:
    """Sentences of numbered lines of CoNLL-U, without multiword tokens (``1-2``) and empty nodes (``8.1``)."""
    sentence = TreebankSentence()
    for number, line in lines:
        sentence.end = number
        if not line.strip():
            if sentence.words:
                yield sentence
                sentence = TreebankSentence()
        elif line.startswith("#"):
            key, _, value = line[1:].partition("=")
            sentence.comments[key.strip()] = value.strip()
        else:
            columns = line.split("\t")
            if len(columns) != _COLUMNS:
                got = f"got {len(columns)} columns, expected CoNLL-U's {_COLUMNS}, separated by tabs"
                raise error_class(f"{path}, line {number}: {got}")
            if "-" in columns[0] or "." in columns[0]:
                continue
            if columns[0] != str(len(sentence.words) + 1):
                raise error_class(
                    f"{path}, line {number}: got word number {columns[0]!r}, expected word {len(sentence.words) + 1}"
                )
            sentence.words.append((number, columns))
    if sentence.words:
        yield sentence
