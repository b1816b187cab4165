"""``probing sentences``: lists and makes tasks, and trains probes. ``live.sentence_commands`` asks them."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from probing.kernel.commands import Shape, command, echo_table, options_refused
from probing.kernel.files import cache_folder
from probing.sentences.examples import OURS, PROTOCOLS
from probing.sentences.requests import SentencesRequest
from probing.sentences.task_list import task_list, write_odd_man_out


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
    write_odd_man_out(source, out, typer.echo)


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
    if counts and shape is Shape.table:
        # Long columns do not matter for the counts.
        table = table.drop(columns=["title", "level", "asks", "data_set", "licence"])
    echo_table(table, shape)


@command(SentencesRequest)
def train(request: SentencesRequest) -> None:
    """Train probes of every layer for whole sentences, also for a fine-tuned model's base; resumable, does nothing the
    second time.

    A task needs its data set: see `fetch`. A fine-tuned model is read by its own probes and by its base's:
    unchanged, on its own scale, and on top of a linear map without labels.
    """
    from probing.sentences.train import train_sentences

    train_sentences(request, typer.echo)
