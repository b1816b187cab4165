"""``probing space``: what takes space on this machine."""

import json
from typing import Annotated

import typer

from probing.core.own_model.model_check import in_bytes


def space(as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with bytes.")] = False) -> None:
    """List the models, runs and probe sets on this machine with the space that each takes.

    What ships with the project is not listed. `delete` deletes any of them.
    """
    from probing.store.space.inventory import WHAT, kept

    found = kept()
    if as_json:
        typer.echo(
            json.dumps([{"what": one.what, "name": one.name, "said": one.said, "bytes": one.size} for one in found])
        )
        return
    for what in WHAT:
        of_kind = [one for one in found if one.what == what]
        typer.echo(f"{what}: {len(of_kind):,}, {in_bytes(sum(one.size for one in of_kind))}")
        for one in of_kind:
            typer.echo(f"  {in_bytes(one.size):>9}  {one.name}  {one.said}")
