"""``probing finetune``: fine-tune an encoder on one of the paper's objectives."""

import typer

from probing.commands.options import command
from probing.workflows.requests.finetune import FinetuneRequest


@command(FinetuneRequest)
def finetune(request: FinetuneRequest) -> None:
    """Fine-tune an encoder and score it on its task next to its baselines; resumable, the task's head is stored
    apart.
    """
    from probing.workflows import finetune as workflow

    workflow.finetune(request, typer.echo)
