"""Small labelled sentences that tests write and split."""

from collections.abc import Iterable
from pathlib import Path

from probing.sentences.examples import Example, Labelled

LABELS = ("even", "odd")


def sentences(number: int, labels: tuple[str, ...] = LABELS) -> list[tuple[str, str]]:
    """Distinct sentences with distinct words, and labels by turns."""
    return [
        (f"Sentence number {place} has the word w{place} .", labels[place % len(labels)]) for place in range(number)
    ]


def rows(texts: Iterable[tuple[str, str]], part: str = "") -> list[Labelled]:
    return [Labelled(Example(text, label), part) for text, label in texts]


def tsv(path: Path, texts: Iterable[tuple[str, ...]], header: str = "sentence\tlabel") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes("".join(f"{line}\n" for line in [header, *("\t".join(one) for one in texts)]).encode())
    return path


def x_probe(folder: Path, stem: str, texts: Iterable[tuple[str, str]], parts: tuple[str, ...] = ("va", "te")) -> Path:
    """A folder with X-Probe's files of one task; each file gets its share of sentences in their order."""
    folder.mkdir(parents=True, exist_ok=True)
    found = list(texts)
    for place, part in enumerate(parts):
        start, end = place * len(found) // len(parts), (place + 1) * len(found) // len(parts)
        lines = [f"{text}\t{label}\n" for text, label in found[start:end]]
        (folder / f"{stem}.{part}.txt").write_bytes("".join(lines).encode())
    return folder
