"""``probing changes report``: the effects of fine-tuning, as a table, CSV, LaTeX or JSON."""

from pathlib import Path
from typing import Annotated

import typer

from probing.commands.options import Shape, form_of, options_refused, printed_or_written
from probing.core.paths import database_folder, result_folders
from probing.reports.changes.written import ChangeChoice, What, refuse_unknown, written
from probing.store.build import built_database


def report(
    what: Annotated[
        What,
        typer.Argument(
            help="values (attention and similarity of states, layer by layer), perplexity (with layers of the base put back) or epochs "
            "(perplexity while a model was fine-tuned)."
        ),
    ] = What.values,
    model: Annotated[
        list[str] | None, typer.Option(help="Model; repeatable. None: all, but only the lowest seed of models that differ by seed.")
    ] = None,
    measure: Annotated[list[str] | None, typer.Option(help="For values: measure; repeatable. None: all.")] = None,
    heads: Annotated[bool, typer.Option("--heads", help="For values: also those of single heads.")] = False,
    shape: Annotated[Shape, typer.Option("--as", help="table, csv, latex or json.")] = Shape.table,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --as json: unrounded.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write to this file instead of the terminal.")] = None,
) -> None:
    """Report the effects of fine-tuning: attention, similarity and perplexity; the same numbers as on the pages."""
    form = form_of(shape, as_json)
    with options_refused():
        choice = ChangeChoice(what, model or None, measure or None, heads)
    with built_database(result_folders(), database_folder()) as db:
        with options_refused():
            refuse_unknown(db, choice)
        text = written(db, choice, form)
    printed_or_written(text, out, str(out))
