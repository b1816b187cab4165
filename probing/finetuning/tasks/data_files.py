"""Files of a task's data set, with errors that say what to do, and the parts that are held out of it."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from probing.kernel.errors import FactsError
from probing.kernel.text import numbered_lines


def json_files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise FactsError(
            f"no folder {folder}; fetch the data set first (python -m probing fetch) or name its folder (--data)"
        )
    return sorted(
        path for path in folder.iterdir() if path.suffix in (".json", ".jsonl") and not path.name.startswith(".")
    )


def first_of(folder: Path, names: Sequence[str]) -> Path:
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise FactsError(
        f"{folder} has none of {', '.join(names)}; fetch the data set first (python -m probing fetch) or name its"
        " folder (--data)"
    )


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines without their ends; raises a ``FactsError`` if the file cannot be read."""
    return numbered_lines(path, FactsError)


#: Share of queries or articles that is held out.
TEST_SHARE = 0.2
#: Share of the training sentences, articles or queries of the development part, if a data set has no such part.
DEVELOPMENT_SHARE = 0.1


def in_test_part(key: str) -> bool:
    """Whether an article or query is held out, decided by its hash: the same for every model and run."""
    return _share_below("task test part", key) < TEST_SHARE


def split_texts(texts: Iterable[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """Training and test texts of (key that decides on the part, text)."""
    parts: tuple[list[str], list[str]] = ([], [])
    for key, text in texts:
        parts[in_test_part(key)].append(text)
    return parts


def development_part(train: Sequence[Any], group: Callable[[Any], str]) -> tuple[list[Any], list[Any]]:
    """Training examples without and of the development part, by the hash of ``group(example)``: equal in every run."""
    parts: tuple[list[Any], list[Any]] = ([], [])
    for example in train:
        parts[_share_below("task development part", group(example)) < DEVELOPMENT_SHARE].append(example)
    return parts


def _share_below(purpose: str, key: str) -> float:
    return int(hashlib.sha256(f"{purpose}\t{key}".encode()).hexdigest()[:8], 16) / 16**8
