"""``probing build``: the database that the pages read."""

from pathlib import Path
from typing import Annotated

import typer

from probing.core.places import cache_folder, runs_folder, snapshot_folder


def build(
    runs: Annotated[list[Path] | None, typer.Option(help="Folder of runs; repeatable. None: the snapshot and cache/runs.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the database.")] = None,
) -> None:
    """Build the database from Parquet runs; does nothing if it is up to date."""
    from probing.store.build import build_database

    sources = runs or [folder for folder in (snapshot_folder(), runs_folder()) if folder.is_dir()]
    path = build_database(sources, out or cache_folder() / "database")
    typer.echo(f"{path} from {', '.join(map(str, sources)) or 'nothing'}")
