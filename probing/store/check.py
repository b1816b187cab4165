"""What is wrong with a store: every problem in words, none repaired."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from probing.core.errors import StoreError
from probing.core.provenance import canonical_json, fingerprint_of
from probing.store.changes.problems import change_problems
from probing.store.changes.tables import CHANGE_SCHEMAS
from probing.store.completeness import COUNTS, Counted, counted_in_tables, lack, lacking_counts
from probing.store.database import BUILD_COMMAND, current_version, is_whole, open_database
from probing.store.edges.problems import edge_problems
from probing.store.edges.tables import EDGE_SCHEMAS
from probing.store.knowledge.swapped_ranks import StoredFact, lender_problem, names_lenders, stored_facts
from probing.store.parquet import read_table
from probing.store.run_queries import left_out_files
from probing.store.schema import KEYS, SCHEMAS
from probing.store.sentences.problems import sentence_problems
from probing.store.sentences.tables import SENTENCE_SCHEMAS
from probing.store.sources import SourceFile, data_version_of, find_files

_Read = tuple[SourceFile, pa.Table]
_Problems = Callable[[Mapping[str, pa.Table]], list[str]]
#: Table of runs -> the tables of its kind, and the function that finds their problems.
_BY_KIND: dict[str, tuple[Mapping[str, pa.Schema], _Problems]] = {
    "edge_runs": (EDGE_SCHEMAS, edge_problems),
    "sentence_runs": (SENTENCE_SCHEMAS, sentence_problems),
    "change_runs": (CHANGE_SCHEMAS, change_problems),
}
#: Tables with one row per run, and those of predictions, which have too many rows to compare one by one.
_RUN_ROWS = ("runs", "counted_runs", *_BY_KIND)
_ANSWERS = ("predictions", "edge_predictions", "sentence_predictions")


def check_store(folders: Sequence[Path], database: Path | None = None) -> list[str]:
    """Reports every problem of the runs below the folders, and of the database made from them.

    Checked: every file is readable and ours; keys are unique; a run is complete (``store.completeness``), and its id is the fingerprint
    of its configuration; every swapped rank comes from a valid swapped subject, if the run names its swapped subjects; counts belong to a
    run and cover no more facts than exist; several files agree on one thing; predictions belong to a run; its tokenizer has a vocabulary;
    read = probed + left out; the database is made from exactly these files.

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
        if file.table == "predictions":
            if not pc.list_value_length(table.column("top_ids")).equals(pc.list_value_length(table.column("top_logp"))):
                problems.append(f"{file.path}: top_ids and top_logp of some rows have different lengths")
            # The lists are nine tenths of the memory.
            table = table.drop_columns(["top_ids", "top_logp"])
        rows[file.table].append((file, table))
    for name, read in rows.items():
        problems += _repeated(name, read)
        # If a run was made twice, its device and time may differ.
        if name not in (*_RUN_ROWS, *_ANSWERS):
            problems += _conflicts(name, read)
    for name in _ANSWERS:
        problems += _copies(rows[name])
    problems += _runs(rows)
    problems += _lenders(rows)
    problems += _counts(rows)
    for runs, (schemas, problems_of) in _BY_KIND.items():
        problems += _of_kind(rows, runs, schemas, problems_of)
    if database is not None:
        problems += [problem for problem in _database(Path(database), files) if problem not in problems]
    return problems


def fingerprint_problem(run_id: str, config: str) -> str | None:
    """Why ``run_id`` is not the first 16 hex digits of sha256 of its canonical JSON configuration; None if it is."""
    try:
        content = json.loads(config)
        written = canonical_json(content), canonical_json(content, ascii_only=False)
    except (ValueError, RecursionError) as error:
        return f"run {run_id}: its configuration is not JSON: {error}"
    if config not in written:
        return f"run {run_id}: its configuration is not canonical JSON (sorted keys, no spaces)"
    found = fingerprint_of(config)
    return None if found == run_id else f"run {run_id}: the fingerprint of its configuration is {found}; it was changed after the run"


def _repeated(table: str, read: Sequence[_Read]) -> list[str]:
    key = list(KEYS[table])
    problems = []
    for file, rows in read:
        doubled = rows.num_rows - rows.group_by(key).aggregate([]).num_rows
        if doubled:
            problems.append(f"{file.path}: {doubled} rows repeat the key {key}")
    return problems


