"""``make bench``: each speed as a ratio against a named alternative in the same run."""

import json
import logging
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

from probing.kernel.errors import ProbingError

if TYPE_CHECKING:
    from tests.speed.measurement import Measurement

#: Parts in the order they run; each is a module of ``tests.speed`` with ``measure(quick) -> list[Measurement]``.
PARTS = ("heads", "probing", "candidates", "carried", "live", "edges", "clicks")


def bench(
    parts: Annotated[list[str] | None, typer.Argument(help=f"Any of {', '.join(PARTS)}; none means all.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list instead of a table.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small slices, to check that it runs; the ratios are not meaningful.")
    ] = False,
) -> None:
    """Measure our speed against named alternatives in the same run, at BERT-base size with random weights.

    Slices are measured and extrapolated; each row states this, and what was equal. Run it on a quiet machine.
    """
    unknown = [part for part in parts or () if part not in PARTS]
    if unknown:
        raise ProbingError(f"no benchmark {', '.join(unknown)}; expected any of {', '.join(PARTS)}")
    found: list[Measurement] = []
    for part in PARTS:
        if not parts or part in parts:
            measured = import_module(f"tests.speed.{part}").measure(quick=quick)
            found += measured
            if not as_json:
                typer.echo(table(measured))
    if as_json:
        typer.echo(json.dumps([asdict(row) for row in found], indent=1))


def table(rows: "Sequence[Measurement]") -> str:
    """The measurements in words, three lines each."""
    lines = []
    for row in rows:
        alternative = (
            "" if row.alternative_seconds is None else f"; {row.alternative}: {seconds(row.alternative_seconds)}"
        )
        ratio = "" if row.ratio is None else f"{row.ratio:.3g}"
        bound = (
            ""
            if row.bound is None
            else f" ({'at most' if row.at_most else 'at least'} {row.bound:g}: {'kept' if row.met() else 'MISSED'})"
        )
        lines.append(
            f"{row.name}: {ratio}{bound}\n  ours: {seconds(row.ours_seconds)}{alternative}\n  equal: {row.equal}"
        )
        if row.note:
            lines.append(f"  note: {row.note}")
    return "\n".join(lines)


def seconds(value: float) -> str:
    """A time in the unit that suits it."""
    if value < 1:
        return f"{value * 1000:.3g} ms"
    return f"{value:.3g} s" if value < 600 else f"{value / 3600:.3g} h"


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
app.command()(bench)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        app()
    except ProbingError as error:
        sys.exit(f"error: {error}")
