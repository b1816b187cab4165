"""Words and their tags: entities of CoNLL-2003, parts of speech of UD English EWT."""

import logging
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from probing.finetuning.tasks.data_files import first_of, lines_of
from probing.kernel.errors import FactsError
from probing.kernel.text import conllu_sentences, counted, without_controls
from probing.kernel.user_tables import signs_of_programs

_log = logging.getLogger(__name__)

#: What a column of entities holds, and what stands between documents.
_TAG, _MARK = re.compile("O|[BIESLU]-.*"), "-DOCSTART-"
_ONE_TYPE = re.compile("O|[A-Z]-(?!O?$)[^|]+")
#: Of BIOES and BILOU, in which the last word of an entity and its only one have letters of their own.
_IOB = {"E": "I", "L": "I", "S": "B", "U": "B"}
#: Phrases of CoNLL-2000, and of the German part of 2003, whose columns have tags that are no entities.
_PHRASES = {"NP", "VP", "PP", "ADVP", "ADJP", "SBAR", "PRT", "CONJP", "INTJ", "LST", "UCP", "NC", "VC", "PC"}
#: A language as PAN-X has it before every word.
_LANGUAGE = re.compile("[a-z-]{2,}:")
#: More words have no sentence, in a file and in one in which no empty line parts two.
_LONGEST, _LONGEST_UNDIVIDED = 2000, 100
#: Place of the universal part of speech among the columns of CoNLL-U.
_UPOS = 3


@dataclass(frozen=True)
class TaggedSentence:
    """Words and their tags; those of entities are in IOB2, where every entity begins with ``B-``."""

    words: tuple[str, ...]
    tags: tuple[str, ...]


def read_conll(path: Path) -> list[TaggedSentence]:
    """Sentences of a file in CoNLL-2003's layout: one word per line and its tag.

    Tags are IOB1, IOB2, IOE2, BIOES or BILOU, in the last column; of several columns of entities, as GermEval's of
    nested ones, the first counts. Tabs separate the columns of a line that has any, so that words may hold blanks.
    Columns before the word are skipped, a language before all words is taken off, words without a visible sign are left
    out, and the log says so. Document marks only end sentences; a ``#`` without a tag begins a comment.
    """
    lines = [(number, line.strip(" ").rstrip(" \t")) for number, line in lines_of(path)]
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
    undivided = len(sentences) == 1 or all(any(cells) for _, cells in split)
    if (longest := max(map(len, sentences))) > (_LONGEST_UNDIVIDED if undivided else _LONGEST):
        raise FactsError(f"{path} has a sentence of {longest:,} words; expected an empty line after each sentence")
    if undivided:
        _log.warning("%s: sentences of up to %d words; an empty line ends each, and none parts two", path, longest)
    tags = _tag_columns(sentences, width)
    word = _word_column(sentences, tags[0])
    rows = [cells for sentence in sentences for cells in sentence]
    if len(rows) > 1 and all(_LANGUAGE.match(cells[word]) for cells in rows):
        _log.warning("%s: %s before every word is taken off", path, rows[0][word].partition(":")[0] + ":")
        for cells in rows:
            cells[word] = cells[word].partition(":")[2]
    if word or tags[0] < width - 1:
        _log.warning("%s: words are read from column %d and tags from column %d", path, word + 1, tags[0] + 1)
    if others := [place + 1 for place in tags[1:]]:
        _log.warning("%s: tags of column %s are not read", path, ", ".join(map(str, others)))
    if odd := [cells[tags[0]] for cells in rows if not _ONE_TYPE.fullmatch(cells[tags[0]])]:
        _log.warning("%s: %s", path, counted("tags that name no type or several, read as they are", odd))
    visible = [[cells for cells in rows if any(map(_is_visible, cells[word]))] for rows in sentences]
    if empty := len(rows) - sum(map(len, visible)):
        _log.warning("%s: words without a visible sign left out: %d", path, empty)
    for note in signs_of_programs([" ".join(cells[word] for cells in rows) for rows in visible]):
        _log.warning("%s: %s", path, note)
    return [
        TaggedSentence(
            tuple(without_controls(cells[word]) for cells in rows), tuple(iob2([cells[tags[0]] for cells in rows]))
        )
        for rows in visible
        if rows
    ]


def _is_visible(sign: str) -> bool:
    return unicodedata.category(sign) not in ("Cc", "Cf", "Zs", "Zl", "Zp")


def _tag_columns(sentences: Sequence[Sequence[Sequence[str]]], width: int) -> list[int]:
    """The columns of entities: all cells are tags, and one or more is of an entity; else the last column."""
    rows = [cells for sentence in sentences for cells in sentence]
    found = []
    for place in range(1, width):
        kinds = {cells[place] for cells in rows} - {"O"}
        if kinds and all(map(_TAG.fullmatch, kinds)) and not {kind[2:] for kind in kinds} <= _PHRASES:
            found.append(place)
    return found or [width - 1]


def _word_column(sentences: Sequence[Sequence[Sequence[str]]], end: int) -> int:
    """The first of the columns before ``end`` with most different cells, which differ in a sentence and are no ids."""

    def different(place: int) -> int:
        columns = [{cells[place] for cells in sentence} - {""} for sentence in sentences]
        cells = set().union(*columns)
        ids = 2 * sum(re.search(r"\d", cell) is not None for cell in cells) > len(cells)
        return len(cells) if any(len(column) > 1 for column in columns) and not ids else 0

    return max(range(end), key=different)


def iob2(tags: Sequence[str]) -> list[str]:
    """Tags with ``B-`` at the start of every entity, from IOB1, IOB2, IOE1, IOE2, BIOES or BILOU."""
    fixed = []
    for before, tag in zip(["O", *tags], tags, strict=False):
        starts = tag != "O" and (tag[0] in "BSU" or before[0] in "ELSU" or before[1:] != tag[1:])
        fixed.append(f"B{tag[1:]}" if starts else _IOB.get(tag[0], tag[0]) + tag[1:])
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
    """Sentences of a CoNLL-U file with the universal tag of every word; others are left out, and the log says so."""
    lines = ((number, without_controls(line)) for number, line in lines_of(path))
    sentences = [
        TaggedSentence(tree.column(1), tree.column(_UPOS)) for tree in conllu_sentences(lines, path, FactsError)
    ]
    tagged = [sentence for sentence in sentences if "_" not in sentence.tags]
    if not tagged:
        raise FactsError(f"{path} has no universal parts of speech; expected CoNLL-U's columns, with one in the fourth")
    if without := len(sentences) - len(tagged):
        _log.warning("%s: sentences left out, of which a word has no universal part of speech: %d", path, without)
    return tagged


def ewt_part(folder: Path, part: str) -> list[TaggedSentence]:
    """A part of the treebank, ``train``, ``dev`` or ``test``, in its folder."""
    return read_parts_of_speech(first_of(folder, (f"en_ewt-ud-{part}.conllu",)))
