"""``probing finetune``: fine-tune an encoder on one of the paper's objectives."""

import json
import shutil
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from probing.core.errors import FactsError, ModelError
from probing.core.files.atomic import place_folder
from probing.core.files.locks import one_at_a_time
from probing.core.paths import cache_folder
from probing.core.registry import name_in_files, name_of_model


class Objective(StrEnum):
    ner_conll = "ner-conll"
    qa_squad_1 = "qa-squad-1"
    qa_squad_2 = "qa-squad-2"
    rank_msmarco = "rank-msmarco"
    mlm_msmarco = "mlm-msmarco"
    mlm_squad = "mlm-squad"
    control = "control"


#: Objective -> what results call it (the paper's names), and the fetched data set that it reads.
LABELS = {
    "ner-conll": ("NER-CoNLL", "conll2003"),
    "qa-squad-1": ("QA-SQuAD-1", "squad"),
    "qa-squad-2": ("QA-SQuAD-2", "squad"),
    "rank-msmarco": ("RANK-MSMARCO", "msmarco"),
    "mlm-msmarco": ("MLM-MSMARCO", "msmarco"),
    "mlm-squad": ("MLM-SQuAD", "squad"),
    "control": ("control", ""),
}


def finetune(
    model: Annotated[str, typer.Option(help="Base encoder: registry name, hub id or folder.")],
    objective: Annotated[Objective, typer.Option(help="What to train for.")],
    data: Annotated[Path | None, typer.Option(help="Folder of the data set (control: a text file); none: what was fetched.")] = None,
    lama: Annotated[Path | None, typer.Option(help="control of nesia-mini: LAMA folder of its own training text.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the finished model; none: cache/models/MODEL-OBJECTIVE.")] = None,
    steps: Annotated[int | None, typer.Option(help="Training steps; none: the objective's own epochs.", min=1)] = None,
    tokens: Annotated[int | None, typer.Option(help="Padded tokens a step instead of rows a step.", min=1)] = None,
    batch: Annotated[int | None, typer.Option(help="Rows a step.", min=1)] = None,
    rate: Annotated[float | None, typer.Option(help="Peak learning rate.")] = None,
    pieces: Annotated[int | None, typer.Option(help="Longest input in word pieces.", min=16)] = None,
    freeze: Annotated[bool, typer.Option("--freeze-embeddings", help="Leave the word embeddings as they are.")] = False,
    difference: Annotated[bool, typer.Option("--difference", help="Store one byte a weight: the difference from the base.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of order, masks and the task's head.")] = 1,
    device: Annotated[str, typer.Option(help="auto or cpu.")] = "auto",
) -> None:
    """Fine-tune an encoder and score it on its task beside chance; resumable, the task's head is dropped at the end."""
    from probing.core.model_folders import FINETUNING, find_entry
    from probing.models.encoders.load import weights_identity
    from probing.models.finetuning.setup import prepare
    from probing.models.finetuning.trainer import DEFAULTS, FinetuneRecipe
    from probing.models.finetuning.trainer import finetune as train

    entry = find_entry(model)
    label, fetched = LABELS[objective.value]
    name = name_of_model(out) if out else name_in_files(f"{entry.name}-{objective.value}")
    target = out or cache_folder() / "models" / name
    done = target / FINETUNING
    if device not in ("auto", "cpu"):
        raise typer.BadParameter(f"got device {device}; expected auto or cpu")
    if target.exists() and not target.is_dir():
        raise ModelError(f"{target} is no folder; name another with --out")
    # Checkpoints have one name: a second process waits, and then finds the model there.
    in_files = name_in_files(name)
    with one_at_a_time(cache_folder() / "locks" / f"finetune-{in_files}.lock"):
        if done.is_file():
            asked = {"base": entry.name, "objective": label, "seed": seed, "steps": steps, "tokens": tokens, "batch": batch, "rate": rate}
            asked |= {"pieces": pieces, "freeze-embeddings": freeze or None, "difference": difference or None}
            if Path(entry.location).is_dir():
                asked["base weights"] = weights_identity(entry.location)[:12]
            _refuse_another(done, asked)
            typer.echo(f"{name} is there already: {target}")
            return
        folder = data or (cache_folder() / "downloads" / fetched if fetched else None)
        if folder is None or not folder.exists():
            wanted = f"fetch it with: python -m probing fetch {fetched}" if fetched else "name a text file with --data"
            raise FactsError(f"no data for {objective.value} at {folder or 'any place'}; {wanted}")
        if entry.base:
            raise ModelError(f"{entry.name} is fine-tuned from {entry.base} already; fine-tuning begins with a base encoder")
        settings = DEFAULTS[objective.value] | ({"steps": steps} if steps else {}) | ({"tokens_a_step": tokens} if tokens else {})
        settings |= ({"batch": batch} if batch else {}) | ({"learning_rate": rate} if rate else {})
        settings |= {"max_pieces": pieces, "stride": min(settings.get("stride", 128), pieces // 3)} if pieces else {}
        task = prepare(objective.value, entry, folder, lama, settings, seed)
        recipe = FinetuneRecipe(
            objective=objective.value, base_weights=task.base_weights, data_sha256=task.data_sha256, freeze_embeddings=freeze, seed=seed,
            **settings,
        )  # fmt: skip
        typer.echo(f"{name}: {len(task.rows):,} training rows, scored on {task.test_words}")
        work = cache_folder() / "finetune" / in_files
        done_training = train(task.model, task.tokenizer, task.rows, task.kind, recipe, work, device)
        # A folder that looks like a model is one: it gets its name when all is in it.
        half = target.with_name(f".{target.name}.part")
        shutil.rmtree(half, ignore_errors=True)
        task.save(half, difference)
        scores = task.score()
        rows = [
            {"model": name, "base": entry.name, "objective": label, "metric": s.metric, "value": s.value, "chance": s.chance,
             "chance_name": s.chance_name, "n": s.n}
            for s in scores
        ]  # fmt: skip
        from probing.store.parquet import write_table

        write_table("tasks", rows, half / f"tasks-{in_files}.parquet")
        # The registry knows where its own models are; a folder of the user's is found again by its path.
        folder_of_base = str(Path(entry.location).resolve()) if Path(entry.location).is_dir() and not entry.shipped else ""
        record = {
            "base": entry.name, "base_folder": folder_of_base, "objective": label, "recipe": recipe.model_dump(),
            "steps": done_training.steps, "training_rows": len(task.rows), "history": done_training.history,
            "stored_as_difference": difference, "scores": [vars(score) for score in scores],
        }  # fmt: skip
        (half / FINETUNING).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        # Whatever lies there has no note of finetune and is no finished model.
        shutil.rmtree(target, ignore_errors=True)
        place_folder(half, target)
        shutil.rmtree(work, ignore_errors=True)
        for score in scores:
            chance = "" if score.chance is None else f"; {score.chance_name}: {score.chance:.3f}"
            typer.echo(f"  {score.metric}: {score.value:.3f}{chance}")
        typer.echo(f"wrote {target}")


def _refuse_another(done: Path, asked: dict) -> None:
    """Raises a ``ModelError`` if a finished model was not made as asked; what is None was not asked for."""
    made = json.loads(done.read_text(encoding="utf-8"))
    recipe = made["recipe"]
    names = {"steps": "steps", "tokens_a_step": "tokens", "batch": "batch", "learning_rate": "rate", "max_pieces": "pieces", "seed": "seed"}
    there = {"base": made["base"], "objective": made["objective"], "difference": made["stored_as_difference"]}
    there["base weights"] = recipe["base_weights"][:12]
    there |= {option: recipe[name] for name, option in names.items()} | {"freeze-embeddings": recipe["freeze_embeddings"]}
    other = [f"{option} {there[option]}, asked is {value}" for option, value in asked.items() if value not in (None, there[option])]
    if other:
        raise ModelError(f"{done.parent} holds a model with {'; '.join(other)}; name another folder with --out, or delete it")
