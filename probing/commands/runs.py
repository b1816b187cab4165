"""``probing runs``: what has been probed."""

import json
from pathlib import Path
from typing import Annotated

import typer

from probing.core.errors import SchemaVersionError
from probing.core.paths import result_folders
from probing.store.parquet import read_table
from probing.store.sources import files_of


def runs(
    folder: Annotated[list[Path] | None, typer.Option(help="Folder of runs; repeatable. None: the snapshot and cache/runs.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the runs with their fingerprint, counts and what was left out."""
    rows: list[dict] = []
    for table in ("runs", "counted_runs"):
        asked = {row["run_id"] for row in rows}
        for path in (path for place in folder or result_folders() for path in files_of(table, place)):
            try:
                found = [row for row in read_table(path, table).to_pylist() if row["run_id"] not in asked]
            except SchemaVersionError as error:
                typer.echo(f"left out: {error}", err=True)
                continue
            rows += [{**row, "counted": table == "counted_runs", "folder": str(path.parent)} for row in found]
    if as_json:
        typer.echo(json.dumps(rows, ensure_ascii=False, default=str))
        return
    if not rows:
        typer.echo("no runs yet; make one with: python -m probing probe --model nesia-mini --facts all --head lens")
    for row in rows:
        left = ", ".join(f"{count:,} {reason}" for reason, count in json.loads(row["left_out"]).items()) or "none"
        typer.echo(
            f"{row['run_id']}  {row['model']:<20} {row['head']:<5} {row['probe_set']:<12} {row['template_set']:<10} "
            f"read {row['n_read']:,} = probed {row['n_probed']:,} + left out ({left})"
            f"{', counts alone' if row['counted'] else ''}"
        )
