"""``probing train-heads``: a decoding head for every layer."""

from pathlib import Path
from typing import Annotated

import typer

from probing.commands.options import (
    AddressOption,
    RevisionOption,
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
    text: Annotated[Path | None, typer.Option(help="Training text in WikiText's form; none: the fetched WikiText-2.")] = None,
    valid: Annotated[Path | None, typer.Option(help="Validation text; none: the fetched WikiText-2.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the heads; none: where probe and ask look.")] = None,
    base: Annotated[str | None, typer.Option(help="Base model whose head a headless model uses.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the model in the heads; none: its registry name or its folder's.")] = None,
    revision: RevisionOption = None,
    positions: Annotated[int | None, typer.Option(help="Masked positions to learn from; 0: the whole text. Usual: 30,000.", min=0)] = None,
    epochs: Annotated[
        int | None, typer.Option(help="Passes over the positions. Usual: steps for tied and full from least-squares, else 3 epochs.", min=1)
    ] = None,
    batch: Annotated[int | None, typer.Option(help="Positions per step, if the text is read in sentences. Usual: 256.", min=1)] = None,
    blocks: Annotated[
        int | None, typer.Option(help="Read the text in contiguous blocks of so many pieces; 0 reads sentences. Usual: 0.", min=0)
    ] = None,
    blocks_per_step: Annotated[
        int | None, typer.Option("--blocks-per-step", "--blocks-a-step", help="Blocks whose positions make one step. Usual: 8.", min=1)
    ] = None,
    rate: Annotated[float | None, typer.Option(help="Peak learning rate. Usual: 0.0005.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the order; from 1 on a replicate, of the last layer only.", min=0)] = 0,
    start: Annotated[str | None, typer.Option(help="pretrained, least-squares or random. Usual: least-squares.")] = None,
    steps: Annotated[
        int | None,
        typer.Option(help="Steps of the training; 0: --epochs decides. Usual: 100 for tied and full from least-squares, else 0.", min=0),
    ] = None,
    start_positions: Annotated[
        int | None,
        typer.Option(help="Validation positions that choose between map and logit lens as the start; 0: all. Usual: 1,024.", min=0),
    ] = None,
    validate_every: Annotated[
        int | None, typer.Option(help="Steps from one validation to the next; 0: after every epoch. Usual: 0.", min=0)
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option(help="End after so many validations in a row without a lower loss; 0: all steps. Usual: 0.", min=0),
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option(help="Nats below its lowest value at which a loss counts as lower. Usual: 0.", min=0.0)
    ] = None,
    recipe_version: Annotated[
        int | None, typer.Option(help="1: the learning rates of heads made by versions up to 0.6. Usual: 2.", min=1, max=2)
    ] = None,
    half: Annotated[bool, typer.Option("--half", help="Store weights in float16.")] = False,
    precision: Annotated[str | None, typer.Option(help="Of the products with the vocabulary matrix: float32 (usual) or bfloat16.")] = None,
    states_budget: Annotated[
        float,
        typer.Option(help="Gigabytes of disk for hidden states (BERT-base on WikiText-2: 15.6); less: more passes.", min=0.0, max=1e9),
    ] = 20.0,
    states_dtype: Annotated[str | None, typer.Option(help="On disk: float32 (usual) or float16 for half the space.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    who: WhoOption = Who.local,
    workers: WorkersOption = None,
    address: AddressOption = None,
    slurm: SlurmOption = None,
    threads: ThreadsOption = None,
    layers_per_shard: Annotated[
        int, typer.Option("--layers-per-shard", "--layers-a-shard", help="Layers that one worker trains one after the other.", min=1)
    ] = 1,
) -> None:
    """Train a head for every layer by masked language modelling; resumable, best checkpoint from step 0 on.

    Settings that are not given are those of the heads in the folder, finished or not; in an empty folder, the usual ones.

    Replicates measure what a union over re-trained heads of the last layer finds by chance, for comparison with the union over layers.
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
        revision=revision,
        positions=positions,
        epochs=epochs,
        batch=batch,
        blocks=blocks,
        blocks_per_step=blocks_per_step,
        rate=rate,
        seed=seed,
        start=start,
        steps=steps,
        start_positions=start_positions,
        validate_every=validate_every,
        patience=patience,
        tolerance=tolerance,
        recipe_version=recipe_version,
        half=half,
        precision=precision,
        states_budget=states_budget,
        states_dtype=states_dtype,
        device=device,
        threads=threads,
        executor=chosen(who, workers, address, slurm),
        layers_per_shard=layers_per_shard,
    )
    with options_refused():
        workflow.train_heads(request, typer.echo)
