"""SemEval-2010 task 8: the relation between two marked nominals."""

import random
import re
from collections.abc import Iterator
from pathlib import Path

from probing.edges.readers.own_tasks_data_lines import Parts, numbered_lines, part_of, wrong
from probing.edges.targets import Record, Span, Target

_SENTENCE = re.compile(r'\d+\t"?(?P<text>.*?)"?\s*')
_MARKER = re.compile(r"(</?e[12]>)")
#: The authors divide the training file into training and development data by these (jiant's
#: ``deterministic_split.py``).
_SEED, _TRAINING_SHARE = 42, 0.85


def read_semeval(folder: Path) -> Parts:
    """Relations with the authors' division of the training file; the test file is unchanged."""
    path, test = folder / "TRAIN_FILE.TXT", folder / "TEST_FILE_FULL.TXT"
    draw = random.Random(_SEED)
    train: list[Record] = []
    dev: list[Record] = []
    for record in _records(path):
        (train if draw.random() <= _TRAINING_SHARE else dev).append(record)
    return part_of(path, train), part_of(path, dev), part_of(test, _records(test))


def _records(path: Path) -> Iterator[Record]:
    """A sentence, the line below it, which is its relation, and a comment, which is ignored."""
    sentence = None
    for number, line in numbered_lines(path):
        if sentence is not None:
            if not line.strip():
                raise wrong(path, number, "got an empty line, expected the relation of the sentence above")
            words, first, second = sentence
            yield Record(words, (Target(first, second, (line.strip(),)),))
            sentence = None
        elif match := _SENTENCE.fullmatch(line):
            sentence = _unmarked(path, number, match["text"])
        elif line.strip() and not line.startswith("Comment"):
            raise wrong(path, number, f"got {line[:40]!r}, expected a number, a tab and a sentence")
    if sentence is not None:
        raise wrong(path, number, "the file ends, expected the relation of the sentence above")


def _unmarked(path: Path, line: int, text: str) -> tuple[tuple[str, ...], Span, Span]:
    """The words without markers, and the two marked spans.

    A marker also ends a word, because it occurs inside words and before punctuation. Otherwise blanks separate words.
    """
    words: list[str] = []
    places: dict[str, int] = {}
    for piece in _MARKER.split(text):
        if _MARKER.fullmatch(piece):
            places[piece] = len(words)
        else:
            words += piece.split()
    spans = [(places.get(f"<{name}>", -1), places.get(f"</{name}>", -1)) for name in ("e1", "e2")]
    if any(start < 0 or end <= start for start, end in spans):
        raise wrong(path, line, "expected two marked spans, <e1>...</e1> and <e2>...</e2>")
    return tuple(words), spans[0], spans[1]
