"""Characters that a user's text cannot hold, marks of tokens, and lines of data files with their errors."""

import gzip
import json
import logging
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from zlib import error as ZlibError

from probing.kernel.errors import FactsError, ProbingError

_log = logging.getLogger(__name__)

#: A longer sentence of running text is not read.
MAX_WORDS = 64

T = TypeVar("T")
M = TypeVar("M")


def half_character(text: str) -> str | None:
    """The first half of a surrogate pair that stands alone; None if there is none.

    It comes from bytes that are no UTF-8 on a command line, and from ``"\\\\ud800"`` in JSON. No file can be written
    with it.

    >>> half_character("na\\ud83dive"), half_character("naïve")
    ('\\ud83d', None)
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return text[error.start]
    return None


#: Control characters but tabs and line ends.
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def without_controls(text: str) -> str:
    """The text with a blank for every control character but tabs and line ends.

    Data of others hold them by accident: one is no reason to refuse a file, and two words must not become one.
    """
    return CONTROL.sub(" ", text)


#: Control characters but tabs and line ends, and those that turn the direction of a line or end it.
_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
#: Letters of a text of a file that a message repeats.
SHOWN = 80


def harmless(text: str) -> str:
    """The text with its characters that would steer a terminal as JSON writes them."""
    return _STEERING.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)


class HarmlessStream:
    """A stream that nothing which would steer a terminal reaches, except for ``moves``, a pattern in parentheses.

    Loggers hold it until Python has ended, and with it what its module imports: DuckDB would print warnings.
    """

    def __init__(self, stream: Any, moves: str = "(?!)"):
        self._stream, self._moves = stream, moves

    def write(self, text: str) -> int:
        """Writes a text."""
        # Every second part is a move.
        parts = re.split(self._moves, text)
        return int(
            self._stream.write("".join(part if place % 2 else harmless(part) for place, part in enumerate(parts)))
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def in_short(text: str) -> str:
    """The first letters of a text, for a message."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def refuse_half_characters(text: str, what: str, error: type[ProbingError]) -> None:
    """Raises an error of the class for half a character; ``what`` names the text."""
    if (half := half_character(text)) is not None:
        raise error(f"{what} contains {half!r}, which is half a character; type it again, or save it as UTF-8")


#: Letters of a label: more than any treebank's or role's name has.
LONGEST_LABEL = 200


def refuse_signs(text: str, what: str, error: type[ProbingError], spaces: bool = True) -> None:
    """Raises an error of the class for half a character or a control character; ``spaces`` allows tabs, line ends."""
    refuse_half_characters(text, what, error)
    if match := CONTROL.search(text) or (None if spaces else re.search(r"[\t\n\r]", text)):
        raise error(f"{what} contains the control character {match[0]!r}; expected letters, digits and signs")


#: Blanks, and signs that nobody sees. Joiners are not among them: in some scripts they are of the word before them.
_UNSEEN = "".join(filter(str.isspace, map(chr, range(0x3001)))) + (
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\ufeff"
)


def stripped(text: str) -> str:
    """The text without blanks and invisible signs at its ends."""
    return text.strip(_UNSEEN)


def label_of(text: str) -> str:
    """A label as it is counted: blanks inside are single spaces, and accents are in NFC, one of their two spellings."""
    return re.sub(r"[^\S\x00-\x1f\x85]+", " ", unicodedata.normalize("NFC", stripped(text)))


def nearly_equal(names: Iterable[str]) -> list[str]:
    """The names that differ from another one by case, marks around them or the sign between words alone, each once."""

    def bare(name: str) -> str:
        return re.sub(r"(?<=\w)[_-](?=\w)", " ", name.lower()).strip(".*_\"'`! ") or name

    spelt = Counter(map(bare, different := sorted(set(names))))
    return [name for name in different if spelt[bare(name)] > 1]


def refuse_label(label: str, what: str, error: type[ProbingError]) -> None:
    """Raises an error of the class for a label with a refused sign, a line end, or more than 200 letters."""
    refuse_signs(label, what, error, spaces=False)
    if len(label) > LONGEST_LABEL:
        raise error(f"{what} has {len(label):,} letters, {label[:60]!r}…; expected at most {LONGEST_LABEL}")


