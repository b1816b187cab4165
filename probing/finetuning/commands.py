"""``probing finetune``: fine-tune an encoder on one of the paper's objectives."""

import typer

from probing.finetuning.requests import FinetuneRequest
from probing.kernel.commands import command


@command(FinetuneRequest)
def finetune(request: FinetuneRequest) -> None:
    """Fine-tune an encoder and score it on its task next to its baselines; resumable, the task's head is stored
    apart.
    """
    from probing.finetuning import finetune as workflow

    workflow.finetune(request, typer.echo)
