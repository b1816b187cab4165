"""``probing finetune``: fine-tune an encoder on one of the paper's objectives."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from probing.commands.options import RevisionOption
from probing.core.tasks.objectives import POOLINGS, TASKS

Pooling = StrEnum("Pooling", {name: name for name in POOLINGS})  # type: ignore[misc]
Objective = StrEnum("Objective", {slug.replace("-", "_"): slug for slug in TASKS})  # type: ignore[misc]


def finetune(
    model: Annotated[str, typer.Option(help="Base encoder: registry name, hub id or folder.")],
    objective: Annotated[Objective, typer.Option(help="Objective of the fine-tuning.")],
    data: Annotated[Path | None, typer.Option(help="Folder of the data set (control: a text file); none: the fetched one.")] = None,
    lama: Annotated[Path | None, typer.Option(help="For the control of nesia-mini: LAMA folder of nesia-mini's training text.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the finished model; none: cache/models/MODEL-OBJECTIVE.")] = None,
    steps: Annotated[int | None, typer.Option(help="Training steps; none: the objective's own epochs.", min=1)] = None,
    tokens: Annotated[int | None, typer.Option(help="Padded tokens per step instead of rows per step.", min=1)] = None,
    batch: Annotated[int | None, typer.Option(help="Rows per step.", min=1)] = None,
    rate: Annotated[float | None, typer.Option(help="Peak learning rate.")] = None,
    pieces: Annotated[int | None, typer.Option(help="Longest input in word pieces.", min=16)] = None,
    freeze: Annotated[bool, typer.Option("--freeze-embeddings", help="Leave the word embeddings unchanged.")] = False,
    difference: Annotated[bool, typer.Option("--difference", help="Store the difference from the base.")] = False,
    bits: Annotated[int | None, typer.Option(help="Bits per weight of --difference: 8 or 4; none: 8.")] = None,
    pooling: Annotated[Pooling | None, typer.Option(help="For cola, sst-2, rte: input of the head; none: the first token.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of order, masks and the task's head.")] = 1,
    perplexity_text: Annotated[
        Path | None,
        typer.Option(help="Text whose perplexity is measured after each pass; none: WikiText-2's raw test text, if fetched."),
    ] = None,
    revision: RevisionOption = None,
    device: Annotated[str, typer.Option(help="auto or cpu.")] = "auto",
) -> None:
    """Fine-tune an encoder and score it on its task next to its baselines; resumable, the task's head is dropped at the end."""
    if device not in ("auto", "cpu"):
        raise typer.BadParameter(f"got device {device}; expected auto or cpu")
    if bits not in (None, 4, 8) or (bits and not difference):
        raise typer.BadParameter(f"got --bits {bits}{'' if difference else ' without --difference'}; expected --difference --bits 8 or 4")
    from probing.workflows import finetune as workflow

    length = workflow.TrainingLength(steps, tokens, batch, rate, pieces)
    request = workflow.FinetuneRequest(
        model, objective.value, data, lama, out, length, freeze, difference, seed, device, pooling and pooling.value, bits or 8,
        perplexity_text, revision,
    )  # fmt: skip
    workflow.finetune(request, typer.echo)
