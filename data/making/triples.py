"""The facts that ship with the project: triples as labels, in LAMA's layout, without sentences or judgements.

The inverse facts of ``phrases`` are T-REx's triples asked for their subject, which is a name of several words.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from data.making.models import MODEL, SHIPPED
from probing.facts.corpus import fact_key, share_of
from probing.facts.lama import json_lines, read_lama
from probing.kernel.errors import FactsError
from probing.kernel.fact import PHRASES, STATED, WELL_KNOWN, Fact, Relation
from probing.kernel.files import FACTS_FOLDER, atomic_text
from probing.kernel.store.parquet import read_table

#: A question of more recorded answers is not asked: it would hardly have wrong candidates of its kind.
MOST_ANSWERS = 5
MOST_FACTS = 50
INVERSE = "-inverse"
_WORD = r"[^\W\d_]+(?:['’-][^\W\d_]+)*"
_ANSWER = re.compile(rf"{_WORD}(?: {_WORD}){{1,3}}")


def read_triples(folder: Path) -> dict[str, list[tuple[str, str]]]:
    """Triples of a folder with one ``RELATION.jsonl`` per relation and ``sub_label``, ``obj_label`` in every line."""
    return {
        path.stem: [
            (_label(row, "sub_label", path, number), _label(row, "obj_label", path, number))
            for number, row in json_lines(path)
        ]
        for path in sorted(folder.glob("*.jsonl"))
    }


def _label(row: dict, key: str, path: Path, number: int) -> str:
    value = row.get(key)
    if not isinstance(value, str):
        raise FactsError(f"{path}, line {number}: {key!r} is {value!r}, expected text; keys are {sorted(row)}")
    return value.strip()


def write_shipped_triples(
    lama: Path, more_triples: Path | None, ours: dict[str, Relation], target: Path
) -> dict[str, int]:
    """Writes the distinct triples of LAMA's T-REx and Google-RE as labels only, and counts them by relation.

    LAMA's own files come first; a folder of further T-REx triples fills relations and facts that they lack.
    """
    triples: dict[tuple[str, str], dict[tuple[str, str], None]] = {}
    for facts in read_lama(lama, ours):
        if facts.probe_set in ("trex", "google_re"):
            _add(triples, facts.facts)
    for relation, pairs in (read_triples(more_triples) if more_triples else {}).items():
        triples.setdefault(("trex", relation), {}).update(dict.fromkeys(pairs))
    written = {}
    for (probe_set, relation), found in sorted(triples.items()):
        if relation not in ours:
            continue
        name = f"TREx/{relation}.jsonl" if probe_set == "trex" else f"Google_RE/{relation}_test.jsonl"
        lines = [json.dumps({"sub_label": s, "obj_label": o}, ensure_ascii=False) + "\n" for s, o in found]
        atomic_text(target / name, "".join(lines))
        written[relation] = len(lines)
    return written


def _add(triples: dict, facts: Iterable[Fact]) -> None:
    for fact in facts:
        triples.setdefault((fact.probe_set, fact.relation), {})[(fact.subject, fact.object)] = None


def write_phrases(ours: dict[str, Relation], target: Path) -> dict[str, int]:
    """Writes the inverse facts of the relations of ``phrases``, from the shipped triples, and counts them."""
    table = read_table(SHIPPED / MODEL / f"exposure-{MODEL}.parquet", "exposure").to_pylist()
    read = {row["fact_key"] for row in table if row["exposure"] in (STATED, "evidence", WELL_KNOWN)}
    triples, written = read_triples(FACTS_FOLDER / "lama" / "TREx"), {}
    for name in (name for name, relation in ours.items() if relation.probe_set == PHRASES):
        relation = name.removesuffix(INVERSE)
        known = {pair for pair in triples[relation] if fact_key(Fact("trex", relation, *pair, "", "")) in read}
        facts = inverse_facts(relation, triples[relation], known)
        lines = [json.dumps({"sub_label": s, "obj_label": o}, ensure_ascii=False) + "\n" for s, o in facts]
        atomic_text(target / f"{name}.jsonl", "".join(lines))
        written[name] = len(lines)
    return written


def inverse_facts(
    relation: str, triples: Iterable[tuple[str, str]], read: set[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Subject and answer of each inverse fact: the object and the subject of a triple.

    A subject is an answer if it has two to four words and if each of its triples was ``read`` by the model and does not
    give it away; so no answer of one question is right for another without being recorded there. Whole questions are
    taken in an order fixed by their hashes.
    """
    questions: dict[str, list[str]] = defaultdict(list)
    wrong = set()
    for answer, subject in triples:
        questions[subject].append(answer)
        if not _ANSWER.fullmatch(answer) or _told(answer, subject) or (answer, subject) not in read:
            wrong.add(answer)
    found: list[tuple[str, str]] = []
    for subject in sorted(questions, key=lambda subject: share_of(PHRASES, f"{relation}\t{subject}")):
        facts = [(subject, answer) for answer in questions[subject] if answer not in wrong]
        if len(questions[subject]) <= MOST_ANSWERS and len(found) + len(facts) <= MOST_FACTS:
            found += facts
    return found


def _told(answer: str, subject: str) -> bool:
    """Whether two words have the same first three letters, as "Rome" and "Roman", or the answer holds the subject."""
    first, second = (set(re.findall(r"\b\w{1,3}", name.casefold())) for name in (answer, subject))
    return bool(first & second) or subject.casefold() in answer.casefold()
