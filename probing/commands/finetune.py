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
    dropout: Annotated[
        float | None, typer.Option(help="Dropout everywhere in the model; none: the objective's or the base's.", min=0, max=0.9)
    ] = None,
    looks: Annotated[
        int | None, typer.Option(help="Score the model this often on a development part and keep the best state.", min=1)
    ] = None,
    patience: Annotated[int | None, typer.Option(help="End the training after this many looks without a better score.", min=1)] = None,
    rates: Annotated[str, typer.Option(help="Learning rates, such as 1e-4,2e-4: the best after a third of --steps, by --looks.")] = "",
    shuffle_labels: Annotated[bool, typer.Option("--shuffle-labels", help="Train on shuffled labels: the control of the task.")] = False,
    checkpoints: Annotated[int, typer.Option(help="Keep this many states of the training in cache/checkpoints.", min=0)] = 0,
    revision: RevisionOption = None,
    device: Annotated[str, typer.Option(help="auto or cpu.")] = "auto",
) -> None:
    """Fine-tune an encoder and score it on its task next to its baselines; resumable, the task's head is stored apart."""
    if device not in ("auto", "cpu"):
        raise typer.BadParameter(f"got device {device}; expected auto or cpu")
    if bits not in (None, 4, 8) or (bits and not difference):
        raise typer.BadParameter(f"got --bits {bits}{'' if difference else ' without --difference'}; expected --difference --bits 8 or 4")
    try:
        tried = tuple(float(rate) for rate in rates.split(",") if rate.strip())
    except ValueError as error:
        raise typer.BadParameter(f"got --rates {rates}; expected numbers such as 1e-4,2e-4,5e-4") from error
    if any(not 0 < rate < 1 for rate in tried) or (tried and rate):
        raise typer.BadParameter(f"got --rates {rates}{' and --rate' if rate else ''}; expected numbers between 0 and 1, without --rate")
    if tried and not (steps and looks):
        raise typer.BadParameter(
            "got --rates without --steps and --looks; a rate is chosen by the development score after a third of the steps"
        )
    from probing.workflows import finetune as workflow

    length = workflow.TrainingLength(steps, tokens, batch, rate, pieces, dropout, looks, patience)
    request = workflow.FinetuneRequest(
        model, objective.value, data, lama, out, length, freeze, difference, seed, device, pooling and pooling.value, bits or 8,
        perplexity_text, revision, tried, shuffle_labels, checkpoints,
    )  # fmt: skip
    workflow.finetune(request, typer.echo)
