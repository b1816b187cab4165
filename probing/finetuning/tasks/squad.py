"""SQuAD 1.1 and 2.0: questions about passages, and the same as running text."""

import json
import logging
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from probing.facts.lama import json_lines
from probing.finetuning.tasks.data_files import in_test_part, json_files
from probing.kernel.errors import FactsError
from probing.kernel.text import (
    MALFORMED,
    counted,
    in_words,
    refuse_half_characters,
    sorted_out,
    text_of,
    without_controls,
)

_log = logging.getLogger(__name__)

#: Names of the training part and of the held-out part, best first.
_PARTS = (("train",), ("dev", "validation", "valid", "val", "test"))
#: QuAC's text of no answer, which is also the end of its passages.
_NO_ANSWER = "CANNOTANSWER"
_EXPECTED = "expected data > paragraphs > qas > answers, or JSON lines with context, question and answers"


@dataclass(frozen=True)
class Question:
    """A question about a passage; ``answers`` are (text, first character in ``context``), or none."""

    article: str
    question: str
    context: str
    answers: tuple[tuple[str, int], ...]


def read_squad(path: Path, left_out: Counter[str]) -> list[Question]:
    """Questions of a file in the format of SQuAD 1.1 or 2.0, or of huggingface's export of it: JSON lines.

    An answer without text is no answer; a question without answers is unanswerable, unless the file has no answer at
    all, as a test part whose owners keep them. A malformed question is left out and counted; the log names the first.
    """
    flagged = False

    def question(row: tuple[Any, Any, Any]) -> Question:
        nonlocal flagged
        title, paragraph, entry = row
        flagged |= "is_impossible" in entry
        context = _text(paragraph, "context")
        return Question(str(title or context[:60]), _text(entry, "question").strip(), context, _answers(entry, context))

    rows = ((title, paragraph, entry) for title, paragraph, questions in _paragraphs(path) for entry in questions)
    named = (((isinstance(row[2], Mapping) and row[2].get("id")) or number, row) for number, row in enumerate(rows, 1))
    good, wrong = sorted_out(named, question, f"{path} has no question in SQuAD's format", FactsError, "question")
    if wrong:
        _log.warning("%s: %s", path, counted("malformed questions left out", wrong))
    questions = [question for _, question in good]
    usable = questions if flagged or any(question.answers for question in questions) else []
    left_out["malformed questions"] += len(wrong)
    left_out["questions whose answers are not recorded"] += len(questions) - len(usable)
    return usable


def squad_parts(folder: Path, impossible: bool, left_out: Counter[str]) -> tuple[list[Question], list[Question]]:
    """Training and test questions: the official files, or such as train.json and dev.json; else all split by article.

    ``impossible`` keeps the questions without an answer (SQuAD 2.0), and takes only files that have such; without it
    the answerable part of every file serves as SQuAD 1.1.
    """
    version = "2.0" if impossible else "1.1"
    files = json_files(folder)
    for ending in (f"-v{version}.json", ".json", ".jsonl"):
        named = [[path for name in names for path in files if path.name == name + ending][:1] for names in _PARTS]
        if all(named):
            paths = [path for (path,) in named]
            if others := [path.name for path in files if path not in paths]:
                _log.warning("%s: not read beside %s: %s", folder, paths[1].name, ", ".join(others))
            train, dev = (_answerable(read_squad(path, left_out), impossible, left_out) for path in paths)
            return train, dev
    questions: dict[tuple[str, str], Question] = {}
    for path in files:
        of_file = read_squad(path, left_out)
        if impossible and all(question.answers for question in of_file):
            left_out["questions of files without unanswerable ones"] += len(of_file)
            continue
        for question in _answerable(of_file, impossible, left_out):
            left_out["repeated questions"] += (question.context, question.question) in questions
            questions.setdefault((question.context, question.question), question)
    if not questions:
        reasons = ", ".join(f"{number:,} {reason}" for reason, number in left_out.items() if number) or "nothing"
        expected = f"expected train-v{version}.json and dev-v{version}.json, or files in their format"
        raise FactsError(f"{folder} has no questions that serve (left out: {reasons}); {expected}")
    # Two files may have the same article under two titles; a passage belongs to its first title.
    title_of: dict[str, str] = {}
    for question in questions.values():
        title_of.setdefault(question.context, question.article)
    parts: tuple[list[Question], list[Question]] = ([], [])
    for question in questions.values():
        parts[in_test_part(title_of[question.context])].append(question)
    return parts


