"""``probing terms``: the definitions of quantities and terms."""

from typing import Annotated

import typer

from probing.kernel.errors import OptionError
from probing.terms import METRICS
from probing.terms_terms import TERMS


def terms(
    name: Annotated[str, typer.Argument(help="A name or a part of one. None: all.", show_default=False)] = "",
) -> None:
    """Print the definitions of all quantities and terms, or of those with a name, as Markdown."""
    parts = []
    for key, metric in METRICS.items():
        if name.lower() not in f"{key} {metric.label.lower()}":
            continue
        ends = ["no bound" if end is None else str(end) for end in (metric.low, metric.high)]
        span = "no bounds" if ends[0] == ends[1] else " to ".join(ends)
        module, function = metric.computed_in.rsplit(".", 1)
        parts.append(
            f"## {metric.label}\n\n{metric.definition}\n\n- Unit: {metric.unit}; range: {span}; better:"
            f" {metric.better}\n- Ties: {metric.ties}\n- Empty case: {metric.empty}\n- Source: {metric.source}\n-"
            f" Computed in: `{function}` in `probing/{module.replace('.', '/')}.py`\n"
        )
    if rows := [
        f"| {term.name} | {term.meaning} | {term.source} |" for term in TERMS if name.lower() in term.name.lower()
    ]:
        parts.append("\n".join(["## Terms\n", "| term | meaning | source |", "|---|---|---|", *rows]))
    if not parts:
        raise OptionError(
            f"got {name!r}; expected a part of the name of a quantity or term; `python -m probing terms` prints all"
        )
    typer.echo("\n".join(parts).rstrip())
