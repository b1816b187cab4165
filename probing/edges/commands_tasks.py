"""``probing edges tasks``: the tasks of edge probing, and their data."""

from enum import StrEnum
from typing import Annotated

import typer

from probing.edges.trace_task_list import task_list
from probing.kernel.commands import options_refused
from probing.kernel.files import cache_folder
from probing.kernel.report import as_csv, as_json, objects, text_table


class Shape(StrEnum):
    """Output formats."""

    table = "table"
    csv = "csv"
    json = "json"


def tasks(
    names: Annotated[
        list[str] | None, typer.Argument(help="Tasks, or folders in jiant's format; none: all built-in tasks.")
    ] = None,
    counts: Annotated[bool, typer.Option("--counts", help="Also count each part of the fetched data.")] = False,
    shape: Annotated[Shape, typer.Option("--as", help="table, csv or json.")] = Shape.table,
) -> None:
    """List the tasks: spans, data sets, licences and, with --counts, how much data they have."""
    with options_refused():
        table = task_list(cache_folder() / "downloads", names or (), counts)
    if shape is Shape.json:
        typer.echo(as_json(objects(table)), nl=False)
    elif shape is Shape.csv:
        typer.echo(as_csv(table), nl=False)
    else:
        # Title and licence are long and do not matter for the counts.
        typer.echo(text_table(table.drop(columns=["title", "asks", "licence"]) if counts else table), nl=False)
