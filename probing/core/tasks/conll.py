"""CoNLL-2003: words and their entity tags."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from probing.core.errors import FactsError
from probing.core.tasks.data_files import first_of, lines_of


@dataclass(frozen=True)
class TaggedSentence:
    """Words and their entity tags (IOB2: every entity begins with ``B-``)."""

    words: tuple[str, ...]
    tags: tuple[str, ...]


def read_conll(path: Path) -> list[TaggedSentence]:
    """Sentences of a CoNLL-2003 file: one word per line, its tag in the last column, IOB1 or IOB2; document marks only end sentences.

    Raises:
        FactsError: if it is missing or a line has no tag.
    """
    sentences: list[TaggedSentence] = []
    words: list[str] = []
    tags: list[str] = []
    for number, line in enumerate(chain(lines_of(path), [""]), 1):
        columns = line.split()
        if not columns or columns[0] == "-DOCSTART-":
            if words:
                sentences.append(TaggedSentence(tuple(words), tuple(iob2(tags))))
            words, tags = [], []
            continue
        tag = columns[-1]
        if len(columns) < 2 or not (tag == "O" or tag[:2] in ("B-", "I-")):
            raise FactsError(f"{path}, line {number}: got {line.strip()!r}, expected a word and a tag such as O or I-PER")
        words.append(columns[0])
        tags.append(tag)
    if not sentences:
        raise FactsError(f"{path} has no sentences; expected CoNLL-2003's columns")
    return sentences


def iob2(tags: Sequence[str]) -> list[str]:
    """Tags with ``B-`` at the start of every entity, from IOB1 (where ``B-`` only separates neighbours) or IOB2."""
    fixed = []
    for before, tag in zip(["O", *tags], tags, strict=False):
        starts = tag != "O" and (tag[0] == "B" or before[1:] != tag[1:])
        fixed.append(f"B{tag[1:]}" if starts else tag)
    return fixed


def conll_parts(folder: Path) -> tuple[list[TaggedSentence], list[TaggedSentence]]:
    """Training and test sentences (testb) of a CoNLL-2003 folder."""
    return read_conll(first_of(folder, ("eng.train", "train.txt"))), read_conll(first_of(folder, ("eng.testb", "test.txt")))
