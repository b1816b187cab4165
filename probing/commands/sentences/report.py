"""``probing sentences report``: the numbers on the pages about sentence-level probing as a table, CSV, LaTeX or JSON."""

from pathlib import Path
from typing import Annotated

import typer

from probing.commands.options import Shape, form_of, options_refused, printed_or_written
from probing.core.paths import database_folder, result_folders
from probing.core.sentences.example import OURS, POOLINGS, PROTOCOLS, READINGS
from probing.reports.sentences.written import SentenceChoice, What, refuse_unknown, written
from probing.store.build import built_database


def report(
    what: Annotated[
        What,
        typer.Argument(
            help="accuracy (every probe), changes (fine-tuned models against their base), groups (mean change of lower and upper layers), "
            "where-gone (fates of the properties in the base's layers) or curve (with fewer training sentences)."
        ),
    ] = What.accuracy,
    model: Annotated[
        list[str] | None, typer.Option(help="Model; repeatable. None: all, but only the lowest seed of models that differ by seed.")
    ] = None,
    task: Annotated[list[str] | None, typer.Option(help="Task; repeatable. None: all.")] = None,
    pooling: Annotated[list[str] | None, typer.Option(help=f"{', '.join(POOLINGS)}; repeatable. None: both.")] = None,
    reading: Annotated[list[str] | None, typer.Option(help=f"For accuracy: {', '.join(READINGS)}; repeatable. None: own.")] = None,
    protocol: Annotated[str, typer.Option(help=", ".join(PROTOCOLS))] = OURS,
    shape: Annotated[Shape, typer.Option("--as", help="table, csv, latex or json.")] = Shape.table,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --as json: unrounded, accuracies in [0, 1].")] = False,
    out: Annotated[Path | None, typer.Option(help="Write to this file instead of the terminal.")] = None,
) -> None:
    """Report stored probes of whole sentences: accuracy, changes, fates of properties; the same numbers as on the pages."""
    form = form_of(shape, as_json)
    with options_refused():
        choice = SentenceChoice(what, model or None, task or None, pooling or None, reading or None, protocol)
    with built_database(result_folders(), database_folder()) as db:
        with options_refused():
            refuse_unknown(db, choice)
        text = written(db, choice, form)
    printed_or_written(text, out, str(out))
