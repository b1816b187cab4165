"""Files of a task's data set: found and read with errors that say what to do."""

from collections.abc import Iterator, Sequence
from pathlib import Path

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