#: What is shown for a token that is a space.
SPACE = "␣"
#: What is shown for bytes that are not text by themselves: byte-level vocabularies have tokens of half a character.
NO_TEXT = "\ufffd"


class TokenText(NamedTuple):
    """A token as a reader writes it, and whether it begins a word, as WordPiece's ``##s`` does not."""

    text: str
    starts_word: bool


_MOST_NAMED = 5
#: What is raised for a row that is damaged or of another shape.
MALFORMED = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, ProbingError)
#: The class of the errors that a reader raises.
ErrorClass = type[ProbingError]


def numbered_lines(path: Path, error_class: ErrorClass) -> Iterator[tuple[int, str]]:
    """Lines of a text file (gzipped if its name ends in ``.gz``) without their line ends, counted from 1."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            yield from numbered(stream, path, error_class)
    except FileNotFoundError as error:
        raise error_class(
            f"{path} is missing; fetch its data set first (python -m probing fetch {path.parent.name})"
        ) from error
    except OSError as error:
        raise error_class(f"{path} cannot be read ({error}); fetch its data set again") from error


def text_of(path: Path, error_class: ErrorClass) -> str:
    """The text of a file, without a byte order mark; raises as ``numbered_lines``."""
    return "\n".join(line for _, line in numbered_lines(path, error_class))


def numbered(stream: Iterable[bytes], path: Path, error_class: ErrorClass) -> Iterator[tuple[int, str]]:
    r"""Lines of UTF-8, with or without a byte order mark, counted from 1.

    Only ``\n`` ends a line, because words may contain characters that Python takes for line ends; in a file without
    any, ``\r`` does, as on old Macs.
    """
    number = 0
    try:
        for number, line in enumerate(_parted(stream), 1):
            # Every second byte of Latin letters is NUL in UTF-16.
            if number == 1 and 3 * line.count(0) > len(line):
                raise error_class(f"{path}, line 1: is not UTF-8 text but UTF-16 or no text; save it as UTF-8")
            yield number, line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise error_class(f"{path}, line {number}: is not UTF-8 text ({error.reason}); save it as UTF-8") from error
    except (OSError, EOFError, ZlibError) as error:
        raise error_class(f"{path}, line {number + 1}: cannot be read ({error}); fetch the data set again") from error


_SHEET, _WRITE = "export the sheet as CSV (UTF-8)", "write it as Parquet or CSV"
#: How a file begins that is no text -> what it is, and what to do.
_NO_TEXT = {
    b"PK\x03\x04": f"is a spreadsheet workbook or an archive, whatever its name; {_SHEET}, or unpack it",
    b"\xd0\xcf\x11\xe0": f"is an old spreadsheet workbook, whatever its name; {_SHEET}",
    b"\x1f\x8b": "is compressed with gzip; unpack it",
    b"BZh": "is compressed with bzip2; unpack it",
    b"\xfd7zXZ": "is compressed with xz; unpack it",
    b"\x28\xb5\x2f\xfd": "is compressed with zstd; unpack it",
    b"ARROW1": f"is an Arrow or Feather file; {_WRITE}",
    b"\xff\xff\xff\xff": f"is a stream of Arrow, as huggingface's save_to_disk writes it; {_WRITE}",
    b"FEA1": f"is a Feather file; {_WRITE}",
    **{bytes([0x80, protocol]): f"is a pickle of Python, which is not opened; {_WRITE}" for protocol in range(2, 6)},
    b"\xff\xfe\0\0": "is UTF-32; save it as UTF-8",
    b"\0\0\xfe\xff": "is UTF-32; save it as UTF-8",
    b"<!DOCTYPE html": "is a web page; download the file itself",
    b"<html": "is a web page; download the file itself",
    b"version https://git-lfs": "is a pointer of Git LFS; fetch the file itself (git lfs pull)",
}


def decoded(content: str | bytes, name: str, error_class: ErrorClass) -> str:
    r"""The text of a file, its line ends written ``\n``; UTF-16 needs its byte order mark."""
    if isinstance(content, bytes):
        for start, what in _NO_TEXT.items():
            if content.startswith(start):
                raise error_class(f"{name} {what}")
        encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
        if encoding == "utf-8" and (zeros := content[:1000].count(0)) > len(content[:1000]) // 4:
            seems = "UTF-32" if 2 * zeros > len(content[:1000]) else "UTF-16"
            raise error_class(f"{name} seems to be {seems} without a byte order mark; save it as UTF-8")
        try:
            content = content.decode(encoding)
        except UnicodeDecodeError as error:
            line, byte = error.object[: error.start].count(b"\n") + 1, error.object[error.start]
            raise error_class(
                f"{name}, line {line}: byte {byte:#04x} is not {encoding.upper()} (the file may be in Windows-1252 or"
                " Latin-1); save it as UTF-8"
            ) from None
    text = content.removeprefix("\ufeff").replace("\r\n", "\n")
    text = text.replace("\r", "\n" if text.count("\r") > text.count("\n") else " ")
    # Old programs end a file with Ctrl-Z.
    return re.sub(r"\s*\x1a\s*\Z", "", text)


def an_object(row: Any) -> dict[str, Any]:
    """The value if JSON calls it an object; raises a ``ValueError`` otherwise."""
    if not isinstance(row, dict):
        raise ValueError(f"got {type(row).__name__}, expected a JSON object")
    return row


def json_object(line: str) -> dict[str, Any]:
    """The object of a line of JSON; raises a ``ValueError`` if it is none."""
    try:
        return an_object(json.loads(line, strict=False))
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"not JSON ({error}); expected one JSON object per line") from error


def sorted_out(
    rows: Iterable[tuple[Any, T]], make: Callable[[T], M], name: object, error_class: ErrorClass, unit: str = "line"
) -> tuple[list[tuple[Any, M]], list[str]]:
    """What is made of each row that is well formed, by its number, and what is wrong with each of the others.

    ``make`` raises one of ``MALFORMED`` for a row that is not; if none is, the first row's problem is an error.
    """
    good, wrong = [], []
    for number, row in rows:
        try:
            good.append((number, make(row)))
        except MALFORMED as error:
            wrong.append(f"{unit} {number}: {in_words(error)}")
    if wrong and not good:
        raise error_class(f"{name}, {wrong[0]}")
    return good, wrong


def in_words(error: Exception) -> str:
    """Why a row is malformed, without Python's names: one of ``MALFORMED``."""
    if isinstance(error, KeyError):
        return f"{error.args[0]!r} is missing"
    if isinstance(error, TypeError | AttributeError):
        return "a value is of another kind"
    return f"{'not JSON: ' if isinstance(error, json.JSONDecodeError) else ''}{error}"


