"""``probing series prevent``: which recipes prevent forgetting, and what do they cost on the task?"""

import typer

from probing.forgetting.requests import PreventRequest
from probing.kernel.commands import command


@command(PreventRequest)
def prevent(request: PreventRequest) -> None:
    """Fine-tune a base in several recipes against forgetting, and store what each scores and keeps; resumable, keeps no
    weights.

    `series report prevention` reports what is stored.
    """
    from probing.forgetting.prevent import prevent as workflow

    workflow(request, typer.echo)
