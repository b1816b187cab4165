"""What is wrong with a store: every problem in words, none repaired."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from probing.core.errors import StoreError
from probing.core.provenance import fingerprint_problem
from probing.store.database import BUILD_COMMAND, current_version, is_whole, open_database
from probing.store.kinds import KINDS, RUNS_OF_FILES
from probing.store.parquet import read_table
from probing.store.rules.asking import light
from probing.store.run_queries import left_out_files
from probing.store.schema import KEYS, SCHEMAS, TABLES
from probing.store.sources import SourceFile, data_version_of, find_files

_Read = tuple[SourceFile, pa.Table]


def check_store(folders: Sequence[Path], database: Path | None = None) -> list[str]:
    """Reports every problem of the runs below the folders, and of the database made from them.

    Checked: every file is readable and ours; keys are unique; several files agree on one thing; a run's id is the fingerprint of its
    configuration; the rules of every kind of run hold (``store.kinds``), of which the first broken one of each run, task and model is
    reported; the database is made from exactly these files.

    Args:
        folders: the sources in the order in which ``build_database`` gets them.
        database: folder of the database; None does not look at it.

    Returns:
        One sentence per problem; none when all is well.
    """
    problems = [f"no folder {folder}; expected one with runs" for folder in folders if not Path(folder).is_dir()]
    sources = [Path(folder) for folder in folders if Path(folder).is_dir()]
    try:
        files = find_files(sources)
    except StoreError as error:
        return [*problems, str(error)]
    rows: dict[str, list[_Read]] = {table: [] for table in SCHEMAS}
    for file in files:
        try:
            table = read_table(file.path, file.table)
        except StoreError as error:
            problems.append(str(error))
            continue
        rows[file.table].append((file, light(file.table, table)))
    for name, read in rows.items():
        problems += _repeated(name, read)
        # If a run was made twice, its device and time may differ.
        if name not in RUNS_OF_FILES:
            problems += _copies(read) if TABLES[name].many else _conflicts(name, read)
    problems += _problems({name: _together(read) for name, read in rows.items() if read})
    if database is not None:
        problems += [problem for problem in _database(Path(database), files) if problem not in problems]
    return problems


def _problems(tables: Mapping[str, pa.Table]) -> list[str]:
    """What the rules of all kinds of runs say."""
    problems = [problem for kind in KINDS.values() for problem in kind.problems(tables)]
    for row in tables["swapped_runs"].to_pylist() if "swapped_runs" in tables else ():
        if problem := fingerprint_problem(row["counted_by"], row["config"]):
            problems.append(f"counts of run {row['run_id']}: {problem}")
    return problems


def _repeated(table: str, read: Sequence[_Read]) -> list[str]:
    key = list(KEYS[table])
    problems = []
    for file, rows in read:
        doubled = len(rows) - _distinct(rows, key)
        if doubled:
            problems.append(f"{file.path}: {doubled} rows repeat the key {key}")
    return problems


def _distinct(rows: pa.Table, key: Sequence[str]) -> int:
    """The number of different keys."""
    return rows.group_by(key).aggregate([]).num_rows


def _conflicts(table: str, read: Sequence[_Read]) -> list[str]:
    """Rows of several files with the same key are no problem if they are equal."""
    key = list(KEYS[table])
    # Files with equal bytes have equal rows. Most others have no key in common, which Arrow finds in a hundredth of the time.
    keys = [rows.select(key) for rows in {file.sha256: rows for file, rows in read}.values()]
    if len(keys) < 2 or _distinct(together := pa.concat_tables(keys), key) == len(together):
        return []
    first: dict[tuple, tuple[Path, tuple]] = {}
    differing: Counter[tuple[Path, Path]] = Counter()
    for file, rows in read:
        names = [*key, *(name for name in rows.column_names if name not in (*key, *TABLES[table].free))]
        for row in zip(*(rows.column(name).to_pylist() for name in names), strict=True):
            path, said = first.setdefault(row[: len(key)], (file.path, row))
            if said != row and path != file.path:
                differing[file.path, path] += 1
    return [f"{path}: {n} rows differ from those with the same {key} in {other}" for (path, other), n in differing.items()]


def _copies(read: Sequence[_Read]) -> list[str]:
    """A run that several folders have must have the same bytes in all: equal fingerprints, equal predictions."""
    found: dict[str, dict[int, set[str]]] = {}
    for file, rows in read:
        for run_id in pc.unique(rows.column("run_id")).to_pylist():
            found.setdefault(run_id, {}).setdefault(file.source, set()).add(file.sha256)
    return [
        f"run {run_id}: its predictions in several folders differ; those of the first folder are used"
        for run_id, sources in found.items()
        if len(set(map(frozenset, sources.values()))) > 1
    ]


def _together(read: Iterable[_Read]) -> pa.Table:
    """The rows that ``build_database`` takes: a run from the first source that has it, equal files once."""
    source_of: dict[str, int] = {}
    seen: set[str] = set()
    parts = []
    for file, rows in read:
        if file.sha256 in seen:
            continue
        seen.add(file.sha256)
        if file.table == "predictions":
            taken = [run for run in pc.unique(rows.column("run_id")).to_pylist() if source_of.setdefault(run, file.source) == file.source]
            rows = rows.filter(pc.is_in(rows.column("run_id"), value_set=pa.array(taken, pa.string())))
        parts.append(rows)
    return pa.concat_tables(parts)


def _database(folder: Path, files: Sequence[SourceFile]) -> list[str]:
    try:
        found = current_version(folder)
    except StoreError as error:
        return [str(error)]
    expected = data_version_of(files)
    if found != expected:
        return [f"the database in {folder} is stale: made from data {found}, the files are {expected}; run `{BUILD_COMMAND}`"]
    try:
        whole = is_whole(folder)
    except (OSError, StoreError) as error:
        return [f"cannot read the database in {folder}: {error}; run `{BUILD_COMMAND}`"]
    if not whole:
        return [f"the database in {folder} is damaged: its bytes are not those that were written; run `{BUILD_COMMAND}`"]
    try:
        with open_database(folder) as opened:
            # Files of another version are read here, too, and reported in the same words.
            return list(left_out_files(opened)["why"])
    except StoreError as error:
        return [str(error)]
