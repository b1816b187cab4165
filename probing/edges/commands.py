"""``probing edges``: lists the tasks, traces a sentence through every layer's probes, and trains probes."""

from typing import TYPE_CHECKING, Annotated

import typer

from probing.edges.report_panels import label_rows
from probing.edges.requests import EdgesRequest, TraceRequest
from probing.edges.task_list import task_list
from probing.kernel.commands import Shape, command, echo_table, options_refused
from probing.kernel.files import cache_folder
from probing.kernel.report import as_csv, as_json

if TYPE_CHECKING:
    from probing.edges.trace import SentenceTraces


def tasks(
    names: Annotated[
        list[str] | None, typer.Argument(help="Tasks, or folders in jiant's format; none: all built-in tasks.")
    ] = None,
    counts: Annotated[bool, typer.Option("--counts", help="Also count each part of the fetched data.")] = False,
    shape: Annotated[Shape, typer.Option("--as", help="table, csv or json.")] = Shape.table,
) -> None:
    """List the tasks: spans, data sets, licences and, with --counts, how much data they have."""
    with options_refused():
        table = task_list(cache_folder() / "downloads", names or (), counts)
    if counts and shape is Shape.table:
        # Title and licence are long and do not matter for the counts.
        table = table.drop(columns=["title", "asks", "licence"])
    echo_table(table, shape)


@command(TraceRequest)
def trace(
    request: TraceRequest,
    top: Annotated[int, typer.Option(help="Labels per layer in the table.", min=1)] = 3,
    shape: Annotated[
        Shape, typer.Option("--as", help="table, csv or json; the last two have every label.")
    ] = Shape.table,
) -> None:
    """Apply the probes of every layer to one span of a sentence, or to a pair of spans."""
    from probing.edges.trace import trace_sentence

    sentence = trace_sentence(request)
    if shape is Shape.json:
        typer.echo(_as_json(sentence), nl=False)
    elif shape is Shape.csv:
        typer.echo(as_csv(label_rows(sentence.model, sentence.traces)), nl=False)
    else:
        typer.echo(_as_text(sentence, top))


def _as_text(sentence: "SentenceTraces", top: int) -> str:
    lines = [" ".join(sentence.words), sentence.model]
    for trace in sentence.traces:
        where = f"from layer {trace.settled} on" if trace.settled else "at every layer"
        spans = " and ".join(f"'{sentence.text(span)}' ({span[0]}:{span[1]})" for span in trace.spans)
        answer = ", ".join(trace.answer) or "no label"
        lines += ["", f"{trace.title} of {spans}: {answer} {where}; F1 on dev {100 * trace.f1[-1]:.1f} %"]
        # Labels that do not exclude each other have no shares.
        values = trace.p if trace.several else trace.shares
        for layer, row in enumerate(values):
            labels = "  ".join(f"{trace.labels[number]} {100 * row[number]:.1f}%" for number in trace.best(layer, top))
            lines.append(f"{'embeddings' if layer == 0 else f'layer {layer}':>10}  {labels}")
    return "\n".join(lines if sentence.traces else [*lines, "no task that has probes fits these spans"])


def _as_json(sentence: "SentenceTraces") -> str:
    traces = [
        {
            "task": trace.task,
            "title": trace.title,
            "span1": list(trace.spans[0]),
            "span2": list(trace.spans[1]) if len(trace.spans) > 1 else None,
            "answer": list(trace.answer),
            "settled": trace.settled,
            "f1": list(trace.f1),
            "layers": [
                {
                    "layer": layer,
                    "given": list(trace.given(layer)),
                    "labels": [
                        {"label": label, "p": float(p), "share": float(share)}
                        for label, p, share in zip(trace.labels, trace.p[layer], trace.shares[layer], strict=True)
                    ],
                }
                for layer in range(len(trace.p))
            ],
        }
        for trace in sentence.traces
    ]
    return as_json({"model": sentence.model, "words": list(sentence.words), "traces": traces})


@command(EdgesRequest)
def train(request: EdgesRequest) -> None:
    """Train probes of every layer for edge probing tasks and store their predictions; resumable, does nothing the
    second time.

    A task needs its data set: see `fetch`. Without options, cumulative probes P(0)..P(L) with one seed.
    """
    from probing.edges.train import train_edges

    train_edges(request, typer.echo)
