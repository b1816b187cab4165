"""``probing edges report``: the numbers of the pages on edge probing as a table, CSV, LaTeX or JSON."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from probing.commands.options import options_refused, printed_or_written
from probing.core.edges.encoders import KINDS
from probing.core.paths import database_folder, result_folders
from probing.reports.edges.summary import PARTS
from probing.reports.edges.written import EdgeChoice, What, refuse_unknown, written
from probing.reports.table_text import Form
from probing.store.build import built_database


class Shape(StrEnum):
    """How it is written."""

    table = "table"
    csv = "csv"
    latex = "latex"
    json = "json"


FORMS: dict[Shape, Form] = {Shape.table: "text", Shape.csv: "csv", Shape.latex: "latex", Shape.json: "json"}


def report(
    what: Annotated[
        What,
        typer.Argument(
            help="summary (a row a model, encoder, task and part), scores (every probe), labels (each label of a task), tasks or models "
            "(expected layers compared pair by pair)."
        ),
    ] = What.summary,
    model: Annotated[list[str] | None, typer.Option(help="Model; repeatable. None: all.")] = None,
    task: Annotated[list[str] | None, typer.Option(help="Task; repeatable. None: all.")] = None,
    part: Annotated[list[str] | None, typer.Option(help="dev or test; repeatable. None: both.")] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(help=f"{', '.join(KINDS)}; repeatable. None: all scores, and labels of cumulative probes. A summary is of these."),
    ] = None,
    unseen: Annotated[bool, typer.Option("--unseen", help="Count only targets whose span text does not occur in training.")] = False,
    shape: Annotated[Shape, typer.Option("--as", help="table, csv, latex or json.")] = Shape.table,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --as json: scores and summary, unrounded, F1 in [0, 1].")] = False,
    out: Annotated[Path | None, typer.Option(help="Write to this file instead of the terminal.")] = None,
) -> None:
    """Report stored probes: F1, expected layer, centre of gravity, order of tasks; the same numbers as on the pages."""
    if as_json and shape not in (Shape.table, Shape.json):
        raise typer.BadParameter(f"got --json and --as {shape.value}; give one of them")
    for name, wanted, known in (("--part", part, PARTS), ("--kind", kind, KINDS)):
        if unknown := sorted(set(wanted or ()) - set(known)):
            raise typer.BadParameter(f"got {name} {unknown[0]}; expected one of {', '.join(known)}")
    choice = EdgeChoice(what, model or None, task or None, part or None, kind or None, unseen)
    form = Shape.json if as_json else shape
    with built_database(result_folders(), database_folder()) as db:
        with options_refused():
            refuse_unknown(db, choice)
        text = written(db, choice, FORMS[form])
    printed_or_written(text, out, str(out))
