"""Words and their tags: entities of CoNLL-2003, parts of speech of UD English EWT."""

import logging
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from probing.finetuning.tasks.data_files import first_of, lines_of
from probing.kernel.errors import FactsError
from probing.kernel.text import conllu_sentences, without_controls

_log = logging.getLogger(__name__)

#: What a column of entities holds, and what stands between documents.
_TAG, _MARK = re.compile("O|[BI]-.*"), "-DOCSTART-"
#: Place of the universal part of speech among the columns of CoNLL-U.
_UPOS = 3


@dataclass(frozen=True)
class TaggedSentence:
    """Words and their tags; those of entities are in IOB2, where every entity begins with ``B-``."""

    words: tuple[str, ...]
    tags: tuple[str, ...]


def read_conll(path: Path) -> list[TaggedSentence]:
    """Sentences of a file in CoNLL-2003's layout: one word per line, its tag in the last column, IOB1 or IOB2.

    Tabs separate the columns of a line that has any, so that words may hold blanks. Columns before the word are
    skipped, and the log says so. Document marks only end sentences; a ``#`` without a tag begins a comment.
    """
    lines = [(number, line.strip(" \t")) for number, line in lines_of(path)]
    # Not str.split: a no-break space is part of a word.
    split = [(number, re.split(" *\t *" if "\t" in line else " +", line)) for number, line in lines]
    widths = Counter(len(cells) for _, cells in split if _TAG.fullmatch(cells[-1]) and not cells[0].startswith(_MARK))
    width = max(widths, key=lambda columns: (widths[columns], columns), default=2)
    sentences: list[list[list[str]]] = [[]]
    for number, cells in split:
        if not any(cells) or cells[0].startswith(_MARK):
            sentences.append([])
        elif len(cells) == width > 1 and _TAG.fullmatch(cells[-1]):
            sentences[-1].append(cells)
        elif cells[0][:2] not in ("#", "# "):
            expected = f"expected {width} columns as in most lines, a word and, last, a tag such as O or I-PER"
            raise FactsError(
                f"{path}, line {number}: got {' | '.join(cells)!r}, {expected}; tabs separate words with blanks"
            )
    sentences = [sentence for sentence in sentences if sentence]
    if not sentences:
        raise FactsError(f"{path} has no sentences; expected CoNLL-2003's columns")
    word = _word_column(sentences, width)
    if word:
        _log.warning("%s: words are read from column %d and tags from column %d", path, word + 1, width)
    return [
        TaggedSentence(
            tuple(without_controls(cells[word]) for cells in rows), tuple(iob2([cells[-1] for cells in rows]))
        )
        for rows in sentences
    ]


def _word_column(sentences: Sequence[Sequence[Sequence[str]]], width: int) -> int:
    """The first column that in some sentence neither counts the words nor is the same for all, else column 0."""
    for place in range(width - 1):
        for sentence in sentences:
            column = [cells[place] for cells in sentence]
            first = int(column[0]) if column[0].isdecimal() else 0
            counts = column == [str(first + step) for step in range(len(column))]
            if len(set(column)) > 1 and not counts:
                return place
    return 0


def iob2(tags: Sequence[str]) -> list[str]:
    """Tags with ``B-`` at the start of every entity, from IOB1 (where ``B-`` only separates neighbours) or IOB2."""
    fixed = []
    for before, tag in zip(["O", *tags], tags, strict=False):
        starts = tag != "O" and (tag[0] == "B" or before[1:] != tag[1:])
        fixed.append(f"B{tag[1:]}" if starts else tag)
    return fixed


def conll_parts(folder: Path) -> tuple[list[TaggedSentence], list[TaggedSentence]]:
    """Training and test sentences (testb) of a CoNLL-2003 folder."""
    return read_conll(first_of(folder, ("eng.train", "train.txt"))), read_conll(
        first_of(folder, ("eng.testb", "test.txt"))
    )


def conll_dev(folder: Path) -> list[TaggedSentence]:
    """Development sentences (testa) of a CoNLL-2003 folder."""
    return read_conll(first_of(folder, ("eng.testa", "valid.txt", "dev.txt")))


def read_parts_of_speech(path: Path) -> list[TaggedSentence]:
    """Sentences of a CoNLL-U file with the universal tag of every word."""
    lines = ((number, without_controls(line)) for number, line in lines_of(path))
    sentences = [
        TaggedSentence(tree.column(1), tree.column(_UPOS)) for tree in conllu_sentences(lines, path, FactsError)
    ]
    if all(tag == "_" for sentence in sentences for tag in sentence.tags):
        raise FactsError(f"{path} has no universal parts of speech; expected CoNLL-U's columns, with one in the fourth")
    return sentences


def ewt_part(folder: Path, part: str) -> list[TaggedSentence]:
    """A part of the treebank, ``train``, ``dev`` or ``test``, in its folder."""
    return read_parts_of_speech(first_of(folder, (f"en_ewt-ud-{part}.conllu",)))
