"""Files of SentEval's probing tasks, and of X-Probe, which has the same tasks on Wikipedia's sentences."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from probing.kernel.errors import SentenceDataError
from probing.kernel.text import numbered_lines
from probing.sentences.examples import Example
from probing.sentences.examples_labelled_sentence import Labelled

#: What both data sets call the parts.
PART_NAMES: Mapping[str, str] = {"tr": "train", "va": "dev", "te": "test"}


def read_probing_file(path: Path, labels: Mapping[str, str]) -> Iterator[Labelled]:
    """Rows of a file in either layout; the first column of its first line decides which.

    SentEval's lines have a part, a label and, in the last column, the sentence. X-Probe's have a sentence and, after
    the last tab, a label; the part is in the file's name (``bigram_shift.va.txt``).
    """
    senteval: bool | None = None
    of_file = PART_NAMES.get(path.name.split(".")[-2], "") if path.name.count(".") > 1 else ""
    for number, line in numbered_lines(path, SentenceDataError):
        if senteval is None:
            senteval = is_senteval(line)
        if senteval:
            part, label, text = _three(path, number, line)
        else:
            text, _, label = line.rpartition("\t")
            part = of_file
        if not text.strip():
            raise SentenceDataError(
                f"{path}, line {number}: got {line!r}, expected a sentence and its label, separated by a tab"
            )
        if label not in labels:
            raise SentenceDataError(
                f"{path}, line {number}: got the label {label!r}, expected one of {', '.join(labels)}"
            )
        yield Labelled(Example(text.strip(), labels[label]), part)


def is_senteval(line: str) -> bool:
    """Whether a line is SentEval's: at least three columns, the first of which is ``tr``, ``va`` or ``te``."""
    first, *others = line.split("\t")
    return first in PART_NAMES and len(others) > 1


def _three(path: Path, number: int, line: str) -> tuple[str, str, str]:
    cells = line.split("\t")
    if not is_senteval(line):
        expected = "tr, va or te, a label and a sentence, separated by tabs"
        raise SentenceDataError(f"{path}, line {number}: got {line[:80]!r}, expected {expected}")
    return PART_NAMES[cells[0]], cells[1], cells[-1]
