"""Readers of what models are fine-tuned on, in the formats of their owners: CoNLL-2003, SQuAD 1.1 and 2.0, MS MARCO."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from probing.core.errors import FactsError

#: TREC calls a passage relevant from this grade on (Craswell et al. 2020); MS MARCO's own judgements are 1 for relevant.
TREC_RELEVANT = 2
#: Share of queries or articles that is held out for scoring where the data come without a test part.
TEST_SHARE = 0.2
#: What reading JSON raises that is torn or of another shape.
_MALFORMED = (OSError, ValueError, KeyError, TypeError, AttributeError)


@dataclass(frozen=True)
class TaggedSentence:
    """Words and their entity tags (IOB2: every entity begins with ``B-``)."""

    words: tuple[str, ...]
    tags: tuple[str, ...]


@dataclass(frozen=True)
class Question:
    """A question about a passage.

    Attributes:
        id: the data set's.
        article: title of the article that the passage is from.
        question: the question.
        context: the passage.
        answers: (text, first character in ``context``) of every recorded answer; none where it cannot be answered.
    """

    id: str
    article: str
    question: str
    context: str
    answers: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Passage:
    """A passage of a ranked list; ``grade`` is 0 for unjudged, None where the query has no judgements."""

    id: str
    text: str
    grade: int | None


@dataclass(frozen=True)
class RankedList:
    """A query with the passages that a first stage (BM25) gives, best first.

    Attributes:
        id, query: of the query.
        passages: in the first stage's order.
        judged: every grade above 0 of the query, also of passages that the list lacks: what an ideal list is made of.
        relevant_from: the grade from which a passage counts as relevant.
    """

    id: str
    query: str
    passages: tuple[Passage, ...]
    judged: tuple[int, ...]
    relevant_from: int


def in_test_part(key: str) -> bool:
    """Whether an article or query is held out, decided by its hash: the same for every model and run."""
    return int(hashlib.sha256(f"task test part\t{key}".encode()).hexdigest()[:8], 16) / 16**8 < TEST_SHARE


def read_conll(path: Path) -> list[TaggedSentence]:
    """Sentences of a CoNLL-2003 file: a word a line, its tag in the last column, IOB1 or IOB2; document marks are dropped.

    Raises:
        FactsError: if it is missing or a line has no tag.
    """
    sentences: list[TaggedSentence] = []
    words: list[str] = []
    tags: list[str] = []
    for number, line in enumerate(chain(_lines(path), [""]), 1):
        columns = line.split()
        if columns and columns[0] == "-DOCSTART-":
            continue
        if not columns:
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
    """Tags with ``B-`` at the start of every entity, from IOB1 (where ``B-`` only parts neighbours) or IOB2."""
    fixed = []
    for before, tag in zip(["O", *tags], tags, strict=False):
        starts = tag != "O" and (tag[0] == "B" or before[1:] != tag[1:])
        fixed.append(f"B{tag[1:]}" if starts else tag)
    return fixed


def conll_parts(folder: Path) -> tuple[list[TaggedSentence], list[TaggedSentence]]:
    """Training and test sentences (testb) of a CoNLL-2003 folder."""
    return read_conll(_first(folder, ("eng.train", "train.txt"))), read_conll(_first(folder, ("eng.testb", "test.txt")))


def read_squad(path: Path) -> list[Question]:
    """Questions of a file in the format of SQuAD 1.1 or 2.0; those without any recorded answer field are dropped.

    Raises:
        FactsError: if the file is not in that format, or an answer does not stand where it should.
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
    except _MALFORMED as error:
        raise FactsError(f"{path} is not in SQuAD's format ({error!r}); expected data > paragraphs > qas > answers") from error
    for found in questions:
        for text, start in found.answers:
            if found.context[start : start + len(text)] != text:
                raise FactsError(f"{path}: question {found.id} says that {text!r} stands at character {start}; it does not")
    return questions


