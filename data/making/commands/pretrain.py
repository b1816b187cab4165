"""``probing pretrain``: make nesia-mini, the small model that ships."""

from pathlib import Path
from typing import Annotated

import typer


def pretrain(
    lama: Annotated[Path, typer.Option(help="LAMA folder with evidence sentences.")],
    wikitext: Annotated[Path, typer.Option(help="WikiText training text (never valid or test).")],
    out: Annotated[Path, typer.Option(help="Folder of the finished model.")],
    start: Annotated[Path | None, typer.Option(help="Model folder to continue from; none starts from scratch.")] = None,
    steps: Annotated[int, typer.Option(help="Training steps of about 2,000 tokens.")] = 4200,
    peak: Annotated[float, typer.Option(help="Peak learning rate.")] = 1e-3,
    layers: Annotated[int, typer.Option(help="Transformer layers.")] = 8,
    hidden: Annotated[int, typer.Option(help="Hidden size, a multiple of 64.")] = 192,
    vocabulary: Annotated[int, typer.Option(help="Vocabulary size.")] = 12_000,
    seed: Annotated[int, typer.Option(help="Seed of weights, masks and order.")] = 1,
    stated_visits: Annotated[
        int, typer.Option(min=1, help="Visits to a stated sentence, per visit to another sentence.")
    ] = 1,
    well_known_visits: Annotated[
        int, typer.Option(min=1, help="Visits to a statement of a well-known fact, per visit to another sentence.")
    ] = 1,
    whole_answers: Annotated[
        float,
        typer.Option(min=0, max=1, help="Share of the visits to a sentence with an answer that mask the whole answer."),
    ] = 0.5,
    layer_drop: Annotated[
        float,
        typer.Option(min=0, max=0.9, help="LayerDrop: probability with which a training step leaves a block out."),
    ] = 0.0,
    bfloat16: Annotated[
        bool,
        typer.Option(help="Run the passes in bfloat16; slower than float32 on processors without such instructions."),
    ] = True,
    work: Annotated[Path, typer.Option(help="Folder of checkpoints; a killed run resumes from there.")] = Path(
        "cache/pretrain"
    ),
    exposure_only: Annotated[
        bool, typer.Option("--exposure-only", help="Only write the facts' exposures again, for the model in --out.")
    ] = False,
) -> None:
    """Trains by masked language modelling, resumable, and records every fact's exposure."""
    from data.making import pretrain as workflow
    from data.making.pretraining.train import PretrainRecipe

    recipe = PretrainRecipe(
        layers=layers,
        hidden=hidden,
        heads=hidden // 64,
        steps=steps,
        peak_learning_rate=peak,
        seed=seed,
        stated_visits=stated_visits,
        well_known_visits=well_known_visits,
        whole_answer_share=whole_answers,
        layer_drop=layer_drop,
        bfloat16=bfloat16,
    )
    request = workflow.PretrainRequest(lama, wikitext, out, recipe, start, vocabulary, work)
    (workflow.record_exposure if exposure_only else workflow.pretrain)(request, typer.echo)
