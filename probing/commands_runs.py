"""``probing runs``: what has been probed."""

import json
from pathlib import Path
from typing import Annotated

import typer

from probing.kernel.errors import StoreError
from probing.kernel.files import result_folders
from probing.kernel.provenance import LOCAL, stored_configuration
from probing.kernel.store.columns import SCHEMAS
from probing.kernel.store.parquet import files_of, read_table


def runs(
    folder: Annotated[
        list[Path] | None, typer.Option(help="Folder of runs; repeatable. None: the snapshot and cache/runs.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the runs with their fingerprint, counts and what was left out."""
    from probing.kernel.store.kinds import FACTS, KINDS, RUNS_OF_FILES

    rows: list[dict] = []
    empty = dict.fromkeys(SCHEMAS["runs"].names)
    folders = folder or result_folders()
    whole = {path.stem.rpartition("-")[2] for place in folders for path in files_of("predictions", place)}
    for table, kind in RUNS_OF_FILES.items():
        run_ids = {row["run_id"] for row in rows}
        for path in (path for place in folders for path in files_of(table, place)):
            try:
                new_rows = [row for row in read_table(path, table).to_pylist() if row["run_id"] not in run_ids]
            except StoreError as error:
                typer.echo(f"skipped: {error}", err=True)
                continue
            # Columns on facts are empty for runs of other kinds.
            rows += [
                {**empty, **row, "what": kind, "counted": kind == FACTS and row["run_id"] not in whole}
                | {"hub_id": _hub_id(row), "folder": str(path.parent)}
                for row in new_rows
            ]
    if as_json:
        typer.echo(json.dumps(rows, ensure_ascii=False, default=str))
        return
    if not rows:
        typer.echo("no runs yet; make one with: python -m probing probe --model nesia-mini --facts all")
    for row in rows:
        typer.echo(f"{row['run_id']}  {row['model']:<20} {KINDS[row['what']].describe(row)}{_source(row)}")


def _source(row: dict) -> str:
    """Where a model of the hub came from; nothing for a folder."""
    revision = row["model_revision"] or LOCAL
    return "" if revision == LOCAL else f", {row['hub_id']} at {revision[:12]}"


def _hub_id(row: dict) -> str:
    return str(stored_configuration(row["config"]).get("hub_id", ""))
