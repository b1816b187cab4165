"""Files of a task's data set: found and read with errors that say what to do."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from probing.core.errors import FactsError

#: What reading JSON raises if it is damaged or of another shape.
MALFORMED = (OSError, ValueError, KeyError, TypeError, AttributeError)


def json_files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise FactsError(f"no folder {folder}; fetch the data set first (python -m probing fetch) or name its folder (--data)")
    return sorted(folder.glob("*.json"))


def first_of(folder: Path, names: Sequence[str]) -> Path:
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise FactsError(
        f"{folder} has none of {', '.join(names)}; fetch the data set first (python -m probing fetch) or name its folder (--data)"
    )


def lines_of(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8") as stream:
            yield from stream
    except (OSError, UnicodeDecodeError) as error:
        raise FactsError(f"cannot read {path}: {error}") from error
