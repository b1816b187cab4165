"""``probing build``: the database that the pages read."""

from pathlib import Path
from typing import Annotated

import typer

from probing.core.paths import database_folder, result_folders
from probing.store.build import build_database
from probing.store.database import require_own_folder


def build(
    runs: Annotated[list[Path] | None, typer.Option(help="Folder of runs; repeatable. None: the snapshot and cache/runs.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the database.")] = None,
) -> None:
    """Build the database from Parquet runs; does nothing if it is up to date."""
    sources = runs or result_folders()
    if out is not None:
        require_own_folder(out)
    path = build_database(sources, out or database_folder(), verify=True)
    typer.echo(f"{path} from {', '.join(map(str, sources)) or 'nothing'}")
