"""``probing edges report``: the numbers on the pages about edge probing as a table, CSV, LaTeX or JSON."""

from pathlib import Path
from typing import Annotated

import typer

from probing.commands.options import Shape, form_of, options_refused, printed_or_written
from probing.core.edges.encoders import KINDS
from probing.core.paths import database_folder, result_folders
from probing.reports.edges.written import EdgeChoice, What, refuse_unknown, written
from probing.store.build import built_database


def report(
    what: Annotated[
        What,
        typer.Argument(
            help="summary (per model, encoder, task and part), scores (every probe), labels (each label of a task), tasks or models "
            "(expected layers compared pair by pair)."
        ),
    ] = What.summary,
    model: Annotated[list[str] | None, typer.Option(help="Model; repeatable. None: all.")] = None,
    task: Annotated[list[str] | None, typer.Option(help="Task; repeatable. None: all.")] = None,
    part: Annotated[list[str] | None, typer.Option(help="dev or test; repeatable. None: both.")] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(help=f"{', '.join(KINDS)}; repeatable. None: all scores, and labels of cumulative probes, as in summaries."),
    ] = None,
    unseen: Annotated[bool, typer.Option("--unseen", help="Count only targets whose span text does not occur in training.")] = False,
    shape: Annotated[Shape, typer.Option("--as", help="table, csv, latex or json.")] = Shape.table,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --as json: scores and summary, unrounded, F1 in [0, 1].")] = False,
    out: Annotated[Path | None, typer.Option(help="Write to this file instead of the terminal.")] = None,
) -> None:
    """Report stored probes: F1, expected layer, centre of gravity, order of tasks; the same numbers as on the pages."""
    form = form_of(shape, as_json)
    with options_refused():
        choice = EdgeChoice(what, model or None, task or None, part or None, kind or None, unseen)
    with built_database(result_folders(), database_folder()) as db:
        with options_refused():
            refuse_unknown(db, choice)
        text = written(db, choice, form)
    printed_or_written(text, out, str(out))
