"""GUM: nested entities and coreference; words and sentences are those of its dependency files."""

import re
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from itertools import combinations
from pathlib import Path
from zlib import error as ZlibError

from probing.edges.readers.own_tasks import Parts, numbered, numbered_lines, part_of, wrong
from probing.edges.readers.sentences import parsed_sentences
from probing.edges.targets import PARTS, Part, Record, Span, Target
from probing.kernel.errors import EdgeDataError

#: Kinds of text that GUM's LICENSE.txt puts under CC BY or CC BY-SA; it allows the others for non-commercial use only,
#: or says nothing.
OPEN_GENRES = frozenset({"academic", "bio", "court", "interview", "news", "voyage"})
#: Columns of a file of mentions.
_COLUMNS = 3
#: A file of an archive: its path there, and what it holds.
_Document = tuple[Path, bytes]
_BRACKET = re.compile(r"\((?P<open>[^()]+)(?P<single>\))?|(?P<close>[^()]+)\)")


@dataclass(frozen=True)
class Mention:
    """A mention of a document: its words, counted over the whole document, and its name there, such as ``person-6``."""

    span: Span
    name: str


#: Mentions of a sentence -> its targets.
Targets = Callable[[Sequence[Mention]], Iterator[Target]]


def read_entities(folder: Path) -> Parts:
    """Entities by GUM's own guidelines, including nested ones."""
    return _read(folder, "gum", entity_targets)


def read_coreference(guidelines: str, folder: Path) -> Parts:
    """All pairs of mentions of a sentence, by ``ontogum`` or GUM's own guidelines, which keep single mentions."""
    return _read(folder, guidelines, partial(pair_targets, chain=_gum_chain if guidelines == "gum" else str))


def entity_targets(mentions: Sequence[Mention]) -> Iterator[Target]:
    """One target per mention: its type, which its name begins with."""
    return (Target(mention.span, None, (mention.name.partition("-")[0],)) for mention in mentions)


def _gum_chain(name: str) -> str:
    """``place-10-United_Kingdom`` is chain 10; the rest is the name of an article and may have any character."""
    return name.split("-", 2)[1] if "-" in name else name


def pair_targets(mentions: Sequence[Mention], chain: Callable[[str], str]) -> Iterator[Target]:
    """One target per pair, the earlier mention first: ``1`` if both are of one chain, else ``0``."""
    for first, second in combinations(mentions, 2):
        yield Target(first.span, second.span, ("1" if chain(first.name) == chain(second.name) else "0",))


def _read(folder: Path, guidelines: str, targets: Targets) -> Parts:
    documents = documents_by_part(folder / "splits.md")
    parses = _documents(folder / "gum_dep.tar.gz", folder / "dep")
    mentions = _documents(folder / f"gum_coref_{guidelines}_conll.tar.gz", folder / "coref" / guidelines / "conll")
    train, dev, test = (_part(folder, documents[part], (parses, mentions), targets) for part in PARTS)
    return train, dev, test


def documents_by_part(path: Path) -> dict[str, list[str]]:
    """Part -> names of its documents, from GUM's ``splits.md``: one heading per part, one document per line."""
    documents: dict[str, list[str]] = {}
    part = ""
    for _, line in numbered_lines(path):
        if line.startswith("## "):
            part = line[3:].strip()
        elif line.strip().startswith("* "):
            documents.setdefault(part, []).append(line.strip()[2:].strip())
    if missing := [part for part in PARTS if not documents.get(part)]:
        raise EdgeDataError(
            f"{path} lists no documents for {', '.join(missing)}; expected headings '## train', '## dev' and '## test'"
        )
    return documents


def _documents(archive: Path, folder: Path) -> dict[str, _Document]:
    """Name of a document -> its file, in a tar archive or, without one, in the folder that GUM's repository has."""
    try:
        if folder.is_dir() and not archive.is_file():
            return {path.stem: (path, path.read_bytes()) for path in sorted(folder.iterdir()) if path.is_file()}
        with tarfile.open(archive, "r:gz") as opened:
            files = [(archive / member.name, opened.extractfile(member)) for member in opened if member.isfile()]
            return {path.stem: (path, stream.read()) for path, stream in files if stream is not None}
    except FileNotFoundError as error:
        raise EdgeDataError(f"{archive} is missing; fetch its data set first (python -m probing fetch gum)") from error
    except (tarfile.TarError, OSError, EOFError, ZlibError) as error:
        raise EdgeDataError(
            f"{archive} cannot be read ({error}); fetch its data set again (python -m probing fetch gum)"
        ) from error


def _part(
    folder: Path,
    names: Sequence[str],
    archives: tuple[Mapping[str, _Document], Mapping[str, _Document]],
    targets: Targets,
) -> Part:
    parses, mentions = archives
    records: list[Record] = []
    dropped: Counter[str] = Counter()
    for name in names:
        if name not in parses or name not in mentions:
            dropped["documents that the archives lack"] += 1
            continue
        path, content = parses[name]
        sentences = list(parsed_sentences(numbered(BytesIO(content), path), path))
        if all(word == "_" for sentence in sentences for word in sentence.words):
            dropped["documents without their words"] += 1
            continue
        # Forms may differ between the two files; the words are those of the parse.
        document_mentions, unclosed = read_mentions(mentions[name], sum(len(sentence.words) for sentence in sentences))
        dropped["mentions that are never closed"] += unclosed
        start = 0
        for sentence in sentences:
            end = start + len(sentence.words)
            inside = [mention for mention in document_mentions if start <= mention.span[0] and mention.span[1] <= end]
            dropped["mentions across sentences"] += sum(
                1 for mention in document_mentions if start <= mention.span[0] < end < mention.span[1]
            )
            shifted = [Mention((mention.span[0] - start, mention.span[1] - start), mention.name) for mention in inside]
            records.append(Record(sentence.words, tuple(targets(shifted)), name, open=_genre(name) in OPEN_GENRES))
            start = end
    return part_of(folder, records, dict(dropped))


def _genre(name: str) -> str:
    """``GUM_academic_art`` is academic."""
    return name.split("_")[1] if name.startswith("GUM_") else ""


def read_mentions(document: _Document, words: int) -> tuple[list[Mention], int]:
    """Mentions of a document by their places, the longer ones first, and how many were never closed.

    Brackets close in any order (``event-2)event-3)``), so a closing one ends the last opened mention of that name.
    """
    path, content = document
    opened: dict[str, list[int]] = {}
    mentions: list[Mention] = []
    place = 0
    for number, line in numbered(BytesIO(content), path):
        if not line.strip() or line.startswith("#"):
            continue
        columns = line.split("\t")
        if len(columns) != _COLUMNS or (columns[2] != "_" and _BRACKET.sub("", columns[2])):
            raise wrong(
                path,
                number,
                f"got {line!r}, expected a number, a word and brackets such as (4 or 4), separated by tabs",
            )
        for bracket in _BRACKET.finditer(columns[2]):
            name = bracket["open"] or bracket["close"]
            if bracket["single"]:
                mentions.append(Mention((place, place + 1), name))
            elif bracket["open"]:
                opened.setdefault(name, []).append(place)
            elif opened.get(name):
                mentions.append(Mention((opened[name].pop(), place + 1), name))
            else:
                raise wrong(path, number, f"the mention {name!r} closes here and was not opened before")
        place += 1
    if place != words:
        raise EdgeDataError(
            f"{path} has {place} words, its parse has {words}; the archives are of two versions: fetch gum again"
        )
    return sorted(mentions, key=lambda mention: (mention.span[0], -mention.span[1])), sum(map(len, opened.values()))
