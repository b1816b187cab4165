"""``probing score``: compute a fine-tuned model's task scores again."""

import typer

from probing.finetuning.requests_score import ScoreRequest
from probing.kernel.commands import command


@command(ScoreRequest)
def score(request: ScoreRequest) -> None:
    """Compute the task scores of a fine-tuned model again, from its weights, its task's head and the test data."""
    from probing.finetuning import finetune_score

    finetune_score.score(request, typer.echo)
