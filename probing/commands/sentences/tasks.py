"""``probing sentences tasks``: what sentence-level probing can ask, and the data that it needs."""

from enum import StrEnum
from typing import Annotated

import typer

from probing.commands.options import options_refused
from probing.core.paths import cache_folder
from probing.core.sentences.example import OURS, PROTOCOLS
from probing.reports.table_text import as_json, objects, text_table
from probing.workflows.sentences.task_list import task_list


class Shape(StrEnum):
    """How it is written."""

    table = "table"
    csv = "csv"
    json = "json"


def tasks(
    names: Annotated[list[str] | None, typer.Argument(help="Tasks, or TSV, CSV or JSONL files; none: all built-in tasks.")] = None,
    counts: Annotated[bool, typer.Option("--counts", help="Read the data that are fetched, and count what is used and left out.")] = False,
    protocol: Annotated[str, typer.Option(help=f"{', '.join(PROTOCOLS)}: how sentences become parts.")] = OURS,
    shape: Annotated[Shape, typer.Option("--as", help="table, csv or json.")] = Shape.table,
) -> None:
    """List the tasks: what they ask, data sets, licences and, with --counts, how much data they have and what was left out."""
    with options_refused():
        table = task_list(cache_folder() / "downloads", names or (), counts, protocol)
    if shape is Shape.json:
        typer.echo(as_json(objects(table)), nl=False)
    elif shape is Shape.csv:
        typer.echo(table.to_csv(index=False), nl=False)
    else:
        # What is long says nothing of the counts.
        typer.echo(text_table(table.drop(columns=["title", "level", "asks", "data_set", "licence"]) if counts else table), nl=False)