def _conflicts(table: str, read: Sequence[_Read]) -> list[str]:
    """Rows of several files with the same key are no problem if they are equal."""
    key = list(KEYS[table])
    first: dict[tuple, tuple[Path, tuple]] = {}
    differing: Counter[tuple[Path, Path]] = Counter()
    for file, rows in read:
        # A fact's id does not hold the name of its template set: two sets may have the same template.
        # Equal heads may be trained twice, in different times.
        names = [*key, *(name for name in rows.column_names if name not in (*key, "template_set", "seconds"))]
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


def _runs(rows: dict[str, list[_Read]]) -> list[str]:
    problems = []
    facts = _together(rows, "facts", ["fact_id"]).column("fact_id").unique()
    counted = counted_in_tables(_predictions_as_built(rows["predictions"]), facts)
    for run_id, found in counted.items():
        if found.repeated:
            problems.append(f"run {run_id}: {found.repeated} predictions are duplicates of a fact and layer")
    for run_id, found in counted.items():
        if found.strange_facts:
            problems.append(f"run {run_id}: {found.strange_facts} facts of its predictions are in no facts file")
    tokenizers = set(_together(rows, "vocabulary", ["tokenizer"]).column("tokenizer").unique().to_pylist())
    runs = {run["run_id"]: run for run in _rows(rows, "runs")}
    for run_id, run in runs.items():
        lacking = lack(run, counted.get(run_id, Counted()))
        if lacking.wrong_number:
            problems.append(
                f"run {run_id}: {lacking.counted.rows} predictions, expected {lacking.expected} "
                f"({run['n_probed']} facts x {lacking.layers} layer{'' if lacking.layers == 1 else 's'}); run `probe` again to complete it"
            )
        problems += _row_problems(run, tokenizers)
    counted_alone = [row for row in _rows(rows, "counted_runs") if row["run_id"] not in runs]
    for run in counted_alone:
        problems += _row_problems(run, tokenizers)
    stored = _together(rows, "facts", ["probe_set", "relation"]).group_by(["probe_set", "relation"]).aggregate([]).to_pylist()
    counts = {table: _together(rows, table, SCHEMAS[table].names) for table in COUNTS}
    lacking_facts = lacking_counts(counted_alone, counts, {(row["probe_set"], row["relation"]) for row in stored})
    problems += [f"run {run_id}: {problem}" for run_id, problem in lacking_facts.items()]
    unfinished = sorted(set(counted) - set(runs))
    problems += [f"run {run_id}: has predictions but no row in any runs file; run `probe` again to complete it" for run_id in unfinished]
    return problems


def _row_problems(run: dict, tokenizers: Collection[str]) -> list[str]:
    """What is wrong in the row of a run, apart from its predictions."""
    found = [fingerprint_problem(run["run_id"], run["config"]), _left_out_problem(run)]
    if run["tokenizer"] not in tokenizers:
        found.append(f"run {run['run_id']}: no vocabulary file has its tokenizer {run['tokenizer']!r}")
    return [problem for problem in found if problem]


def _rows(rows: dict[str, list[_Read]], table: str) -> list[dict]:
    """The rows of a table of runs, of several with one id the first."""
    found: dict[str, dict] = {}
    for _, read in rows[table]:
        for row in read.to_pylist():
            found.setdefault(row["run_id"], row)
    return [found[run_id] for run_id in sorted(found)]


def _lenders(rows: dict[str, list[_Read]]) -> list[str]:
    """Problems of the swapped subjects (``lenders``) of complete runs; what else a run lacks is reported elsewhere."""
    runs = {run["run_id"]: run for _, table in rows["runs"] for run in table.to_pylist()}
    lent = _together(rows, "lenders", SCHEMAS["lenders"].names)
    asked = _together(rows, "predictions", ["run_id", "fact_id", "other_rank"])
    strays = sorted(set(_ids(lent, "run_id")) - runs.keys() - set(_ids(asked, "run_id")))
    problems = [f"run {run_id}: has rows of lenders, but neither predictions nor a row in any runs file; delete them" for run_id in strays]
    naming = sorted(run_id for run_id, run in runs.items() if names_lenders(run["config"]))
    facts = stored_facts(_together(rows, "facts", list(StoredFact._fields))) if naming else {}
    for run_id in naming:
        mine, pairs = (table.filter(pc.equal(table.column("run_id"), run_id)) for table in (asked, lent))
        ids = _ids(mine, "fact_id")
        known = [facts[fact_id] for fact_id in ids if fact_id in facts]
        if not len(known) == len(ids) == runs[run_id]["n_probed"]:
            continue
        lender_of = dict(zip(pairs.column("fact_id").to_pylist(), pairs.column("lender_id").to_pylist(), strict=True))
        if problem := lender_problem(known, lender_of, _ids(mine.filter(mine.column("other_rank").is_valid()), "fact_id")):
            problems.append(f"run {run_id}: {problem}; delete its files and probe it again")
    return problems


