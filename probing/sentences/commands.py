"""``probing sentences``: lists and makes tasks, trains probes, and asks them of one sentence or two."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from probing.kernel.commands import Shape, command, echo_table, options_refused
from probing.kernel.files import cache_folder
from probing.kernel.report import as_csv, as_json, objects, text_table
from probing.sentences.examples import OURS, PROTOCOLS
from probing.sentences.requests import SentenceAskRequest, SentencesRequest
from probing.sentences.task_list import task_list, write_odd_man_out

if TYPE_CHECKING:
    import pandas as pd


@command(SentenceAskRequest)
def ask(
    request: SentenceAskRequest, shape: Annotated[Shape, typer.Option("--as", help="table, csv or json.")] = Shape.table
) -> None:
    """Analyse one sentence: entropy, shares and distance of attention by layer, repeated words, and every probe's
    prediction.
    """
    from probing.sentences.analyse import ask_live, attention_rows, verdict_rows

    answer = ask_live(request, lambda line: typer.echo(line, err=True))
    parts = {
        "attention": attention_rows(answer),
        "verdicts": verdict_rows(answer),
        "same_word": answer.attention.similarities(),
    }
    typer.echo(
        _written(
            parts, shape, {"sentence": request.text, "pair": request.pair, "tokens": list(answer.attention.tokens)}
        ),
        nl=False,
    )


def _written(parts: "dict[str, pd.DataFrame]", shape: Shape, inputs: dict[str, object]) -> str:
    """The tables: one below the other, as one CSV with the table's name in ``part``, or as JSON."""
    import pandas as pd

    if shape is Shape.json:
        return as_json(inputs | {name: objects(table) for name, table in parts.items()})
    there = {name: table for name, table in parts.items() if len(table)}
    if shape is Shape.csv:
        columns = ["part", *dict.fromkeys(column for table in there.values() for column in table)]
        return as_csv(pd.concat([table.assign(part=name) for name, table in there.items()], ignore_index=True)[columns])
    return "\n".join(text_table(table) for table in there.values())


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
