"""``probing series follow``: when are facts forgotten?"""

import typer

from probing.forgetting.requests import FollowRequest
from probing.kernel.commands import command


@command(FollowRequest)
def follow(request: FollowRequest) -> None:
    """Ask every state of a training for the same facts, and store when each was forgotten; resumable, does nothing the
    second time.

    `series report` reports what is stored.
    """
    from probing.forgetting.follow import follow as workflow

    workflow(request, typer.echo)
