"""``probing series prevent``: which recipes prevent forgetting, and what do they cost on the task?"""

import typer

from probing.commands.options import command
from probing.workflows.requests.forgetting_series import PreventRequest


@command(PreventRequest)
def prevent(request: PreventRequest) -> None:
    """Fine-tune a base in several recipes against forgetting, and store what each scores and keeps; resumable, keeps no
    weights.

    `series report prevention` reports what is stored.
    """
    from probing.workflows.forgetting.prevent import prevent as workflow

    workflow(request, typer.echo)
