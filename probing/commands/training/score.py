"""``probing score``: compute a fine-tuned model's task scores again."""

import typer

from probing.commands.options import command
from probing.workflows.requests.score import ScoreRequest


@command(ScoreRequest)
def score(request: ScoreRequest) -> None:
    """Compute the task scores of a fine-tuned model again, from its weights, its task's head and the test data."""
    from probing.workflows import score as workflow

    workflow.score(request, typer.echo)