def counted(what: str, named: Sequence[str]) -> str:
    """How many of something there are, and the first of them."""
    return f"{what}: {len(named):,} ({'; '.join([*named[:_MOST_NAMED], *['...'] * (len(named) > _MOST_NAMED)])})"


def doubts_of_parts(parts: Mapping[str, Sequence[tuple[Hashable, Iterable[str]]]]) -> Iterator[str]:
    """Why scores may say little: half of a part's texts are in a part before it, or most labels not in the first.

    ``parts`` are the text of every example and its labels, of the training part first.
    """
    seen, known = set[Hashable](), set[str]()
    for name, examples in parts.items():
        texts, labels = [text for text, _ in examples], [label for _, of_text in examples for label in of_text]
        if texts and 2 * (n := sum(text in seen for text in texts)) >= len(texts):
            yield f"{n:,} of {len(texts):,} texts of {name} are in a part before it, too"
        if known and 2 * (n := sum(label not in known for label in labels)) > len(labels):
            yield f"{n:,} of {len(labels):,} labels of {name} never occur in training"
        seen.update(texts)
        known = known or set(labels)


def _parted(stream: Iterable[bytes]) -> Iterator[bytes]:
    for number, line in enumerate(stream):
        yield from line.split(b"\r") if number == 0 and not line.endswith(b"\n") else (line,)


