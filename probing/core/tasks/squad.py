"""SQuAD 1.1 and 2.0: questions about passages, and the same as running text."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from probing.core.errors import FactsError
from probing.core.tasks.data_files import MALFORMED, json_files
from probing.core.tasks.held_out import in_test_part


@dataclass(frozen=True)
class Question:
    """A question about a passage.

    Attributes:
        id: the data set's.
        article: title of the article that the passage is from.
        question: the question.
        context: the passage.
        answers: (text, first character in ``context``) of every recorded answer; none if it cannot be answered.
    """

    id: str
    article: str
    question: str
    context: str
    answers: tuple[tuple[str, int], ...]


def read_squad(path: Path) -> list[Question]:
    """Questions of a file in the format of SQuAD 1.1 or 2.0; those without any recorded answer field are dropped.

    Raises:
        FactsError: if the file is not in that format, or an answer is not at its place.
    """
    questions = []
    try:
        for article in json.loads(path.read_text(encoding="utf-8"))["data"]:
            for paragraph in article["paragraphs"]:
                for asked in paragraph["qas"]:
                    if "answers" not in asked or not (asked["answers"] or asked.get("is_impossible")):
                        continue
                    answers = () if asked.get("is_impossible") else tuple((a["text"], int(a["answer_start"])) for a in asked["answers"])
                    title = article.get("title") or paragraph["context"][:60]
                    questions.append(Question(str(asked["id"]), title, asked["question"].strip(), paragraph["context"], answers))
    except MALFORMED as error:
        raise FactsError(f"{path} is not in SQuAD's format ({error!r}); expected data > paragraphs > qas > answers") from error
    for found in questions:
        for text, start in found.answers:
            if found.context[start : start + len(text)] != text:
                raise FactsError(f"{path}: question {found.id} says that {text!r} is at character {start}; it is not")
    return questions


def squad_parts(folder: Path, impossible: bool) -> tuple[list[Question], list[Question]]:
    """Training and test questions: the official files if they exist, else all files split by article.

    Args:
        folder: with ``train-v1.1.json`` and ``dev-v1.1.json`` (``v2.0`` with ``impossible``), or any files in that format.
        impossible: keep the questions without an answer (SQuAD 2.0), and take only files that have such; without it the
            answerable part of every file serves as SQuAD 1.1.
    """
    version = "2.0" if impossible else "1.1"
    official = [folder / f"{part}-v{version}.json" for part in ("train", "dev")]
    if all(path.is_file() for path in official):
        return _answerable(read_squad(official[0]), impossible), _answerable(read_squad(official[1]), impossible)
    questions: dict[tuple[str, str], Question] = {}
    for path in json_files(folder):
        found = read_squad(path)
        if impossible and all(question.answers for question in found):
            continue
        for question in _answerable(found, impossible):
            questions.setdefault((question.context, question.question), question)
    if not questions:
        raise FactsError(f"{folder} has no questions; expected {official[0].name} and {official[1].name}, or files in their format")
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
            for article in json.loads(path.read_text(encoding="utf-8"))["data"]:
                for paragraph in article["paragraphs"]:
                    title = article.get("title") or paragraph["context"][:60]
                    _, asked = texts.setdefault(paragraph["context"], (title, []))
                    asked += [q["question"].strip() for q in paragraph["qas"] if q["question"].strip() not in asked]
        except MALFORMED as error:
            raise FactsError(f"{path} is not in SQuAD's format ({error!r}); expected data > paragraphs > qas") from error
    return [(title, " ".join([context, *asked])) for context, (title, asked) in texts.items()]


def _answerable(questions: Iterable[Question], impossible: bool) -> list[Question]:
    return [question for question in questions if impossible or question.answers]
