"""``probing delete``: free the space of a model, a run or a probe set."""

from enum import StrEnum
from typing import Annotated

import typer

from probing.own_model.check import in_bytes


class What(StrEnum):
    """What can be deleted."""

    run = "run"
    facts = "facts"
    model = "model"


def delete(
    what: Annotated[What, typer.Argument(help="run, facts (a probe set with all its runs) or model.")],
    name: Annotated[
        str, typer.Argument(help="As `space` lists it: id of the run, name of the probe set or of the model.")
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before it is deleted.")] = False,
) -> None:
    """Delete a run, a probe set with all its runs, or a model from this machine; asks first.

    The pages leave out deleted results at once. What ships with the project cannot be deleted.
    """
    from probing.own_model.space import Entry
    from probing.own_model.space import delete as workflow

    def sure(entry: Entry) -> bool:
        return yes or typer.confirm(f"delete the {entry.what} {entry.name} ({entry.said}, {in_bytes(entry.size)})?")

    done = workflow(what.value, name, sure)
    typer.echo(
        "nothing was deleted"
        if done is None
        else f"deleted the {done.what} {done.name}: {in_bytes(done.size)} are free"
    )
