"""``probing sentences tasks``: the tasks of sentence-level probing, and their data."""

from enum import StrEnum
from typing import Annotated

import typer

from probing.kernel.commands import options_refused
from probing.kernel.files import cache_folder
from probing.kernel.report import as_csv, as_json, objects, text_table
from probing.sentences.analyse_task_list import task_list
from probing.sentences.examples import OURS, PROTOCOLS


class Shape(StrEnum):
    """Output formats."""

    table = "table"
    csv = "csv"
    json = "json"


def tasks(
    names: Annotated[
        list[str] | None, typer.Argument(help="Tasks, or files of sentences; none: all built-in tasks.")
    ] = None,
    counts: Annotated[
        bool, typer.Option("--counts", help="Also count used and left-out sentences of the fetched data.")
    ] = False,
    protocol: Annotated[str, typer.Option(help=f"{', '.join(PROTOCOLS)}: how sentences are split into parts.")] = OURS,
    shape: Annotated[Shape, typer.Option("--as", help="table, csv or json.")] = Shape.table,
) -> None:
    """List the tasks: question, data sets, licences and, with --counts, how much data they have and what was left
    out.
    """
    with options_refused():
        table = task_list(cache_folder() / "downloads", names or (), counts, protocol)
    if shape is Shape.json:
        typer.echo(as_json(objects(table)), nl=False)
    elif shape is Shape.csv:
        typer.echo(as_csv(table), nl=False)
    else:
        # Long columns do not matter for the counts.
        typer.echo(
            text_table(table.drop(columns=["title", "level", "asks", "data_set", "licence"]) if counts else table),
            nl=False,
        )