_COLUMNS = 10


@dataclass
class TreebankSentence:
    """A sentence of a CoNLL-U file; ``comments`` are key -> value of lines such as ``# sent_id = …``."""

    comments: dict[str, str] = field(default_factory=dict)
    #: Number of the line and the ten columns of each.
    words: list[tuple[int, list[str]]] = field(default_factory=list)
    end: int = 0

    def column(self, place: int) -> tuple[str, ...]:
        """One column of all words, from 0: 1 is the form, 3 the universal and 4 the language's own part of speech."""
        return tuple(columns[place] for _, columns in self.words)


def conllu_sentences(
    lines: Iterable[tuple[int, str]], path: Path, error_class: ErrorClass
) -> Iterator[TreebankSentence]:
    """Sentences of numbered lines of CoNLL-U, without multiword tokens (``1-2``) and empty nodes (``8.1``)."""
    sentence = TreebankSentence()
    for number, line in lines:
        sentence.end = number
        if not line.strip():
            if sentence.words:
                yield sentence
                sentence = TreebankSentence()
        elif line.startswith("#"):
            key, _, value = line[1:].partition("=")
            sentence.comments[key.strip()] = value.strip()
        else:
            columns = line.split("\t")
            if len(columns) != _COLUMNS:
                got = f"got {len(columns)} columns, expected CoNLL-U's {_COLUMNS}, separated by tabs"
                raise error_class(f"{path}, line {number}: {got}")
            if "-" in columns[0] or "." in columns[0]:
                continue
            if columns[0] != str(len(sentence.words) + 1):
                raise error_class(
                    f"{path}, line {number}: got word number {columns[0]!r}, expected word {len(sentence.words) + 1}"
                )
            sentence.words.append((number, columns))
    if sentence.words:
        yield sentence


#: How JSON, HTML or a table begins, the last with headings: words with a sign, but no blank, between them.
_NO_PROSE = re.compile(
    r"""\s*(?:[\[{]\s*["{\[]|<(?:[!?]|html|head|body|div|p)\b|(?:"?(?:\w[\w ]*)?"?[,;|\t])+"?\w[\w ]*"?\n)""",
    re.IGNORECASE,
)


def wikitext_sentences(path: Path) -> Iterator[str]:
    """Sentences of 4 to 64 words of a WikiText file: no headings, no ``<unk>``, `` @-@ `` undone; others are counted.

    A longer line of any other text is cut at its sentences' ends.
    """
    try:
        content = path.read_bytes()
        content.decode()
    except OSError as error:
        raise FactsError(f"cannot read {path}: {error}; expected WikiText, one paragraph per line") from error
    except UnicodeDecodeError as error:
        # The shipped slice is cut at a byte, so its last character may be broken.
        content = content[: error.start] if error.reason == "unexpected end of data" else content
    text, left_out = decoded(content, str(path), FactsError), Counter[str]()
    if _NO_PROSE.match(text):
        raise FactsError(f"{path} is JSON, HTML or a table; expected text, one sentence or paragraph per line")
    for line in text.splitlines():
        line = line.strip()
        if not line or line.startswith("="):
            continue
        line = re.sub(r" @(\W)@ ", r"\1", line)
        ends = r"(?<= [.!?]) (?=[A-Z\"'(])"
        if len(line.split()) > MAX_WORDS and not re.search(r" [.!?](?: |$)", line):
            ends = "(?<=[.!?]) (?![a-z])"
        for sentence in re.split(ends, line):
            n = len(sentence.split())
            if why := (n < 4 and "of fewer than 4 words") or (n > MAX_WORDS and f"of more than {MAX_WORDS}"):
                left_out[why] += 1
            elif "<unk>" in sentence:
                left_out["with <unk>"] += 1
            else:
                yield sentence
    if left_out:
        _log.warning("%s: sentences left out: %s", path, ", ".join(f"{n:,} {why}" for why, n in left_out.items()))
