"""Small files in the formats of edge probing's sources, with sentences written for tests."""

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

#: Word, tag, head, relation.
Row = tuple[str, str, int, str]
SLEEPS: tuple[Row, ...] = (
    ("The", "DT", 2, "det"),
    ("cat", "NN", 3, "nsubj"),
    ("sleeps", "VBZ", 0, "root"),
    (".", ".", 3, "punct"),
)
SINGS: tuple[Row, ...] = (("Ann", "NNP", 2, "nsubj:outer"), ("sings", "VBZ", 0, "root"))


def conllu(sentences: Mapping[str, Sequence[Row]], document: str = "walk") -> str:
    """CoNLL-U of sentences by their ids."""
    lines = [f"# newdoc id = {document}"]
    for name, rows in sentences.items():
        lines.append(f"# sent_id = {name}")
        lines += [
            f"{number}\t{word}\t_\tX\t{tag}\t_\t{head}\t{relation}\t_\t_"
            for number, (word, tag, head, relation) in enumerate(rows, 1)
        ]
        lines.append("")
    return "\n".join(lines) + "\n"


def write_ewt(folder: Path, **parts: str) -> Path:
    """UD English EWT; a part that is not given has one sentence."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("train", "dev", "test"):
        text = parts.get(part) or conllu({f"{part}-0001": SLEEPS})
        (folder / f"en_ewt-ud-{part}.conllu").write_text(text, encoding="utf-8")
    return folder


#: Word, tag, parse bit, then a role for each predicate.
CAT = (
    ("The", "DT", "(TOP(S(NP*", "(ARG0*"),
    ("cat", "NN", "*)", "*)"),
    ("sleeps", "VBZ", "(VP*)", "(V*)"),
    (".", ".", "*))", "*"),
)


def propbank(*sentences: Sequence[Sequence[str]]) -> str:
    """EWT PropBank's columns."""
    lines = []
    for number, rows in enumerate(sentences, 1):
        lines.append(f"# sent_id = walk-{number:04}")
        lines += [
            "\t".join([str(place), word, tag, bit, "-", "-", *roles])
            for place, (word, tag, bit, *roles) in enumerate(rows)
        ]
        lines.append("")
    return "\n".join(lines) + "\n"


def write_propbank(folder: Path, **parts: str) -> Path:
    """EWT PropBank; a part that is not given has one sentence."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("train", "dev", "test"):
        with gzip.open(folder / f"ewt_propbank_{part}.conll.gz", "wt", encoding="utf-8") as stream:
            stream.write(parts.get(part) or propbank(CAT))
    return folder


def mentions(*words: tuple[str, str]) -> str:
    """GUM's file of mentions: a number, a word, brackets."""
    lines = [f"{number}\t{word}\t{brackets}" for number, (word, brackets) in enumerate(words)]
    return "\n".join(["# begin document", *lines, "# end document", ""])


#: Name of a document -> its parse, and its mentions of both guidelines.
Documents = Mapping[str, tuple[str, str, str]]
CAT_MENTIONS = mentions(("The", "(animal-1"), ("cat", "animal-1)"), ("sleeps", "(event-2)"), (".", "_"))
PLAIN = (conllu({"s": SLEEPS}), mentions(("The", "(1"), ("cat", "1)"), ("sleeps", "(2)"), (".", "_")), CAT_MENTIONS)


def write_gum(folder: Path, documents: Documents, splits: Mapping[str, Sequence[str]] | None = None) -> Path:
    """GUM's archives and ``splits.md``; development and test data are one plain document each unless ``splits`` says
    otherwise.
    """
    folder.mkdir(parents=True, exist_ok=True)
    splits = splits or {"train": list(documents), "dev": ["GUM_bio_dev"], "test": ["GUM_bio_test"]}
    everything = {"GUM_bio_dev": PLAIN, "GUM_bio_test": PLAIN, **documents}
    headed = "\n".join(f"## {part}\n\n" + "".join(f"  * {name}\n" for name in names) for part, names in splits.items())
    (folder / "splits.md").write_text(f"# Splits\n\n{headed}", encoding="utf-8")
    places = (
        ("gum_dep", "dep", "conllu"),
        ("gum_coref_ontogum_conll", "coref/ontogum/conll", "conll"),
        ("gum_coref_gum_conll", "coref/gum/conll", "conll"),
    )
    for which, (archive, inside, ending) in enumerate(places):
        with tarfile.open(folder / f"{archive}.tar.gz", "w:gz") as opened:
            for name, texts in everything.items():
                content = texts[which].encode()
                member = tarfile.TarInfo(f"{inside}/{name}.{ending}")
                member.size = len(content)
                opened.addfile(member, io.BytesIO(content))
    return folder


def answers(*given: tuple[int, int]) -> dict:
    """Answers about one property: value and confidence by annotator."""
    return {
        what: {f"a{who}": pair[place] for who, pair in enumerate(given)}
        for place, what in enumerate(("value", "confidence"))
    }


def write_proto_roles(
    folder: Path, pairs: Mapping[str, Mapping[tuple[int, int], Mapping[str, dict]]], names: Mapping[str, str]
) -> Path:
    """SPR2's raw answers (sentence -> words of predicate and argument -> property -> answers) and the ids of its
    sentences.
    """
    folder.mkdir(parents=True, exist_ok=True)
    data = {
        sentence: {
            f"{sentence}-semantics-pred-{p}%%{sentence}-semantics-arg-{a}": {"protoroles": dict(found)}
            for (p, a), found in them.items()
        }
        for sentence, them in pairs.items()
    }
    with zipfile.ZipFile(folder / "protoroles_raw.zip", "w") as archive:
        archive.writestr("protoroles.json", json.dumps({"metadata": {}, "data": data}))
    ids = {sentence: {"document_id": "walk", "sentence_id": name} for sentence, name in names.items()}
    (folder / "ud_ids.json").write_text(json.dumps(ids), encoding="utf-8")
    return folder


def semeval(*rows: tuple[str, str]) -> bytes:
    """SemEval's file: byte order mark, CRLF, a sentence, its relation, a comment."""
    lines = [
        f'{number}\t"{text}"\r\n{label}\r\nComment: <e1>not read\r\n\r\n'
        for number, (text, label) in enumerate(rows, 1)
    ]
    return b"\xef\xbb\xbf" + "".join(lines).encode()


def write_own(folder: Path, **parts: Sequence[object]) -> Path:
    """A folder in jiant's format; what is text is written unchanged, all else as JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, rows in parts.items():
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        (folder / f"{part}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder
