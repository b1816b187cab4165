"""``probing train-heads``: a decoding head for every layer."""

from pathlib import Path
from typing import Annotated

import typer

from probing.commands.executors import (
    AddressOption,
    SlurmOption,
    ThreadsOption,
    Who,
    WhoOption,
    WorkersOption,
    executor,
    passed_on,
    same_path,
    set_threads,
)
from probing.core.paths import cache_folder
from probing.jobs.coordinator import run_job
from probing.jobs.lock import claimed
from probing.workflows.head_work import HeadWork, head_job


def train_heads(
    model: Annotated[str, typer.Option(help="Registry name, hub id or folder.")],
    head: Annotated[str, typer.Option(help="full or tied.")] = "tied",
    text: Annotated[Path | None, typer.Option(help="Training text in WikiText's form; none takes the fetched WikiText-2.")] = None,
    valid: Annotated[Path | None, typer.Option(help="Validation text; none takes the fetched WikiText-2.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the heads; none puts them where probe and ask look.")] = None,
    base: Annotated[str | None, typer.Option(help="Base model whose head a headless model takes.")] = None,
    name: Annotated[str | None, typer.Option(help="How the heads call the model; none: its registry name or its folder's.")] = None,
    positions: Annotated[int, typer.Option(help="Masked positions to learn from; 0 takes the whole text.", min=0)] = 30_000,
    epochs: Annotated[int, typer.Option(help="Passes over them.", min=1)] = 3,
    batch: Annotated[int, typer.Option(help="Positions a step, where the text is read in sentences.", min=1)] = 256,
    blocks: Annotated[int, typer.Option(help="Read the text in contiguous blocks of so many pieces; 0 reads sentences.", min=0)] = 0,
    blocks_a_step: Annotated[int, typer.Option(help="Blocks whose masked positions make one step.", min=1)] = 8,
    rate: Annotated[float, typer.Option(help="Peak learning rate.")] = 5e-4,
    seed: Annotated[int, typer.Option(help="Seed of the order; from 1 on a replicate, of the last layer only.", min=0)] = 0,
    start: Annotated[str, typer.Option(help="pre-trained or random.")] = "pre-trained",
    half: Annotated[bool, typer.Option("--half", help="Store weights in float16.")] = False,
    precision: Annotated[str, typer.Option(help="float32 or bfloat16, of the products with the vocabulary matrix.")] = "float32",
    states_budget: Annotated[
        float,
        typer.Option(help="Gigabytes of disk for hidden states (all of WikiText-2, BERT-base: 15.6); less means more passes.", min=0.0),
    ] = 20.0,
    states_dtype: Annotated[str, typer.Option(help="float32, or float16 for half the disk.")] = "float32",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    who: WhoOption = Who.local,
    workers: WorkersOption = None,
    address: AddressOption = None,
    slurm: SlurmOption = None,
    threads: ThreadsOption = None,
    layers_a_shard: Annotated[int, typer.Option(help="Layers that one worker trains one after the other.", min=1)] = 1,
) -> None:
    """Train a head for every layer by masked language modelling; resumable, best checkpoint from step 0 on.

    Replicates measure what a union over re-trained heads of the last layer finds by chance, beside the union over layers.
    """
    from probing.models.encoders.catalogue import open_encoder
    from probing.models.heads.files import trained_heads_folder, validation_losses
    from probing.models.heads.recipe import HeadRecipe, text_sha256
    from probing.workflows.head_text import head_text

    used = set_threads(threads)
    train_text, valid_text = head_text(text, valid)
    encoder = open_encoder(model, base, device, name=name)
    recipe = HeadRecipe(
        kind=head,
        text_sha256=text_sha256(train_text, valid_text),
        positions=positions,
        epochs=epochs,
        batch=batch,
        learning_rate=rate,
        seed=seed,
        start=start,
        pieces_a_block=blocks,
        blocks_a_step=blocks_a_step,
        precision=precision,
        states_dtype=states_dtype,
    )
    recipe.check()
    folder = out or trained_heads_folder(encoder, head, seed, cache_folder())
    layers = range(encoder.layers + 1) if seed == 0 else range(encoder.layers, encoder.layers + 1)
    opened = HeadWork(encoder, train_text, valid_text, recipe, folder, half, int(states_budget * 1e9))
    workers_of = executor(who, used, encoder.device.type, workers, address, slurm)
    job = head_job(opened, layers, layers_a_shard, same_path(model), base and same_path(base), (text, valid), passed_on())
    with claimed(job.folder, typer.echo):
        outcome = run_job(job, workers_of)
    if who != Who.local:
        typer.echo(outcome.told())
    typer.echo(f"{head} heads of {encoder.name} in {folder}; validation loss in nats:")
    for row in validation_losses(folder, layers):
        typer.echo(f"  layer {row['layer']:2}: {row['start']:.3f} at the start, {row['best']:.3f} at step {row['best_step']}")
