"""MS MARCO and TREC: queries with ranked passages, and the same as running text."""

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from probing.finetuning.tasks.data_files import in_test_part, lines_of
from probing.kernel.errors import FactsError
from probing.kernel.text import MALFORMED, in_words, text_of

_log = logging.getLogger(__name__)

#: TREC calls a passage relevant from this grade on (Craswell et al. 2020); MS MARCO's own judgements are 1 for
#: relevant.
TREC_RELEVANT = 2


@dataclass(frozen=True)
class Passage:
    """A passage of a ranked list; ``grade`` is 0 for unjudged, None if the query has no judgements."""

    id: str
    text: str
    grade: int | None


@dataclass(frozen=True)
class RankedList:
    """A query with the passages that a first stage (BM25) gives, best first."""

    id: str
    query: str
    passages: tuple[Passage, ...]
    #: Every grade above 0 of the query, also of passages that the list lacks: they make up the ideal list.
    judged: tuple[int, ...]
    #: The grade from which a passage counts as relevant.
    relevant_from: int


def read_ranked_lists(folder: Path) -> list[RankedList]:
    """Ranked lists with judgements, in one of two layouts.

    MS MARCO's own, ``top1000*.tsv`` (query id, passage id, query, passage) with ``qrels*.tsv`` (query id, 0, passage
    id, 1); or BM25 lists as JSON (``query``, ``hits`` with ``qid, docid, content``) with ``qrels*.txt`` in TREC's
    format. Queries without any judgement are kept for their text.
    """
    tables = sorted(folder.glob("top1000*.tsv"))
    lists = list(_msmarco_lists(tables)) if tables else list(_json_lists(sorted(folder.glob("*.json"))))
    if not lists:
        raise FactsError(
            f"{folder} has no ranked lists; expected top1000*.tsv with qrels*.tsv, or BM25 lists as .json with"
            " qrels*.txt"
        )
    grades: dict[str, dict[str, int]] = {}
    for path in sorted([*folder.glob("qrels*.txt"), *folder.glob("qrels*.tsv")]):
        for number, line in lines_of(path):
            try:
                query, _, passage, grade = line.split()
                grades.setdefault(query, {})[passage] = int(grade)
            except ValueError as error:
                raise FactsError(
                    f"{path}, line {number}: got {line.strip()!r}, expected query id, 0, passage id, grade"
                ) from error
    relevant_from = 1 if tables else TREC_RELEVANT
    ranked = []
    for query_id, query, passages in lists:
        judged = grades.get(query_id)
        graded = tuple(Passage(i, text, None if judged is None else max(0, judged.get(i, 0))) for i, text in passages)
        ranked.append(
            RankedList(query_id, query, graded, tuple(g for g in (judged or {}).values() if g > 0), relevant_from)
        )
    return ranked


def read_triples(path: Path, limit: int) -> Iterator[tuple[str, str, bool]]:
    """(query, passage, relevant) from MS MARCO's ``triples.train.small.tsv`` (query, relevant, irrelevant passage)."""
    for number, line in lines_of(path):
        if 2 * (number - 1) >= limit:
            return
        columns = line.split("\t")
        if len(columns) != 3:
            raise FactsError(
                f"{path}, line {number}: got {len(columns)} columns, expected query, relevant and irrelevant passage"
            )
        query, relevant, irrelevant = columns
        yield query, relevant, True
        yield query, irrelevant, False


def ranking_parts(folder: Path, limit: int = 2_000_000) -> tuple[list[tuple[str, str, bool]], list[RankedList]]:
    """Training pairs (query, passage, relevant) and the test lists.

    MS MARCO's own training triples if they exist; else the pairs of the lists whose query is not in the test part, an
    unjudged passage counting as irrelevant, as MS MARCO's sampled negatives do.
    """
    judged = [ranked for ranked in read_ranked_lists(folder) if ranked.judged]
    named = sum(grade >= ranked.relevant_from for ranked in judged for grade in ranked.judged)
    listed = sum((one.grade or 0) >= ranked.relevant_from for ranked in judged for one in ranked.passages)
    if judged and not listed:
        got = f"none of {named:,} relevant passages in qrels* (grade {judged[0].relevant_from} or above)"
        raise FactsError(f"{folder}: {got} is in the list of its query; expected judgements of these lists")
    if listed < named:
        _log.warning("%s: relevant passages not in the list of their query: %d of %d", folder, named - listed, named)
    triples = folder / "triples.train.small.tsv"
    if triples.is_file():
        return list(read_triples(triples, limit)), judged
    pairs = [
        (ranked.query, passage.text, (passage.grade or 0) >= ranked.relevant_from)
        for ranked in judged
        if not in_test_part(ranked.query)
        for passage in ranked.passages
    ]
    return pairs[:limit], [ranked for ranked in judged if in_test_part(ranked.query)]


def ranked_lists(pairs: Iterable[tuple[str, str, bool]]) -> list[RankedList]:
    """The pairs (query, passage, relevant) of each query as a list; queries without a relevant passage are left out."""
    by_query: dict[str, list[Passage]] = {}
    for query, text, relevant in pairs:
        passages = by_query.setdefault(query, [])
        passages.append(Passage(str(len(passages)), text, int(relevant)))
    lists = (
        RankedList(query, query, tuple(passages), tuple(passage.grade for passage in passages if passage.grade), 1)
        for query, passages in by_query.items()
    )
    return [ranked for ranked in lists if ranked.judged]


def ranking_texts(folder: Path, passages_per_text: int = 10) -> list[tuple[str, str]]:
    """(query, text): each query with ten of its passages at a time, then the query again with the next ten."""
    texts = []
    for ranked in read_ranked_lists(folder):
        for start in range(0, len(ranked.passages), passages_per_text):
            passages = [passage.text for passage in ranked.passages[start : start + passages_per_text]]
            texts.append((ranked.query, " ".join([ranked.query, *passages])))
    return texts


def _msmarco_lists(paths: Sequence[Path]) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    lists: dict[str, tuple[str, list[tuple[str, str]]]] = {}
    for path in paths:
        for number, line in lines_of(path):
            row = line.split("\t")
            if len(row) != 4:
                raise FactsError(
                    f"{path}, line {number}: got {len(row)} columns, expected query id, passage id, query, passage"
                )
            lists.setdefault(row[0], (row[2], []))[1].append((row[1], row[3]))
    for query_id, (query, passages) in lists.items():
        yield query_id, query, passages


def _json_lists(paths: Sequence[Path]) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    for path in paths:
        try:
            for entry in json.loads(text_of(path, FactsError)):
                hits = sorted(entry["hits"], key=lambda hit: hit["rank"])
                if hits:
                    yield str(hits[0]["qid"]), entry["query"], [(str(hit["docid"]), hit["content"]) for hit in hits]
        except MALFORMED as error:
            raise FactsError(f"{path} is not a list of queries with hits ({in_words(error)})") from error