def squad_texts(folder: Path) -> list[tuple[str, str]]:
    """(article, text) of every distinct passage followed by its questions; files without answers count too."""
    texts: dict[str, tuple[str, list[str]]] = {}
    for path in json_files(folder):
        try:
            for title, paragraph, questions in _paragraphs(path):
                context = _text(paragraph, "context")
                _, wordings = texts.setdefault(context, (str(title or context[:60]), []))
                wordings += [text for q in questions if (text := _text(q, "question").strip()) not in wordings]
        except MALFORMED as error:
            raise FactsError(f"{path} is not in SQuAD's format ({in_words(error)}); {_EXPECTED}") from error
    return [(title, " ".join([context, *wordings])) for context, (title, wordings) in texts.items()]


def _paragraphs(path: Path) -> Iterator[tuple[Any, Any, list[Any]]]:
    """(title, paragraph with its passage, its questions); raises a ``FactsError`` if the file is in neither form."""
    text = text_of(path, FactsError)
    try:
        one_a_line = re.match(r"\s*{.*}\s*\n\s*{", text)
        read = [row for _, row in json_lines(path)] if one_a_line else json.loads(text, strict=False)
        for row in read.get("data", [read]) if isinstance(read, dict) else read:
            # A question of huggingface's export has its passage beside it; a passage of MRQA is no article's.
            if row.keys() == {"header"}:
                continue
            for paragraph in row.get("paragraphs", [row]):
                asked = [row] if paragraph is row and "qas" not in row else paragraph["qas"]
                yield row.get("title"), paragraph, asked
    except MALFORMED as error:
        raise FactsError(f"{path} is not in SQuAD's format ({in_words(error)}); {_EXPECTED}") from error


def _text(row: Mapping[str, Any], key: str) -> str:
    if not isinstance(row[key], str) or not row[key].strip():
        raise ValueError(f"{key!r} is {row[key]!r}, expected text")
    refuse_half_characters(row[key], repr(key), FactsError)
    return without_controls(row[key]).removesuffix(_NO_ANSWER)


def _answers(entry: Mapping[str, Any], context: str) -> tuple[tuple[str, int], ...]:
    """The recorded answers, none if it is unanswerable; one of ``MALFORMED`` if one is not where it says."""
    # Some write it as text.
    flag = str(entry.get("is_impossible") or False).lower()
    if flag not in ("true", "1", "false", "0"):
        raise ValueError(f"'is_impossible' is {entry['is_impossible']!r}, expected true or false")
    if flag in ("true", "1"):
        return ()
    if "answers" not in entry and "answer" in entry:
        raise ValueError("the key is 'answer', expected 'answers'")
    recorded = entry.get("answers") or []
    if found := entry.get("detected_answers"):
        recorded = [{"text": one["text"], "answer_start": one["char_spans"][0][0]} for one in found]
    if isinstance(recorded, Mapping):
        lists = ([one] if isinstance(one, str | int) else one for one in (recorded["text"], recorded["answer_start"]))
        recorded = [{"text": text, "answer_start": start} for text, start in zip_longest(*lists)]
    if isinstance(recorded, str) or any(isinstance(answer, str) for answer in recorded):
        raise ValueError("'answers' are texts without their places; expected text and answer_start of each")
    # A place without a text is how some write that there is no answer.
    answers = [
        (without_controls(answer["text"]), str(answer["answer_start"]))
        for answer in recorded
        if (answer["text"] or "").strip() not in ("", _NO_ANSWER)
    ]
    for text, start in answers:
        if not start.isdecimal() or context[int(start) : int(start) + len(text)] != text:
            raise ValueError(f"{text!r} is not at character {start}")
    return tuple((text, int(start)) for text, start in answers)


def _answerable(questions: Sequence[Question], impossible: bool, left_out: Counter[str]) -> list[Question]:
    answerable = [question for question in questions if impossible or question.answers]
    left_out["questions without an answer"] += len(questions) - len(answerable)
    return answerable
