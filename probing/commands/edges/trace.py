"""``probing edges trace``: the predictions of every layer's probes for the words of one sentence."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from probing.commands.options import command
from probing.reports.edges.span_answers import label_rows
from probing.reports.table_text import as_csv, as_json
from probing.workflows.requests.edges import TraceRequest

if TYPE_CHECKING:
    from probing.workflows.edges.trace import SentenceTraces


class Shape(StrEnum):
    """Output formats."""

    table = "table"
    csv = "csv"
    json = "json"


@command(TraceRequest)
def trace(
    request: TraceRequest,
    top: Annotated[int, typer.Option(help="Labels per layer in the table.", min=1)] = 3,
    shape: Annotated[
        Shape, typer.Option("--as", help="table, csv or json; the last two have every label.")
    ] = Shape.table,
) -> None:
    """Apply the probes of every layer to one span of a sentence, or to a pair of spans."""
    from probing.workflows.edges.trace import trace_sentence

    found = trace_sentence(request)
    if shape is Shape.json:
        typer.echo(_as_json(found), nl=False)
    elif shape is Shape.csv:
        typer.echo(as_csv(label_rows(found.model, found.traces)), nl=False)
    else:
        typer.echo(_as_text(found, top))


def _as_text(found: "SentenceTraces", top: int) -> str:
    lines = [" ".join(found.words), found.model]
    for one in found.traces:
        where = f"from layer {one.settled} on" if one.settled else "at every layer"
        spans = " and ".join(f"'{found.text(span)}' ({span[0]}:{span[1]})" for span in one.spans)
        answer = ", ".join(one.answer) or "no label"
        lines += ["", f"{one.title} of {spans}: {answer} {where}; F1 on dev {100 * one.f1[-1]:.1f} %"]
        # Labels that do not exclude each other have no shares.
        values = one.p if one.several else one.shares
        for layer, row in enumerate(values):
            labels = "  ".join(f"{one.labels[number]} {100 * row[number]:.1f}%" for number in one.best(layer, top))
            lines.append(f"{'embeddings' if layer == 0 else f'layer {layer}':>10}  {labels}")
    return "\n".join(lines if found.traces else [*lines, "no task that has probes fits these spans"])


def _as_json(found: "SentenceTraces") -> str:
    traces = [
        {
            "task": one.task,
            "title": one.title,
            "span1": list(one.spans[0]),
            "span2": list(one.spans[1]) if len(one.spans) > 1 else None,
            "answer": list(one.answer),
            "settled": one.settled,
            "f1": list(one.f1),
            "layers": [
                {
                    "layer": layer,
                    "given": list(one.given(layer)),
                    "labels": [
                        {"label": label, "p": float(p), "share": float(share)}
                        for label, p, share in zip(one.labels, one.p[layer], one.shares[layer], strict=True)
                    ],
                }
                for layer in range(len(one.p))
            ],
        }
        for one in found.traces
    ]
    return as_json({"model": found.model, "words": list(found.words), "traces": traces})
