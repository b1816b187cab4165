"""Checks of a pull, which refuses other tables than this program's, incomplete runs and impossible values."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pyarrow as pa

from probing.core.errors import HubError, StoreError
from probing.core.facts.fact import Fact, fill
from probing.core.files.share_manifest import SharedManifest
from probing.core.paths import result_folders
from probing.core.provenance import fingerprint_problem, stored_configuration
from probing.core.tokens.tokenizer_ids import recorded_checksum, tokens_checksum
from probing.store.knowledge.swapped_ranks import names_lenders
from probing.store.parquet import check_file, read_table, rows_and_values
from probing.store.rules.knowledge import COUNTS
from probing.store.schema import TABLES
from probing.store.sources import table_of
from probing.workflows.share.results import refuse_large
from probing.workflows.share.runs import DATA, incomplete, lenders_file

#: Tables in which equal names mean equal rows everywhere.
_SAME_EVERYWHERE = ("vocabulary", "facts")


def announced_rows(run: Mapping[str, Any]) -> tuple[int, ...]:
    """Every number of predictions with which a run may be complete: a replicate may have its last layer only."""
    ways = (run["layers"], 1) if run["role"] == "replicate" else (run["layers"],)
    return tuple(dict.fromkeys(run["n_probed"] * layers for layers in ways))


def check_runs(folder: Path, manifest: SharedManifest, title: str) -> None:
    """Raises a ``HubError`` if a file is none of this program's tables, or a run is incomplete, though the checksums are right.

    Every file's footer is read first: more rows than the runs state are refused before they take memory.
    """
    paths = {Path(file.path).name: folder / DATA / Path(file.path).name for file in manifest.content}
    tables = _tables(paths, title)
    runs: dict[str, dict] = {}
    for name in sorted(name for name in paths if tables[name] == "runs"):
        _refuse_size(paths[name], "runs", (1,), 1, title)
        (runs[name],) = _read(paths[name], "runs", title).to_pylist()
    for name, row in runs.items():
        if problem := _not_whole(name, row, paths, manifest.model):
            raise HubError(f"{name} of {title} is not a complete run: {problem}; nothing was taken")
    announced = _announced(runs)
    expected: Sequence[int] | None
    for name in sorted(paths):
        if tables[name] in ("predictions", "lenders") and name not in announced:
            raise HubError(f"{name} of {title} belongs to no run there; nothing was taken")
        if tables[name] != "runs":
            expected, in_a_list = announced.get(name, (None, 1))
            _refuse_size(paths[name], tables[name], expected, in_a_list, title)
    for name, row in runs.items():
        try:
            problem = incomplete(row, paths[name])
        except StoreError as error:
            raise HubError(f"{title} cannot be pulled: {error}; nothing was taken") from error
        if problem:
            raise HubError(f"{name} of {title} is not a complete run: {problem}; nothing was taken")
    for name in sorted(paths):
        if tables[name] not in ("runs", "predictions"):
            rows = _read(paths[name], tables[name], title)
            problem = _other_than_named(name, tables[name], rows, list(runs.values())) or _other_than_known(name, tables[name], rows)
            if problem:
                raise HubError(f"{name} of {title} {problem}; nothing was taken")


def _tables(paths: dict[str, Path], title: str) -> dict[str, str]:
    """File name -> its table, for files that are this program's."""
    found = {}
    for name, path in sorted(paths.items()):
        table = table_of(path)
        try:
            if table is None:
                raise StoreError(f"{name} is named after no table")
            if table == "counted_runs" or table in COUNTS:
                raise StoreError(f"{name} is of a run without predictions, expected runs with them")
            check_file(path, table)
        except StoreError as error:
            raise HubError(f"{title} cannot be pulled: {error}; nothing was taken") from error
        found[name] = table
    return found


def _read(path: Path, table: str, title: str) -> pa.Table:
    try:
        return read_table(path, table)
    except StoreError as error:
        raise HubError(f"{title} cannot be pulled: {error}; nothing was taken") from error


def _announced(runs: dict[str, dict]) -> dict[str, tuple[Sequence[int], int]]:
    """File name -> the numbers of rows that its run allows, and of values per list."""
    found: dict[str, tuple[Sequence[int], int]] = {}
    for row in runs.values():
        n = row["n_probed"]
        found[f"predictions-{row['run_id']}.parquet"] = (announced_rows(row), row["top_k"])
        found[_facts_file(row)] = ((n,), 1)
        if names_lenders(row["config"]):
            # Facts without a swapped subject have no row.
            found[lenders_file(row)] = (range(n + 1), 1)
    return found


