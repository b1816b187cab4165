"""EWT PropBank: semantic roles and constituents of the same sentences."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from probing.edges.readers.own_tasks import Parts, numbered_lines, part_of, wrong
from probing.edges.targets import PARTS, Part, Record, Span, Target

#: What opens before a word, the word's place, what closes after it: ``(S(NP*``, ``*``, ``*))``.
_BIT = re.compile(r"(?P<open>(?:\([^()*\s]+)*)\*(?P<close>\)*)")


def bare_label(label: str) -> str:
    """A label without function tags and indices: ``NP-SBJ-1`` and ``NP=2`` are ``NP``; ``-LRB-`` stays."""
    if label.startswith("-"):
        return label
    return re.split(r"[-=]", label, maxsplit=1)[0]


def nonterminals(bits: Sequence[str], path: Path, line: int) -> list[Target]:
    """One target per nonterminal, including the top node, outer ones before inner ones; tags of words do not count.

    ``bits`` are those of each word, ``line`` is that of the first.
    """
    ends: list[int] = []
    opened: list[tuple[int, str]] = []
    waiting: list[int] = []
    for place, bit in enumerate(bits):
        match = _BIT.fullmatch(bit)
        if not match:
            raise wrong(path, line + place, f"got the parse bit {bit!r}, expected one such as (S(NP*, * or *))")
        for label in match["open"].split("(")[1:]:
            waiting.append(len(opened))
            opened.append((place, bare_label(label)))
            ends.append(-1)
        if len(match["close"]) > len(waiting):
            raise wrong(path, line + place, f"the parse bit {bit!r} closes more brackets than are open")
        for _ in match["close"]:
            ends[waiting.pop()] = place + 1
    if waiting:
        raise wrong(
            path, line + len(bits) - 1, f"the sentence ends, and {len(waiting)} brackets of its parse are still open"
        )
    return [Target((start, end), None, (label,)) for (start, label), end in zip(opened, ends, strict=True)]


def merged(targets: Sequence[Target]) -> list[Target]:
    """One target for each span, or pair of spans, with the labels of all its targets."""
    labels: dict[tuple[Span, Span | None], set[str]] = {}
    for target in targets:
        labels.setdefault((target.span1, target.span2), set()).update(target.labels)
    return [Target(span1, span2, tuple(sorted(names))) for (span1, span2), names in labels.items()]


#: Index, word, tag, parse bit, lemma, roleset; then a column for each predicate.
_BEFORE_ROLES = 6
_VERB = "V"
_ROLE = re.compile(r"(?:\((?P<open>[^()*]+))?\*(?P<close>\))?")


@dataclass(frozen=True)
class _Sentence:
    """A sentence of a file: the document, the line that its first word is on, and the columns of each word."""

    path: Path
    document: str
    line: int
    rows: tuple[tuple[str, ...], ...]

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(row[1] for row in self.rows)


def _sentences(folder: Path, part: str) -> Iterator[_Sentence]:
    path = folder / f"ewt_propbank_{part}.conll.gz"
    rows: list[tuple[str, ...]] = []
    document = ""
    number = 0
    for number, line in numbered_lines(path):
        if line.startswith("# ") and not rows:
            # The id of a sentence is that of its document and a number: "answers-...-0001".
            document = line.partition("=")[2].strip().rpartition("-")[0] if line.startswith("# sent_id") else document
        elif line.strip():
            rows.append(tuple(line.split("\t")))
            if len(rows[-1]) < _BEFORE_ROLES or len(rows[-1]) != len(rows[0]):
                expected = max(len(rows[0]), _BEFORE_ROLES)
                raise wrong(
                    path, number, f"got {len(rows[-1])} columns, expected {expected}: word, tag, parse bit and roles"
                )
        elif rows:
            yield _Sentence(path, document, number - len(rows), tuple(rows))
            rows = []
    if rows:
        yield _Sentence(path, document, number - len(rows) + 1, tuple(rows))


def read_constituents(folder: Path) -> Parts:
    """One target per nonterminal, including the top node. The parse is LDC's, so words may not be published."""
    return _constituents(folder, lambda targets: targets)


def read_merged_constituents(folder: Path) -> Parts:
    """Constituents with one target per span, which has the labels of all its nonterminals."""
    return _constituents(folder, merged)


def _constituents(folder: Path, shaped: Callable[[Sequence[Target]], Sequence[Target]]) -> Parts:
    def record(sentence: _Sentence) -> Record:
        bits = [row[3] for row in sentence.rows]
        return Record(
            sentence.words,
            tuple(shaped(nonterminals(bits, sentence.path, sentence.line))),
            sentence.document,
            open=False,
        )

    train, dev, test = (part_of(folder, [record(sentence) for sentence in _sentences(folder, part)]) for part in PARTS)
    return train, dev, test


def read_roles(folder: Path) -> Parts:
    """Semantic roles: a record for each predicate that has arguments, span 1 is the predicate, span 2 an argument."""
    train, dev, test = (_roles(folder, part) for part in PARTS)
    return train, dev, test


def _roles(folder: Path, part: str) -> Part:
    sentences = 0
    records = []
    for sentence in _sentences(folder, part):
        sentences += 1
        records += [Record(sentence.words, frame, sentence.document) for frame in _frames(sentence)]
    bare = sum(1 for record in records if not record.targets)
    return part_of(folder, records, {"predicates without an argument": bare}, sentences)


def _frames(sentence: _Sentence) -> Iterator[tuple[Target, ...]]:
    """The targets of each predicate."""
    for column in range(_BEFORE_ROLES, len(sentence.rows[0])):
        spans = list(_role_spans(sentence, column))
        verbs = [span for span, label in spans if label == _VERB]
        if len(verbs) != 1:
            raise wrong(
                sentence.path,
                sentence.line,
                f"column {column + 1} has {len(verbs)} spans of the verb, (V*), expected one",
            )
        yield tuple(Target(verbs[0], span, (label,)) for span, label in spans if label != _VERB)


def _role_spans(sentence: _Sentence, column: int) -> Iterator[tuple[Span, str]]:
    """Spans of a column of roles, ``(ARG1*`` ... ``*)``: at most one is open at a time."""
    label, start = "", -1
    for place, row in enumerate(sentence.rows):
        if row[column] == "*":
            continue
        match = _ROLE.fullmatch(row[column])
        if not match or (match["open"] and label) or (match["close"] and not (label or match["open"])):
            expected = "(ROLE*), (ROLE*, * or *), one span open at a time"
            raise wrong(sentence.path, sentence.line + place, f"got the role {row[column]!r}, expected {expected}")
        if match["open"]:
            label, start = match["open"], place
        if match["close"]:
            yield (start, place + 1), label
            label = ""
    if label:
        raise wrong(
            sentence.path, sentence.line + len(sentence.rows) - 1, f"the sentence ends while the role {label} is open"
        )
