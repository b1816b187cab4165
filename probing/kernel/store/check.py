"""What is wrong with a store: every problem in words, none repaired."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from probing.kernel.errors import StoreError
from probing.kernel.store.columns import KEYS, SCHEMAS, TABLES
from probing.kernel.store.kinds import KINDS, LIGHT, RUNS_OF_FILES, Kind, light
from probing.kernel.store.opening import counted
from probing.kernel.store.parquet import SourceFile, as_stored, find_files, read_table
from probing.kernel.store.seals import examine

_Read = tuple[SourceFile, pa.Table]


def check_store(folders: Sequence[Path]) -> list[str]:
    """Reports every problem of the runs below the folders, one sentence each; earlier folders take precedence.

    Checked: files are readable and ours; keys are unique; several files agree on one thing; a run's id is the
    fingerprint of its configuration; the rules of every kind of run hold, of which the first broken one of each run,
    task and model is reported; what is counted of a run follows from its rows.
    """
    problems = [f"no folder {folder}; expected one with runs" for folder in folders if not Path(folder).is_dir()]
    sources = [Path(folder) for folder in folders if Path(folder).is_dir()]
    try:
        files = find_files(sources)
    except StoreError as error:
        return [*problems, str(error)]
    examine((file.path for file in files), again=True)
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
    together = {name: _together(read) for name, read in rows.items() if read}
    for kind in KINDS.values():
        problems += [*kind.problems(together), *_other_counts(kind, rows, together)]
    return problems


def conflicts(folder: Path, others: Sequence[Path]) -> Iterator[str]:
    """What files below a folder say otherwise than those of the same tables below other folders."""
    new, here = find_files([folder]), find_files(others)
    for table in sorted({file.table for file in new} - set(RUNS_OF_FILES)):
        read = [*_readable(file for file in here if file.table == table)]
        read += [(file, light(table, read_table(file.path, table))) for file in new if file.table == table]
        found = _copies(read) if TABLES[table].many else _conflicts(table, read)
        yield from (problem for problem in found if problem.startswith(str(folder)))


def _readable(files: Iterable[SourceFile]) -> Iterator[_Read]:
    """Files with their rows, without those that cannot be read."""
    for file in files:
        with suppress(StoreError):
            yield file, light(file.table, read_table(file.path, file.table))


def _other_counts(kind: Kind, read: Mapping[str, Sequence[_Read]], together: Mapping[str, pa.Table]) -> Iterator[str]:
    """Counts every run again from its rows: the tables whose rows are others."""
    if kind.counts is None or kind.runs not in together:
        return
    for run_id in pc.unique(together[kind.runs].column("run_id")).to_pylist():
        run_tables = {
            name: rows.filter(pc.equal(rows.column("run_id"), run_id)) if "run_id" in rows.column_names else rows
            for name, rows in together.items()
        }
        if LIGHT in kind.counted_from:
            # Only one run's best tokens are held at a time.
            whole = (read_table(file.path, LIGHT) for file, _ in read[LIGHT] if run_id in file.path.stem)
            run_tables[LIGHT] = next(whole, SCHEMAS[LIGHT].empty_table())
        if len(run_tables.get(kind.counted_from[0], ())):
            try:
                counts = counted(kind, run_tables)
            except StoreError as error:
                yield str(error)
                continue
            if wrong := [
                name
                for name, rows in counts.items()
                if name not in run_tables or not as_stored(name, run_tables[name]).equals(rows)
            ]:
                yield (
                    f"run {run_id}: {', '.join(wrong)}: other rows than its predictions give; run `{kind.command}`"
                    " again"
                )


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
    return len(rows.group_by(key).aggregate([]))


def _conflicts(table: str, read: Sequence[_Read]) -> list[str]:
    """Rows of several files with the same key are no problem if they are equal."""
    key = list(KEYS[table])
    # Files with equal bytes have equal rows. Most others have no key in common, which Arrow finds in a hundredth of the
    # time.
    keys = [rows.select(key) for rows in {file.sha256: rows for file, rows in read}.values()]
    if len(keys) < 2 or _distinct(together := pa.concat_tables(keys), key) == len(together):
        return []
    first: dict[tuple[object, ...], tuple[Path, tuple[object, ...]]] = {}
    differing: Counter[tuple[Path, Path]] = Counter()
    for file, rows in read:
        may_differ = (*key, *TABLES[table].free, *TABLES[table].withheld)
        names = [*key, *(name for name in rows.column_names if name not in may_differ)]
        for row in zip(*(rows.column(name).to_pylist() for name in names), strict=True):
            path, first_row = first.setdefault(row[: len(key)], (file.path, row))
            if first_row != row and path != file.path:
                differing[file.path, path] += 1
    return [
        f"{path}: {n} rows differ from those with the same {key} in {other}" for (path, other), n in differing.items()
    ]


def _copies(read: Sequence[_Read]) -> list[str]:
    """Files of one name have the same rows in all folders: equal fingerprints, equal predictions."""
    first: dict[str, SourceFile] = {}
    pairs = [(file, first.setdefault(file.path.name, file)) for file, _ in read]
    return [
        f"{file.path} differs from {other.path}, whose rows are used"
        for file, other in pairs
        if file.sha256 != other.sha256
        # Another version of pyarrow writes equal rows as other bytes.
        and not read_table(file.path, file.table).equals(read_table(other.path, other.table))
    ]


def _together(read: Sequence[_Read]) -> pa.Table:
    """The rows that count: a run from the first source that has it, equal files once."""
    source_of: dict[str, int] = {}
    seen: set[str] = set()
    parts = []
    for file, rows in read:
        if file.sha256 in seen:
            continue
        seen.add(file.sha256)
        if TABLES[file.table].per == "run_id":
            run_ids = [
                run
                for run in pc.unique(rows.column("run_id")).to_pylist()
                if source_of.setdefault(run, file.source) == file.source
            ]
            rows = rows.filter(pc.is_in(rows.column("run_id"), value_set=pa.array(run_ids, pa.string())))
        parts.append(rows)
    return pa.concat_tables(parts)
