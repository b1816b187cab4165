"""``probing sentences make``: our own tasks, made by rule."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Made(StrEnum):
    """Tasks that are made by rule."""

    odd_man_out = "odd-man-out"


def make(
    task: Annotated[Made, typer.Argument(help="The task.")],
    out: Annotated[Path, typer.Option(help="The TSV file to write, with the columns sentence and label.")],
    source: Annotated[
        Path | None, typer.Option("--from", help="Folder of the treebank; none: the fetched ud-english-ewt.")
    ] = None,
) -> None:
    """Write a task that is made by rule as TSV: odd-man-out, from UD English EWT.

    Half of the sentences have one noun or verb replaced by another of the same form and frequency. `sentences train
    --tasks odd-man-out` makes the same task itself.
    """
    from probing.sentences.analyse_make import write_odd_man_out

    write_odd_man_out(source, out, typer.echo)
