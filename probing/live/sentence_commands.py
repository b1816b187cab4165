"""``probing sentences ask``: attention and every probe's prediction for one sentence, or two."""

from typing import TYPE_CHECKING, Annotated

import typer

from probing.kernel.commands import Shape, command
from probing.kernel.report import as_csv, as_json, objects, text_table
from probing.sentences.requests import SentenceAskRequest

if TYPE_CHECKING:
    import pandas as pd


@command(SentenceAskRequest)
def ask(
    request: SentenceAskRequest, shape: Annotated[Shape, typer.Option("--as", help="table, csv or json.")] = Shape.table
) -> None:
    """Analyse one sentence: entropy, shares and distance of attention by layer, repeated words, and every probe's
    prediction.
    """
    from probing.live.analyse import ask_live, attention_rows, verdict_rows

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
