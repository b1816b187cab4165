"""``probing train-heads``: a decoding head for every layer."""

from pathlib import Path
from typing import Annotated

import typer

from probing.core.places import cache_folder


def train_heads(
    model: Annotated[str, typer.Option(help="Registry name, hub id or folder.")],
    head: Annotated[str, typer.Option(help="full or tied.")] = "tied",
    text: Annotated[Path | None, typer.Option(help="Training text in WikiText's form; none takes the fetched WikiText-2.")] = None,
    valid: Annotated[Path | None, typer.Option(help="Validation text; none takes the fetched WikiText-2.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the heads; none puts them where probe and ask look.")] = None,
    base: Annotated[str | None, typer.Option(help="Base model whose head a headless model takes.")] = None,
    positions: Annotated[int, typer.Option(help="Masked positions to learn from.", min=1)] = 30_000,
    epochs: Annotated[int, typer.Option(help="Passes over them.", min=1)] = 3,
    batch: Annotated[int, typer.Option(help="Positions a step.", min=1)] = 256,
    rate: Annotated[float, typer.Option(help="Peak learning rate.")] = 5e-4,
    seed: Annotated[int, typer.Option(help="Seed of the order; from 1 on a replicate, of the last layer only.", min=0)] = 0,
    start: Annotated[str, typer.Option(help="pre-trained or random.")] = "pre-trained",
    half: Annotated[bool, typer.Option("--half", help="Store weights in float16.")] = False,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
) -> None:
    """Train a head for every layer by masked language modelling; resumable, best checkpoint from step 0 on.

    Replicates measure what a union over re-trained heads of the last layer finds by chance, beside the union over layers.
    """
    from probing.commands.head_text import head_text
    from probing.models.catalogue import open_encoder, trained_heads_folder
    from probing.models.head_files import validation_losses
    from probing.models.head_training import HeadRecipe, text_sha256
    from probing.models.head_training import train_heads as train

    train_text, valid_text = head_text(text, valid)
    encoder = open_encoder(model, base, device)
    recipe = HeadRecipe(
        kind=head,
        text_sha256=text_sha256(train_text, valid_text),
        positions=positions,
        epochs=epochs,
        batch=batch,
        learning_rate=rate,
        seed=seed,
        start=start,
    )
    folder = out or trained_heads_folder(encoder, head, seed, cache_folder())
    import torch

    layers = range(encoder.layers + 1) if seed == 0 else [encoder.layers]
    dtype = torch.float16 if half else torch.float32
    train(encoder, train_text, valid_text, recipe, folder, cache_folder() / "head-states", dtype, layers)
    typer.echo(f"{head} heads of {encoder.name} in {folder}; validation loss in nats:")
    for row in validation_losses(folder, layers):
        typer.echo(f"  layer {row['layer']:2}: {row['start']:.3f} at the start, {row['best']:.3f} at step {row['best_step']}")