def squad_parts(folder: Path, impossible: bool) -> tuple[list[Question], list[Question]]:
    """Training and test questions: the official files where they lie, else all files split by article.

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
    for path in _json_files(folder):
        found = read_squad(path)
        if impossible and all(question.answers for question in found):
            continue
        for question in _answerable(found, impossible):
            questions.setdefault((question.context, question.question), question)
    if not questions:
        raise FactsError(f"{folder} has no questions; expected {official[0].name} and {official[1].name}, or files in their format")
    # Two files may have the same article under two titles; a passage decides together with its first title.
    title_of: dict[str, str] = {}
    for question in questions.values():
        title_of.setdefault(question.context, question.article)
    parts: tuple[list[Question], list[Question]] = ([], [])
    for question in questions.values():
        parts[in_test_part(title_of[question.context])].append(question)
    return parts


def squad_texts(folder: Path) -> list[tuple[str, str]]:
    """(article, text) of every distinct passage with its questions joined behind it; files without answers count too."""
    texts: dict[str, tuple[str, list[str]]] = {}
    for path in _json_files(folder):
        try:
            for article in json.loads(path.read_text(encoding="utf-8"))["data"]:
                for paragraph in article["paragraphs"]:
                    title = article.get("title") or paragraph["context"][:60]
                    _, asked = texts.setdefault(paragraph["context"], (title, []))
                    asked += [q["question"].strip() for q in paragraph["qas"] if q["question"].strip() not in asked]
        except _MALFORMED as error:
            raise FactsError(f"{path} is not in SQuAD's format ({error!r}); expected data > paragraphs > qas") from error
    return [(title, " ".join([context, *asked])) for context, (title, asked) in texts.items()]


def _answerable(questions: Iterable[Question], impossible: bool) -> list[Question]:
    return [question for question in questions if impossible or question.answers]


def read_ranked_lists(folder: Path) -> list[RankedList]:
    """Ranked lists with judgements.

    Two layouts: MS MARCO's own, ``top1000*.tsv`` (query id, passage id, query, passage) with ``qrels*.tsv`` (query id, 0,
    passage id, 1); or BM25 lists as JSON (``query``, ``hits`` with ``qid, docid, content``) with ``qrels*.txt`` in TREC's
    format. Queries without any judgement are kept: their text is text.

    Raises:
        FactsError: if there are no lists, or a file is not in its format.
    """
    tables = sorted(folder.glob("top1000*.tsv"))
    lists = list(_msmarco_lists(tables)) if tables else list(_json_lists(sorted(folder.glob("*.json"))))
    if not lists:
        raise FactsError(f"{folder} has no ranked lists; expected top1000*.tsv with qrels*.tsv, or BM25 lists as .json with qrels*.txt")
    grades: dict[str, dict[str, int]] = {}
    for path in sorted([*folder.glob("qrels*.txt"), *folder.glob("qrels*.tsv")]):
        for number, line in enumerate(_lines(path), 1):
            try:
                query, _, passage, grade = line.split()
                grades.setdefault(query, {})[passage] = int(grade)
            except ValueError as error:
                raise FactsError(f"{path}, line {number}: got {line.strip()!r}, expected query id, 0, passage id, grade") from error
    relevant_from = 1 if tables else TREC_RELEVANT
    found = []
    for query_id, query, passages in lists:
        judged = grades.get(query_id)
        kept = tuple(Passage(i, text, None if judged is None else max(0, judged.get(i, 0))) for i, text in passages)
        found.append(RankedList(query_id, query, kept, tuple(g for g in (judged or {}).values() if g > 0), relevant_from))
    return found


def read_triples(path: Path, most: int) -> Iterator[tuple[str, str, bool]]:
    """(query, passage, relevant) from MS MARCO's ``triples.train.small.tsv`` (query, relevant, irrelevant passage)."""
    for number, line in enumerate(_lines(path)):
        if number * 2 >= most:
            return
        columns = line.rstrip("\n").split("\t")
        if len(columns) != 3:
            raise FactsError(f"{path}, line {number + 1}: got {len(columns)} columns, expected query, relevant and irrelevant passage")
        query, relevant, irrelevant = columns
        yield query, relevant, True
        yield query, irrelevant, False


def ranking_parts(folder: Path, most: int = 2_000_000) -> tuple[list[tuple[str, str, bool]], list[RankedList]]:
    """Training pairs (query, passage, relevant) and the test lists.

    MS MARCO's own training triples where they lie; else the pairs of the lists whose query is not in the test part, an
    unjudged passage counting as irrelevant, as MS MARCO's sampled negatives do.
    """
    judged = [found for found in read_ranked_lists(folder) if found.judged]
    triples = folder / "triples.train.small.tsv"
    if triples.is_file():
        return list(read_triples(triples, most)), judged
    pairs = [
        (found.query, passage.text, (passage.grade or 0) >= found.relevant_from)
        for found in judged
        if not in_test_part(found.query)
        for passage in found.passages
    ]
    return pairs[:most], [found for found in judged if in_test_part(found.query)]


def ranking_texts(folder: Path, together: int = 10) -> list[tuple[str, str]]:
    """(query, text): each query joined with ten of its passages at a time, the next ten with the query again."""
    texts = []
    for found in read_ranked_lists(folder):
        for start in range(0, len(found.passages), together):
            passages = [passage.text for passage in found.passages[start : start + together]]
            texts.append((found.query, " ".join([found.query, *passages])))
    return texts


def _msmarco_lists(paths: Sequence[Path]) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    lists: dict[str, tuple[str, list[tuple[str, str]]]] = {}
    for path in paths:
        for number, line in enumerate(_lines(path), 1):
            row = line.rstrip("\r\n").split("\t")
            if len(row) != 4:
                raise FactsError(f"{path}, line {number}: got {len(row)} columns, expected query id, passage id, query, passage")
            lists.setdefault(row[0], (row[2], []))[1].append((row[1], row[3]))
    for query_id, (query, passages) in lists.items():
        yield query_id, query, passages


def _json_lists(paths: Sequence[Path]) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    for path in paths:
        try:
            for entry in json.loads(path.read_text(encoding="utf-8")):
                hits = sorted(entry["hits"], key=lambda hit: hit["rank"])
                if hits:
                    yield str(hits[0]["qid"]), entry["query"], [(str(hit["docid"]), hit["content"]) for hit in hits]
        except _MALFORMED as error:
            raise FactsError(f"{path} is not a list of queries with hits ({error!r})") from error


def _json_files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise FactsError(f"no folder {folder}; fetch the data set first (python -m probing fetch) or name its folder (--data)")
    return sorted(folder.glob("*.json"))


def _first(folder: Path, names: Sequence[str]) -> Path:
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise FactsError(
        f"{folder} has none of {', '.join(names)}; fetch the data set first (python -m probing fetch) or name its folder (--data)"
    )


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8") as stream:
            yield from stream
    except (OSError, UnicodeDecodeError) as error:
        raise FactsError(f"cannot read {path}: {error}") from error
