"""``probing train-heads``: a decoding head for every layer."""

from pathlib import Path
from typing import Annotated

import typer

from probing.commands.options import (
    AddressOption,
    SlurmOption,
    ThreadsOption,
    WhoOption,
    WorkersOption,
    chosen,
    options_refused,
)
from probing.core.head_kinds import STORED, listed
from probing.workflows.executors import Who


def train_heads(
    model: Annotated[str, typer.Option(help="Registry name, hub id or folder.")],
    head: Annotated[str, typer.Option(help=f"{listed(STORED)}.")] = "tied",
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
    start: Annotated[
        str | None, typer.Option(help="pretrained, least-squares or random; none: pretrained, of tuned_lens least-squares.")
    ] = None,
    steps: Annotated[int, typer.Option(help="Steps of the training; 0 goes by epochs.", min=0)] = 0,
    validate_every: Annotated[int, typer.Option(help="Steps from one validation to the next; 0: after every epoch.", min=0)] = 0,
    patience: Annotated[
        int, typer.Option(help="End after so many validations in a row without a fall of the loss; 0 takes all steps.", min=0)
    ] = 0,
    tolerance: Annotated[float, typer.Option(help="Nats by which the loss must be below its lowest to have fallen.", min=0.0)] = 0.0,
    half: Annotated[bool, typer.Option("--half", help="Store weights in float16.")] = False,
    precision: Annotated[str, typer.Option(help="float32 or bfloat16, of the products with the vocabulary matrix.")] = "float32",
    states_budget: Annotated[
        float,
        typer.Option(help="Gigabytes of disk for hidden states (all of WikiText-2, BERT-base: 15.6); less: more passes.", min=0.0, max=1e9),
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
    from probing.workflows import heads as workflow

    request = workflow.HeadsRequest(
        model=model,
        head=head,
        text=text,
        valid=valid,
        out=out,
        base=base,
        name=name,
        positions=positions,
        epochs=epochs,
        batch=batch,
        blocks=blocks,
        blocks_a_step=blocks_a_step,
        rate=rate,
        seed=seed,
        start=start,
        steps=steps,
        validate_every=validate_every,
        patience=patience,
        tolerance=tolerance,
        half=half,
        precision=precision,
        states_budget=states_budget,
        states_dtype=states_dtype,
        device=device,
        threads=threads,
        executor=chosen(who, workers, address, slurm),
        layers_a_shard=layers_a_shard,
    )
    with options_refused():
        workflow.train_heads(request, typer.echo)
