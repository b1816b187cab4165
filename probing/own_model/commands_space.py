"""``probing space``: what takes space on this machine."""

import json
from typing import Annotated

import typer

from probing.own_model.check import in_bytes


def space(as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with bytes.")] = False) -> None:
    """List the models, runs and probe sets on this machine with the space that each takes.

    What ships with the project is not listed. `delete` deletes any of them.
    """
    from probing.own_model.space import WHAT, list_entries

    items = list_entries()
    if as_json:
        typer.echo(
            json.dumps(
                [{"what": item.what, "name": item.name, "said": item.said, "bytes": item.size} for item in items]
            )
        )
        return
    for what in WHAT:
        of_kind = [item for item in items if item.what == what]
        typer.echo(f"{what}: {len(of_kind):,}, {in_bytes(sum(item.size for item in of_kind))}")
        for item in of_kind:
            typer.echo(f"  {in_bytes(item.size):>9}  {item.name}  {item.said}")
