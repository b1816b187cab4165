"""``probing pretrain``: make nesia-mini, the small model that ships."""

import json
import shutil
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from probing.core.errors import ModelError
from probing.core.facts.fact import Fact
from probing.core.facts.sources import read_facts
from probing.core.facts.templates import shipped_relations
from probing.core.files.atomic import place_folder
from probing.core.files.locks import one_at_a_time
from probing.core.nesia.corpus import fact_key, relations_with_evidence
from probing.core.nesia.training_text import training_text, words_to_hold


class Stage(StrEnum):
    text = "text"
    stated = "stated"


def pretrain(
    lama: Annotated[Path, typer.Option(help="LAMA folder with evidence sentences.")],
    wikitext: Annotated[Path, typer.Option(help="WikiText training text (never valid or test).")],
    out: Annotated[Path, typer.Option(help="Folder of the finished model.")],
    stage: Annotated[Stage, typer.Option(help="text: natural sentences only. stated: half of the triples also stated.")] = Stage.text,
    start: Annotated[Path | None, typer.Option(help="Model folder to go on from; none starts from scratch.")] = None,
    steps: Annotated[int, typer.Option(help="Training steps of about 2,000 tokens.")] = 4200,
    peak: Annotated[float, typer.Option(help="Peak learning rate.")] = 1e-3,
    layers: Annotated[int, typer.Option(help="Transformer layers.")] = 8,
    hidden: Annotated[int, typer.Option(help="Hidden size, a multiple of 64.")] = 192,
    vocabulary: Annotated[int, typer.Option(help="Vocabulary size.")] = 12_000,
    seed: Annotated[int, typer.Option(help="Seed of weights, masks and order.")] = 1,
    work: Annotated[Path, typer.Option(help="Folder of checkpoints; a killed run goes on from there.")] = Path("cache/pretrain"),
) -> None:
    """Train nesia-mini by masked language modelling, resumable, and record every fact's exposure."""
    import torch
    from transformers import AutoTokenizer, BertForMaskedLM

    from probing.models.pretraining.train import PretrainRecipe, new_model
    from probing.models.pretraining.train import pretrain as train
    from probing.models.pretraining.vocabulary import train_vocabulary
    from probing.store.parquet import write_table

    # Checkpoints have one name: a second process waits, and then finds the work done.
    with one_at_a_time(work / f"{out.name}.lock"):
        relations = shipped_relations()
        facts: list[Fact] = [fact for facts in read_facts("all", relations) for fact in facts.facts]
        text = training_text(lama, wikitext, facts, relations)
        recipe = PretrainRecipe(layers=layers, hidden=hidden, heads=hidden // 64, steps=steps, peak_learning_rate=peak, seed=seed)
        if start is None:
            # A run that goes on must go on with the vocabulary that it began with.
            kept = work / out.name / "tokenizer"
            if not kept.is_dir():
                half_written = kept.with_suffix(".tmp")
                train_vocabulary((s.text for s in text.text), vocabulary, words_to_hold(facts, text.text)).save_pretrained(half_written)
                place_folder(half_written, kept)
            tokenizer = AutoTokenizer.from_pretrained(kept)
            model = new_model(recipe, len(tokenizer))
        else:
            tokenizer = AutoTokenizer.from_pretrained(start)
            model = BertForMaskedLM.from_pretrained(start, dtype=torch.float32)
            shape = (model.config.num_hidden_layers, model.config.hidden_size)
            if shape != (layers, hidden):
                raise ModelError(f"{start} has {shape} layers and hidden size, the options say {(layers, hidden)}; make them agree")
        sentences = text.text if stage is Stage.text else text.text + text.stated
        exposure = text.exposure_of_text if stage is Stage.text else text.exposure_of_all
        typer.echo(f"{len(sentences):,} sentences, {len(tokenizer):,} tokens in the vocabulary, {model.num_parameters():,} parameters")
        history = train(model, tokenizer, sentences, recipe, work / out.name)

        # A folder that looks like a model is one: files get their final names when all are written.
        half = out.with_name(f".{out.name}.part")
        shutil.rmtree(half, ignore_errors=True)
        half.mkdir(parents=True)
        model.half().save_pretrained(half)
        tokenizer.save_pretrained(half)
        rows = [{"model": out.name, "fact_key": key, "exposure": kind} for key, kind in sorted(exposure.items())]
        write_table("exposure", rows, half / f"exposure-{out.name}.parquet")
        earlier = start / "training.json" if start else None
        stages = json.loads(earlier.read_text(encoding="utf-8"))["stages"] if earlier and earlier.is_file() else []
        stages.append({"stage": stage.value, "sentences": len(sentences), "recipe": recipe.model_dump(), "history": history})
        record = {"relations_with_evidence": relations_with_evidence(lama), "stages": stages}
        (half / "training.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        place_folder(half, out)
        known = {fact_key(fact) for fact in facts}
        typer.echo(f"wrote {out}: {len(known & exposure.keys()):,} facts with their exposure")
