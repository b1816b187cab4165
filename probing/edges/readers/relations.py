"""Pairs of spans: SPR2 (Universal Decompositional Semantics), and the relations of SemEval-2010 task 8."""

import json
import random
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from zlib import error as ZlibError

from probing.edges.readers.own_tasks import Parts, numbered_lines, part_of, wrong
from probing.edges.readers.sentences import ewt_sentences
from probing.edges.targets import PARTS, Record, Span, Target
from probing.kernel.errors import EdgeDataError

#: Answers are 0..4. A property holds if their mean is 3 or more (4 on a scale of 1 to 5), as in the authors'
#: conversion.
_HOLDS = 3
_PAIR = re.compile(
    r"(?P<sentence>ewt-(?P<part>train|dev|test)-\d+)-semantics-pred-(?P<predicate>\d+)%%(?P=sentence)-semantics-arg-(?P<argument>\d+)"
)
_MALFORMED = (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile, ZlibError)


def read_proto_roles(folder: Path, ewt: Path) -> Parts:
    """Proto-roles: span 1 is the predicate, span 2 the head of the argument, both single words of UD English EWT.

    Properties that no annotator judged for a pair, or that all called not applicable, do not hold.
    """
    path, ids = folder / "protoroles_raw.zip", folder / "ud_ids.json"
    pairs, names = _annotations(path), _names(ids)
    sentences = ewt_sentences(ewt)
    records: dict[str, list[Record]] = {part: [] for part in PARTS}
    dropped = {part: {"pairs without an applicable answer": 0, "pairs outside their sentence": 0} for part in PARTS}
    for name, annotated in pairs.items():
        part = name.split("-")[1]
        sentence = sentences.get(names.get(name, ""))
        if sentence is None or part not in records:
            raise EdgeDataError(
                f"{ids} names no sentence of {ewt} for {name!r}; fetch spr2-uds and ud-english-ewt again"
            )
        targets = []
        for key, properties in annotated.items():
            match = _PAIR.fullmatch(key)
            if not match or match["sentence"] != name:
                raise EdgeDataError(
                    f"{path}, sentence {name}: got the pair {key!r}, expected"
                    f" {name}-semantics-pred-N%%{name}-semantics-arg-N"
                )
            places = int(match["predicate"]) - 1, int(match["argument"]) - 1
            labels = held(properties)
            if labels is None:
                dropped[part]["pairs without an applicable answer"] += 1
            elif max(places) >= len(sentence.words) or min(places) < 0:
                dropped[part]["pairs outside their sentence"] += 1
            else:
                targets.append(Target((places[0], places[0] + 1), (places[1], places[1] + 1), labels))
        records[part].append(Record(sentence.words, tuple(targets), sentence.document))
    train, dev, test = (part_of(path, records[part], dropped[part]) for part in PARTS)
    return train, dev, test


def held(properties: Mapping[str, Mapping[str, Mapping[str, float]]]) -> tuple[str, ...] | None:
    """The properties that hold of a pair; None if no answer applies to it.

    The argument is property -> ``value`` and ``confidence`` -> annotator -> number; confidence 0: it does not apply.
    """
    means = {}
    for name, answers in properties.items():
        applying = [answers["value"][who] for who, confidence in answers["confidence"].items() if confidence]
        if applying:
            means[name] = sum(applying) / len(applying)
    return tuple(sorted(name for name, mean in means.items() if mean >= _HOLDS)) if means else None


def _annotations(path: Path) -> dict[str, dict[str, Any]]:
    """Sentence -> pair -> property -> answers."""
    try:
        with zipfile.ZipFile(path) as archive:
            annotations = json.loads(archive.read("protoroles.json"))["data"]
        return {name: {key: pair["protoroles"] for key, pair in pairs.items()} for name, pairs in annotations.items()}
    except _MALFORMED as error:
        raise _unreadable(path, error) from error


def _names(path: Path) -> dict[str, str]:
    """Sentence -> its id in Universal Dependencies."""
    try:
        return {name: entry["sentence_id"] for name, entry in json.loads(path.read_text(encoding="utf-8")).items()}
    except _MALFORMED as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> EdgeDataError:
    if isinstance(error, FileNotFoundError):
        return EdgeDataError(f"{path} is missing; fetch its data set first (python -m probing fetch spr2-uds)")
    return EdgeDataError(f"{path} is not what SPR2 has under that name ({error!r}); fetch its data set again")


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
