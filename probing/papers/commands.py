"""``probing reproduce``: from a family's name to the tables of a paper, in one resumable command."""

import typer

from probing.kernel.commands import command
from probing.kernel.options import option_fields
from probing.papers.requests import ReproduceRequest


@command(ReproduceRequest)
def reproduce(request: ReproduceRequest, context: typer.Context) -> None:
    """Fetch, train missing models, probe, write the tables of a paper; resumable, skips finished steps."""
    sources = {field.name: context.get_parameter_source(field.name) for field in option_fields(ReproduceRequest)}
    request.refuse_of_others([name for name, source in sources.items() if getattr(source, "name", "") == "COMMANDLINE"])
    from probing.papers.reproduce import reproduce as run

    run(request, typer.echo)
