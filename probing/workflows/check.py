"""Verifies registry, shipped facts, fetched data, heads, runs and database."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from probing.core.errors import ProbingError
from probing.core.facts.sources import read_facts
from probing.core.facts.templates import shipped_relations
from probing.core.files.checksums import file_sha256
from probing.core.paths import cache_folder, database_folder, result_folders
from probing.core.registry import read_registry
from probing.models.encoders.load import joint_identity, weights_identity
from probing.models.heads.files import read_identity
from probing.store.check import check_store


def check(runs: Sequence[Path] = ()) -> Iterator[tuple[str, list[str]]]:
    """Verifies part by part and reports what is wrong.

    Args:
        runs: folders of runs; none: the usual ones and the database that is built from them.

    Yields:
        The part's title, and a sentence for each problem.
    """
    folders = [folder for folder in runs if folder.is_dir()] if runs else result_folders()
    # A missing database is no fault: it is derived. It is built from the usual folders, not from named ones.
    database = database_folder() if database_folder().is_dir() and not runs else None
    looks: dict[str, Callable[[], list[str]]] = {
        "registry and shipped facts": _facts_problems,
        "fetched data": _data_problems,
        "shipped heads": _head_problems,
        "runs and database": lambda: check_store(folders, database),
    }
    for title, look in looks.items():
        yield title, look()


def _facts_problems() -> list[str]:
    try:
        read_registry()
        read_facts("all", shipped_relations())
    except ProbingError as error:
        return [str(error)]
    return []


def _data_problems() -> list[str]:
    problems = []
    for entry in read_registry().data:
        folder = cache_folder() / "downloads" / entry.name
        if not folder.is_dir():
            continue
        for file in entry.files:
            path = folder / file.path
            if not path.is_file() and file.sha256:
                problems.append(f"{path} is missing; fetch it again: python -m probing fetch {entry.name}")
            elif file.sha256 and file_sha256(path) != file.sha256:
                problems.append(f"{path} does not match its recorded sha256; fetch it again: python -m probing fetch {entry.name}")
    return problems


def _head_problems() -> list[str]:
    problems = []
    registry = read_registry()
    for entry in registry.models:
        if not entry.shipped:
            continue
        try:
            identity = weights_identity(entry.location)
            if entry.base:
                # Models that ship with their base are stored as a difference from it.
                identity = joint_identity(identity, weights_identity(registry.model(entry.base).location))
            for path in sorted(Path(entry.location, "heads").glob("*/layer-*.safetensors")):
                if read_identity(path).weights != identity:
                    problems.append(f"{path} belongs to other weights than {entry.name}'s")
        except ProbingError as error:
            problems.append(str(error))
    return problems