def _refuse_size(path: Path, table: str, expected: Sequence[int] | None, in_a_list: int, title: str) -> None:
    """Raises a ``HubError`` if a file has other numbers of rows or values than expected, or is too large."""
    name = path.name
    rows, _ = rows_and_values(path)
    if expected is not None and rows not in expected:
        said = f"at most {expected[-1]:,}" if isinstance(expected, range) else " or ".join(f"{n:,}" for n in dict.fromkeys(expected))
        what = f"{rows:,} predictions" if table == "predictions" else f"{rows:,} rows"
        raise HubError(f"{name} of {title} holds {what}, expected {said}; nothing was taken")
    try:
        refuse_large(f"{name} of {title}", path, TABLES[table], in_a_list)
    except StoreError as error:
        raise HubError(f"{error}; nothing was taken") from error


def _facts_file(row: dict) -> str:
    return f"facts-{json.loads(row['config'])['facts_sha256'][:16]}.parquet"


def _not_whole(name: str, row: dict, paths: dict[str, Path], model: str) -> str | None:
    """How a run's row differs from its name, its configuration or the manifest, or a missing file; None if all is right."""
    if problem := fingerprint_problem(row["run_id"], row["config"]):
        return problem
    if not isinstance(stored_configuration(row["config"]).get("facts_sha256"), str):
        return "its configuration does not name its facts"
    if row["model"] != model:
        return f"it is of {row['model']}, the manifest says {model}"
    needed = [f"predictions-{row['run_id']}.parquet", _facts_file(row), f"vocabulary-{row['tokenizer']}.parquet"]
    needed += [lenders_file(row)] if names_lenders(row["config"]) else []
    if missing := [file for file in needed if file not in paths]:
        return f"{missing[0]} is missing"
    return None if name == f"runs-{row['run_id']}.parquet" else "its name is not that of its run"


def _other_than_named(name: str, table: str, rows: pa.Table, runs: Sequence[dict]) -> str | None:
    """How facts or tokens differ from the name of their file or their runs; None if they do not."""
    if table == "facts":
        return _renamed(rows.to_pylist(), [row for row in runs if _facts_file(row) == name])
    if table == "vocabulary":
        for tokenizer in rows.column("tokenizer").unique().to_pylist():
            tokens = [row["token"] for row in rows.to_pylist() if row["tokenizer"] == tokenizer]
            recorded = recorded_checksum(tokenizer)
            if recorded is not None and tokens_checksum(tokens) != recorded:
                return f"holds other tokens than the checksum in its name says: {tokens_checksum(tokens)}, expected {recorded}"
    return None


def _renamed(facts: list[dict], runs: Sequence[dict]) -> str | None:
    """How facts differ from their ids, which are hashes, or from their runs; None if they do not."""
    parts = [field.name for field in fields(Fact) if field.name != "pred"]
    for row in facts:
        fact = Fact(**{name: row[name] for name in parts})
        # If a set has no templates, the template is the prompt.
        if fact.prompt not in (fact.template, fill(fact.template or "", fact.subject)):
            return f"says that {fact.fact_id} has the prompt {fact.prompt!r}, which its template {fact.template!r} does not give"
        if fact.fact_id != row["fact_id"]:
            return f"says that {row['fact_id']} is {row['subject']!r}, {row['relation']}, {row['object']!r}, which has another id"
        for key in ("probe_set", "template_set"):
            if runs and row[key] not in {run[key] for run in runs}:
                return f"says that {row['fact_id']} is of {key} {row[key]!r}, its run says {runs[0][key]!r}"
    return None


def _other_than_known(name: str, table: str, rows: pa.Table) -> str | None:
    """A note on a stored file of the same name with different rows; None if there is none."""
    if table not in _SAME_EVERYWHERE:
        return None

    def said(found: pa.Table) -> list[Any]:
        return found.drop_columns(list(TABLES[table].free)).to_pylist()

    for folder in result_folders():
        for path in sorted(folder.rglob(name)):
            try:
                known = read_table(path, table)
            except StoreError:
                # A damaged file of ours is reported by `check`.
                continue
            if said(known) != said(rows):
                return f"holds different rows from {path}, which has the same name"
    return None
