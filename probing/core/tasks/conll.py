"""Words and their tags: entities of CoNLL-2003, parts of speech of UD English EWT."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from probing.core.errors import FactsError
from probing.core.files.conllu import conllu_sentences
from probing.core.tasks.data_files import first_of, lines_of

#: Place of the universal part of speech among the columns of CoNLL-U.
_UPOS = 3


@dataclass(frozen=True)
class TaggedSentence:
    """Words and their tags; those of entities are in IOB2, where every entity begins with ``B-``."""

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


def conll_dev(folder: Path) -> list[TaggedSentence]:
    """Development sentences (testa) of a CoNLL-2003 folder."""
    return read_conll(first_of(folder, ("eng.testa", "valid.txt", "dev.txt")))


def read_parts_of_speech(path: Path) -> list[TaggedSentence]:
    """Sentences of a CoNLL-U file with the universal tag of every word.

    Raises:
        FactsError: if it is missing, empty or not CoNLL-U.
    """
    lines = ((number, line.rstrip("\r\n")) for number, line in enumerate(lines_of(path), 1))
    sentences = [TaggedSentence(one.column(1), one.column(_UPOS)) for one in conllu_sentences(lines, path, FactsError)]
    if not sentences:
        raise FactsError(f"{path} has no sentences; expected CoNLL-U's columns")
    return sentences


def ewt_part(folder: Path, part: str) -> list[TaggedSentence]:
    """A part of the treebank, ``train``, ``dev`` or ``test``, in its folder."""
    return read_parts_of_speech(folder / f"en_ewt-ud-{part}.conllu")