def _of_kind(rows: dict[str, list[_Read]], runs: str, schemas: Mapping[str, pa.Schema], problems_of: _Problems) -> list[str]:
    """Problems of runs that are not on facts: of their fingerprints, and of all else."""
    found = [row for _, table in rows[runs] for row in table.to_pylist()]
    unsigned = dict.fromkeys(problem for row in found if (problem := fingerprint_problem(row["run_id"], row["config"])))
    return [*unsigned, *problems_of({name: _together(rows, name, SCHEMAS[name].names) for name in schemas})]


def _counts(rows: dict[str, list[_Read]]) -> list[str]:
    """Problems of counts: those made in another run of the same question, and those kept of a run without its predictions."""
    counted_in = {row["run_id"]: row for _, table in rows["swapped_runs"] for row in table.to_pylist()}
    alone = {row["run_id"] for row in _rows(rows, "counted_runs")}
    asked = {row["run_id"]: row["n_probed"] for table in ("counted_runs", "runs") for row in _rows(rows, table)}
    problems = []
    for row in counted_in.values():
        if problem := fingerprint_problem(row["counted_by"], row["config"]):
            problems.append(f"counts of run {row['run_id']}: {problem}")
    for name in ("swapped_counts", "inner_counts"):
        for file, table in rows[name]:
            if strays := sorted(set(_ids(table, "run_id")) - counted_in.keys() - alone):
                problems.append(f"{file.path}: no swapped_runs file says where the counts of run {strays[0]} come from; make them again")
            key = ["run_id", "layer" if name == "swapped_counts" else "k"]
            for row in table.group_by(key).aggregate([("n", "sum")]).to_pylist():
                if row["n_sum"] > asked.get(row["run_id"], 0):
                    got = f"{row['n_sum']:,} facts of run {row['run_id']}, which asked {asked.get(row['run_id'], 0):,}"
                    problems.append(f"{file.path}: counts {got}; make the counts again")
                    break
    for name in COUNTS:
        for file, table in rows[name]:
            if strays := sorted(set(_ids(table, "run_id")) - alone):
                problems.append(f"{file.path}: no counted_runs file has the run {strays[0]}; make its counts again")
    return problems


def _ids(table: pa.Table, column: str) -> list[str]:
    return pc.unique(table.column(column)).to_pylist()


def _left_out_problem(run: dict) -> str | None:
    try:
        left_out = json.loads(run["left_out"] or "{}")
        total = run["n_probed"] + sum(left_out.values())
    except (ValueError, TypeError, AttributeError, RecursionError):
        return f"run {run['run_id']}: left_out is not JSON of reason -> count: {run['left_out']!r}"
    if total != run["n_read"]:
        return f"run {run['run_id']}: read {run['n_read']}, but probed and left out are {total}"
    return None


def _predictions_as_built(read: Sequence[_Read]) -> pa.Table:
    """The rows that ``build_database`` takes: a run from the first source that has it, equal files once."""
    source_of: dict[str, int] = {}
    seen: set[str] = set()
    parts = [SCHEMAS["predictions"].empty_table().select(["run_id", "fact_id", "layer"])]
    for file, rows in read:
        if file.sha256 in seen:
            continue
        seen.add(file.sha256)
        taken = [r for r in pc.unique(rows.column("run_id")).to_pylist() if source_of.setdefault(r, file.source) == file.source]
        rows = rows.select(["run_id", "fact_id", "layer"])
        parts.append(rows.filter(pc.is_in(rows.column("run_id"), value_set=pa.array(taken, pa.string()))))
    return pa.concat_tables(parts)


def _together(rows: dict[str, list[_Read]], table: str, columns: list[str]) -> pa.Table:
    return pa.concat_tables([SCHEMAS[table].empty_table().select(columns), *(part.select(columns) for _, part in rows[table])])


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
