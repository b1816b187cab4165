"""``probing finetune``, an encoder on one of the paper's objectives; ``probing score``, its task scores again."""

import typer

from probing.finetuning.requests import FinetuneRequest, ScoreRequest
from probing.kernel.commands import command


@command(FinetuneRequest)
def finetune(request: FinetuneRequest) -> None:
    """Fine-tune an encoder and score it on its task next to its baselines; resumable, the task's head is stored
    apart.
    """
    from probing.finetuning.finetune import finetune as workflow

    workflow(request, typer.echo)


@command(ScoreRequest)
def score(request: ScoreRequest) -> None:
    """Compute the task scores of a fine-tuned model again, from its weights, its task's head and the test data."""
    from probing.finetuning.finetune import score as workflow

    workflow(request, typer.echo)
