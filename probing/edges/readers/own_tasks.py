"""Reader of a user's own task: a folder with ``train.jsonl`` and ``dev.jsonl`` in jiant's format."""

import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probing.edges.targets import PARTS, Part, Record, Span, Target
from probing.kernel import text
from probing.kernel.errors import EdgeDataError
from probing.kernel.text import (
    label_of,
    refuse_half_characters,
    refuse_label,
    refuse_signs,
    sorted_out,
    without_controls,
)
from probing.kernel.user_tables import signs_of_programs

_log = logging.getLogger(__name__)

#: Training, development and test data.
Parts = tuple[Part, Part, Part | None]


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of a text file without their line ends, counted from 1; errors are ``EdgeDataError``."""
    return text.numbered_lines(path, EdgeDataError)


def numbered(stream: Iterable[bytes], path: Path) -> Iterator[tuple[int, str]]:
    """Lines of a stream of UTF-8; errors are ``EdgeDataError`` and name ``path`` and the line."""
    return text.numbered(stream, path, EdgeDataError)


def wrong(path: Path, line: int, message: str) -> EdgeDataError:
    """The error of one line."""
    return EdgeDataError(f"{path}, line {line}: {message}")


def part_of(
    path: Path, records: Iterable[Record], dropped: dict[str, int] | None = None, sentences: int | None = None
) -> Part:
    """A part of a task's data: the records that have targets; there must be one.

    ``sentences`` is how many were read, if that is not the number of records.
    """
    everything = list(records)
    with_targets = tuple(record for record in everything if record.targets)
    if not with_targets:
        raise EdgeDataError(f"{path} has no targets; expected sentences with labelled spans")
    counted = {reason: number for reason, number in (dropped or {}).items() if number}
    return Part(with_targets, counted, len(everything) if sentences is None else sentences)


#: Possible names of a task's licence file; its first line is the licence of the texts.
_LICENCE_FILES = ("LICENCE", "LICENSE", "LICENCE.txt", "LICENSE.txt")
#: Licences under which anybody may publish the words, by their whole name: more words may be conditions.
_OPEN_LICENCE = re.compile(
    r"(the )?(CC0|CC[ -]BY([ -]SA)?|MIT|Apache|public domain|PDDL|ODC-By)"
    r"([ ,-]+(v(ersion)? ?)?\d(\.\d)?|,? (licen[cs]e|universal|international|\(\w+\)))*\.?",
    re.IGNORECASE,
)
_NOT_STATED = "not stated"
#: Of so many targets hardly ever none begins at a sentence's first word.
_ENOUGH = 20


@dataclass(frozen=True)
class OwnTask:
    """A user's folder; without a licence file ``licence`` is "not stated", and the words are not published."""

    spans: int
    licence: str
    parts: Parts


def read_own_task(folder: Path) -> OwnTask:
    """The task of a folder, which has at least training and development data."""
    for part in PARTS[:2]:
        if not (folder / f"{part}.jsonl").is_file():
            raise EdgeDataError(
                f"{folder} has no {part}.jsonl; expected train.jsonl, dev.jsonl and, if there is one, test.jsonl"
            )
    licence = _licence(folder)
    reader = _Reader(_OPEN_LICENCE.fullmatch(licence) is not None)
    train, dev = (reader.part(folder / f"{part}.jsonl") for part in PARTS[:2])
    test = reader.part(folder / "test.jsonl") if (folder / "test.jsonl").is_file() else None
    if not any(target.labels for record in train.records for target in record.targets):
        raise EdgeDataError(f"{folder / 'train.jsonl'} has no label on any target; a probe has nothing to learn")
    _say_doubts(folder, [train, dev, *([test] if test else [])])
    return OwnTask(reader.spans, licence, (train, dev, test))


def _say_doubts(folder: Path, parts: list[Part]) -> None:
    """Logs labels that are nearly equal, what a program left in the words, and what the parts share or have not."""
    targets = [target for part in parts for record in part.records for target in record.targets]
    if several := text.nearly_equal(label for target in targets for label in target.labels):
        _log.warning("%s: %s", folder, text.counted("labels that differ by case or marks alone", several))
    for note in signs_of_programs([record.text for part in parts for record in part.records]):
        _log.warning("%s: %s", folder, note)
    if len(targets) >= _ENOUGH and all(span[0] for target in targets for span in (target.span1, target.span2) if span):
        _log.warning("%s: spans are counted from 0; none of %d targets begins at 0", folder, len(targets))
    examples = [
        [(record.words, [label for target in record.targets for label in target.labels]) for record in part.records]
        for part in parts
    ]
    for doubt in text.doubts_of_parts(dict(zip(PARTS, examples, strict=False))):
        _log.warning("%s: %s", folder, doubt)


def read_own_sentences(path: Path) -> Part:
    """The sentences of one file, whose words may be published."""
    return _Reader(True).part(path)


def _licence(folder: Path) -> str:
    for name in _LICENCE_FILES:
        if (folder / name).is_file():
            return next((line.strip() for _, line in numbered_lines(folder / name) if line.strip()), _NOT_STATED)
    return _NOT_STATED


