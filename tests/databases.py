"""Databases of results that are built once per run of the tests, by the worker that needs one first.

A build takes half a second for a planted store and most of a minute for the shipped snapshot, and the same folders are opened by many
tests. A database depends on its files alone, not on where they are, so equal files share one database. A test gets a database of its own
in its own cache; the program takes it as current because the data version is that of the files. Pages, commands and the API get it so
without asking (``Databases.instead_of_a_build``); tests of the store build for themselves.
"""

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from filelock import FileLock

from probing.core.paths import database_folder, result_folders
from probing.core.registry import REPOSITORY
from probing.store.build import Progress, build_database, built_database
from probing.store.database import POINTER, current_version, is_whole
from probing.store.sources import data_version_of, find_files

#: The results that ship with the repository.
SNAPSHOT = REPOSITORY / "data" / "snapshot"
#: Bytes; a larger file is linked rather than copied. The tests that damage a database in place use small ones.
COPIED = 32 * 2**20


class Databases:
    """The databases of one run of the tests; its workers may use one folder.

    Attributes:
        root: folder of the databases, one folder per data version.
    """

    def __init__(self, root: Path, build: Callable[..., Path] = build_database):
        self.root = root
        self._build = build
        root.mkdir(parents=True, exist_ok=True)

    def shared(self, *sources: Path) -> Path:
        """The folder to give to ``open_database``: all tests read it, none builds in it."""
        folder = self.root / data_version_of(find_files(sources))
        with FileLock(f"{folder}.lock"):
            if not (folder / POINTER).is_file():
                self._build(sources, folder)
        return folder

    def put(self, target: Path, *sources: Path) -> Path:
        """Gives a test a database of its own: what is built in ``target`` later replaces the file there and never writes to it.

        Returns:
            ``target``.
        """
        shared = self.shared(*sources)
        target.mkdir(parents=True, exist_ok=True)
        for path in shared.iterdir():
            if path.name == POINTER or path.stat().st_size < COPIED:
                shutil.copyfile(path, target / path.name)
            else:
                os.link(path, target / path.name)
        return target

    def put_usual(self) -> None:
        """Does that where the program looks for the database of its usual results, unless there is one."""
        if not database_folder().exists():
            self.put(database_folder(), *result_folders())

    def instead_of_a_build(
        self, sources: Sequence[Path], target: Path, progress: Progress | None = None, memory: str = "512MB", verify: bool = False
    ) -> Path:
        """As ``build_database``; but if ``built_database`` calls it, a folder's first database is a copy of what was built of equal files.

        Modules that are imported later hold this function as ``build_database``; what they call it for is a build.
        """
        opens = sys._getframe(1).f_code is built_database.__code__
        if opens and not (Path(target) / POINTER).exists():
            # Where nothing can be written, the build says so. Else the copy is current, and a build would only open it to find that.
            with suppress(OSError):
                return self.put(Path(target), *sources) / f"results-{current_version(Path(target))}.duckdb"
        return self._build(sources, target, progress, memory=memory, verify=verify)

    def changed(self) -> list[str]:
        """The data versions of shared databases that a test has changed, which would change what other tests see."""
        built = [pointer.parent for pointer in self.root.glob(f"*/{POINTER}")]
        return [folder.name for folder in built if current_version(folder) != folder.name or not is_whole(folder)]