class _Reader:
    """Reads the parts of one task, of which all targets have equally many spans."""

    def __init__(self, is_open: bool) -> None:
        self.open = is_open
        self.spans = 0

    def part(self, path: Path) -> Part:
        """A file's sentences; those that are malformed are left out, counted and logged, if they are not most."""
        lines = ((number, line) for number, line in numbered_lines(path) if line.strip())
        good, malformed = sorted_out(lines, self._read, path, EdgeDataError)
        if len(malformed) > len(good):
            raise EdgeDataError(
                f"{path}, {malformed[0]}; {len(malformed):,} lines are malformed, {len(good):,} are not"
            )
        if malformed:
            _log.warning("%s: %s", path, text.counted("malformed sentences left out", malformed))
        number_read = len(good) + len(malformed)
        return part_of(path, (record for _, record in good), {"malformed sentences": len(malformed)}, number_read)

    def _read(self, line: str) -> Record:
        spans = self.spans
        try:
            return self._record(json.loads(line, object_pairs_hook=_without_repeats))
        except (json.JSONDecodeError, RecursionError) as error:
            raise ValueError(f"is not JSON ({error}); expected an object such as {_EXAMPLE}") from error
        except (ValueError, EdgeDataError):
            # What is left out does not decide how many spans a target has.
            self.spans = spans
            raise

    def _record(self, row: Any) -> Record:
        if not isinstance(row, dict) or not isinstance(row.get("targets"), list):
            raise ValueError(f"expected an object with 'text' and a list 'targets', such as {_EXAMPLE}")
        words = _words(row)
        targets = tuple(
            self._target(target, f"target {number}", len(words)) for number, target in enumerate(row["targets"], 1)
        )
        return Record(words, targets, _document(row.get("info")), self.open)

    def _target(self, target: Any, which: str, words: int) -> Target:
        if not isinstance(target, dict) or "span1" not in target or "label" not in target:
            raise ValueError(f"{which}: expected an object with 'span1', 'label' and, in tasks of two spans, 'span2'")
        spans = [
            _span(target[name], f"{which}, {name}", words)
            for name in ("span1", "span2")
            if target.get(name) is not None
        ]
        if target["span1"] is None or len(spans) != (self.spans or len(spans)):
            raise ValueError(
                f"{which} has {len(spans)} spans, targets before it have {self.spans}; expected 'span2' in all or in"
                " none"
            )
        self.spans = len(spans)
        return Target(spans[0], spans[1] if len(spans) > 1 else None, _labels(target["label"], which))


def _words(row: Mapping[str, Any]) -> tuple[str, ...]:
    """The words of a line: its list ``words`` or ``tokens``, which may hold blanks, or else those of its text."""
    tokens = row.get("tokens")
    # Further keys are allowed, such as lists of ids.
    of_tokens = "words" not in row and isinstance(tokens, list) and any(isinstance(one, str) for one in tokens)
    name = "tokens" if of_tokens else "words"
    text, listed = row.get("text", "" if name in row else None), row.get(name)
    if not isinstance(text, str):
        raise ValueError(f"expected an object with 'text' and a list 'targets', such as {_EXAMPLE}")
    if listed is not None and not (
        isinstance(listed, list) and all(isinstance(word, str) and word.strip() for word in listed)
    ):
        raise ValueError(f"{name!r} is {_short(listed)}, expected a list of texts, none of them empty")
    text = without_controls(text)
    # Not str.split: a no-break space is part of a word, and spans count words.
    written = re.findall(r"[^ \t\r\n]+", text) if listed is None else listed
    words = tuple(" ".join(without_controls(word).split()) for word in written)
    if text and "".join(words).replace(" ", "") != "".join(text.split()):
        raise ValueError(f"{name!r} are not the words of 'text'; expected the same letters in both, or {name!r} alone")
    if odd := [given for given, word in zip(written, words, strict=True) if not word or re.match("##.", word)]:
        raise ValueError(f"got the word {odd[0]!r}; expected words with letters, not the pieces of a tokenizer")
    refuse_half_characters(" ".join(words), "'text'", EdgeDataError)
    return words


_EXAMPLE = '{"text": "The cat sleeps", "targets": [{"span1": [0, 2], "label": "NP"}]}'


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(
            f"the key {next(key for key in keys if keys.count(key) > 1)!r} is given twice; expected it once"
        )
    return content


def _span(span: Any, which: str, words: int) -> Span:
    if not (isinstance(span, list) and len(span) == 2 and all(type(place) is int for place in span)):
        raise ValueError(
            f"{which}: got {_short(span)}, expected two whole numbers, the first word and the word after the last"
        )
    start, end = span
    if start >= end:
        raise ValueError(
            f"{which}: got {span}, which is {'empty' if start == end else 'reversed'}; expected first < end, counted"
            " from 0"
        )
    if start < 0 or end > words:
        raise ValueError(
            f"{which}: got {span}, which is outside the sentence of {words} words; a span ends at {words} at most"
        )
    return start, end


def _labels(label: Any, which: str) -> tuple[str, ...]:
    labels = label if isinstance(label, list) else [label]
    if not all(isinstance(text, str) and text.strip() for text in labels):
        raise ValueError(
            f"{which}: got the label {_short(label)}, expected text or a list of texts, none of them empty"
        )
    labels = [label_of(text) for text in labels]
    if len(set(labels)) != len(labels):
        raise ValueError(f"{which}: got the labels {_short(label)}, one of which is given twice")
    for name in labels:
        refuse_label(name, f"{which}: 'label'", EdgeDataError)
    return tuple(sorted(labels))


def _document(info: Any) -> str:
    """jiant's files name documents in various ways, most of them not at all."""
    name = info.get("document_id", "") if isinstance(info, Mapping) else ""
    if not isinstance(name, str):
        return ""
    refuse_signs(name, "'document_id'", EdgeDataError)
    return name


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}..."
