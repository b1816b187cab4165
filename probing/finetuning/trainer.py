"""Fine-tunes an encoder on one of the paper's objectives with the Trainer of transformers, resumable."""

import json
import logging
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import (
    EarlyStoppingCallback,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)
from transformers.trainer import TRAINER_STATE_NAME
from transformers.trainer_utils import get_last_checkpoint
from transformers.utils import is_accelerate_available

from probing.finetuning.examples import Row, SentenceClassifier, collate, mask_tokens
from probing.finetuning.setup import Replay, freeze_lowest, without_replayed
from probing.kernel.errors import ModelError
from probing.kernel.files import atomic_folder, atomic_text, file_sha256
from probing.kernel.models.arrays import IGNORED, plan_batches
from probing.kernel.models.head import masked_loss
from probing.kernel.recipe import FinetuneRecipe

log = logging.getLogger(__name__)

#: Models that can be trained.
Model = PreTrainedModel | SentenceClassifier
#: A training shorter than an epoch is looked at after each of this many equal parts.
_LOOKS = 4
#: In a checkpoint: file -> sha256.
_SUMS = "sums.json"


@dataclass(frozen=True)
class Plan:
    """The rows of every step, and the steps at which epochs end, also after the last step."""

    steps: list[list[int]]
    ends: list[int]

    @property
    def looks(self) -> dict[int, float]:
        """Step -> epochs by then, of the looks at the model: at the start, after each epoch and at the end.

        A training that is shorter than an epoch is looked at after every quarter instead.
        """
        last = len(self.steps)
        within = [end for end in self.ends if end < last] or [round(last * part / _LOOKS) for part in range(1, _LOOKS)]
        at = sorted({0, *within, last})
        return {step: float(np.interp(step, [0, *self.ends], range(len(self.ends) + 1))) for step in at}


def plan_steps(rows: Sequence[Row], recipe: FinetuneRecipe) -> Plan:
    """The plan of a training, fixed by the seed and the recipe alone."""
    lengths = [len(row.ids) for row in rows]

    def one_pass(epoch: int) -> list[list[int]]:
        seed = recipe.seed * 1000 + epoch
        if recipe.tokens_per_step:
            return plan_batches(lengths, recipe.tokens_per_step, seed)
        order = np.random.default_rng(seed).permutation(len(rows)).tolist()
        return [order[start : start + recipe.batch] for start in range(0, len(order), recipe.batch)]

    plan = one_pass(0)
    steps, ends = recipe.steps or max(1, round(recipe.epochs * len(plan))), [len(plan)]
    while len(plan) < steps:
        plan += one_pass(len(ends))
        ends.append(len(plan))
    return Plan(plan[:steps], ends)


class PlannedSteps(Dataset):
    """One item per step: a whole batch, made from the step's number, so that a resumed training sees the same ones.

    ``kind`` of labels: ``tags``, ``span``, ``class`` or ``mlm``. ``until``: the last step taken, at the learning rates
    of the whole training.
    """

    def __init__(
        self,
        rows: Sequence[Row],
        recipe: FinetuneRecipe,
        tokenizer: PreTrainedTokenizerBase,
        kind: str,
        replay: Replay | None = None,
        until: int | None = None,
    ):
        if not rows:
            raise ModelError("there is nothing to fine-tune on: the data set has no training part")
        self.rows, self.recipe, self.tokenizer, self.kind, self.replay, self.until = (
            rows,
            recipe,
            tokenizer,
            kind,
            replay,
            until,
        )
        planned = plan_steps(rows, recipe)
        self.plan, self.looks = planned.steps, planned.looks

    def __len__(self) -> int:
        return len(self.plan)

    def __getitem__(self, step: int) -> dict[str, torch.Tensor]:
        rows = [self.rows[n] for n in self.plan[step]]
        batch = collate(rows, self.tokenizer)
        if self.kind == "mlm":
            rng = np.random.default_rng([self.recipe.seed, step])
            batch["labels"] = mask_tokens(batch, self.tokenizer, self.recipe.masked_share, rng)
        elif self.kind == "tags":
            width = batch["input_ids"].shape[1]
            batch["labels"] = torch.tensor([[*row.labels, *[IGNORED] * (width - len(row.labels))] for row in rows])
        elif self.kind == "span":
            batch["start_positions"] = torch.tensor([row.labels[0] for row in rows])
            batch["end_positions"] = torch.tensor([row.labels[1] for row in rows])
        else:
            batch["labels"] = torch.tensor([row.labels[0] for row in rows])
        return batch | (self.replay.batch(step, batch["input_ids"].numel(), self.recipe) if self.replay else {})


class _Trainer(Trainer):
    """Decodes masked positions only, if the task is masked language modelling; evaluates by the task's own score."""

    masked_language_modelling = False
    bfloat16 = False
    development_score: Callable[[], float] | None = None
    replay: Replay | None = None
    replayed_share = 0.0

    def evaluate(self, *_, **__):
        # An evaluation must not change the random state of the training.
        model = self.model
        assert model is not None
        with torch.random.fork_rng():
            model.eval()
            score = self.development_score() if self.development_score else float("nan")
        metrics = {"eval_score": score}
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        # The Trainer's own option wraps the model's ``forward``, which a masked loss goes past.
        with torch.autocast(model.device.type, torch.bfloat16, enabled=self.bfloat16):
            return self._loss(model, inputs, return_outputs, num_items_in_batch)

    def _loss(self, model, inputs, return_outputs, num_items_in_batch):
        if self.replay is None:
            return self._task_loss(model, inputs, return_outputs, num_items_in_batch)
        loss = self._task_loss(model, without_replayed(inputs), False, num_items_in_batch)
        replayed = self.replay.loss(_body(model), inputs)
        return loss if replayed is None else (1 - self.replayed_share) * loss + self.replayed_share * replayed

    def _task_loss(self, model, inputs, return_outputs, num_items_in_batch):
        if not self.masked_language_modelling:
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        read = {name: value for name, value in inputs.items() if name != "labels"}
        return masked_loss(model, read, inputs["labels"])


@dataclass(frozen=True)
class Finetuned:
    """The result of a fine-tuning."""

    history: list[dict]  #: losses, ``{"step", "loss"}``
    steps: int
    looks: list[dict]  #: scores on the development part, ``{"step", "score"}``
    kept_step: int  #: whose weights the model has


#: Gets the model in training, the step and the epochs by then.
Look = Callable[[Model, int, float], None]


class _Looks(TrainerCallback):
    """Looks at the model at planned steps; a resumed training looks again at the steps after its checkpoint."""

    def __init__(self, look: Look, at: dict[int, float]):
        self.look, self.at = look, at

    def on_train_begin(self, args, state, control, model=None, **_):
        if state.global_step == 0:
            self._look(model, 0)

    def on_step_end(self, args, state, control, model=None, **_):
        self._look(model, state.global_step)

    def _look(self, model: Model, step: int) -> None:
        if step in self.at:
            # A look must not change the random state of the training.
            with torch.random.fork_rng():
                self.look(model, step, self.at[step])


class KeptStates(TrainerCallback):
    """Keeps ``number`` states as folders ``checkpoint-STEP``, densest at the start, the last one among them."""

    def __init__(self, folder: Path, number: int, tokenizer: PreTrainedTokenizerBase):
        self.folder, self.number, self.tokenizer = folder, number, tokenizer

    def steps(self, last: int) -> set[int]:
        """The steps of a training of ``last`` steps: equal ratios, rounded."""
        return {max(1, round(step)) for step in np.geomspace(min(last, 4), last, self.number)}

    def on_step_end(self, args, state, control, model=None, **_):
        target = self.folder / f"checkpoint-{state.global_step}"
        if state.global_step in self.steps(state.max_steps) and not target.is_dir():
            with atomic_folder(target) as half:
                model.save_pretrained(half)
                self.tokenizer.save_pretrained(half)


class _Sums(TrainerCallback):
    """Writes the checksums of a checkpoint's files into it once all are there."""

    def on_save(self, args, state, control, **_):
        folder = Path(args.output_dir, f"checkpoint-{state.global_step}")
        atomic_text(folder / _SUMS, json.dumps(_sums(folder)))


def _sums(folder: Path) -> dict[str, str]:
    return {path.name: file_sha256(path) for path in sorted(folder.iterdir()) if path.name != _SUMS}


class _Until(TrainerCallback):
    """Ends a training before its last planned step."""

    def __init__(self, step: int):
        self.step = step

    def on_step_end(self, args, state, control, **_):
        control.should_training_stop = control.should_training_stop or state.global_step >= self.step


def _body(model: Model) -> PreTrainedModel:
    """The model without its head."""
    return getattr(model, model.base_model_prefix)


def freeze_word_embeddings(model: Model) -> None:
    """Freezes the word embeddings, and with them a tied vocabulary matrix, at the base's values."""
    model.get_input_embeddings().weight.requires_grad_(False)


def finetune(
    model: Model,
    data: PlannedSteps,
    folder: Path,
    device: str = "auto",
    save_every: int = 200,
    look: Look | None = None,
    development_score: Callable[[], float] | None = None,
    kept: KeptStates | None = None,
) -> Finetuned:
    """Trains ``model`` in place; after a kill, another call resumes and ends with the same weights.

    ``look`` is called at ``looks`` of the data and must not change the weights; ``development_score`` is needed if the
    recipe has looks. ModelError: checkpoints of another recipe, the loss is not a number, or accelerate is missing.
    """
    require_accelerate()
    recipe = data.recipe
    folder.mkdir(parents=True, exist_ok=True)
    note = folder / "recipe.json"
    if note.is_file() and note.read_text(encoding="utf-8") != recipe.canonical():
        raise ModelError(f"{folder} holds checkpoints of another recipe; delete it to start again")
    atomic_text(note, recipe.canonical())
    if recipe.freeze_embeddings:
        freeze_word_embeddings(model)
    if recipe.frozen_layers:
        freeze_lowest(_body(model), recipe.frozen_layers)
    watched: list[TrainerCallback] = [_Sums(), *([_Looks(look, data.looks)] if look else [])]
    watched += [kept] if kept else []
    if data.until and data.until < len(data):
        watched.append(_Until(data.until))
        # A training that goes on from its last state would take a step more.
        shutil.rmtree(folder / f"checkpoint-{data.until}", ignore_errors=True)
    choice: dict[str, Any] = {"save_steps": save_every, "save_total_limit": 1}
    if recipe.looks:
        every = max(1, len(data) // recipe.looks)
        # The best and the last checkpoint are kept, and a resumed training knows how long the score has not risen.
        choice = {
            "eval_strategy": "steps",
            "eval_steps": every,
            "save_steps": every,
            "save_total_limit": 2,
            "load_best_model_at_end": True,
            "metric_for_best_model": "score",
            "greater_is_better": True,
            "restore_callback_states_from_checkpoint": True,
        }
        watched += [EarlyStoppingCallback(recipe.patience)] if recipe.patience else []
    arguments = TrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=1,
        max_steps=len(data),
        learning_rate=recipe.learning_rate,
        lr_scheduler_type="linear" if recipe.schedule == "linear" else "constant_with_warmup",
        adam_beta2=recipe.beta2,
        warmup_steps=max(1, round(recipe.warm_up * len(data))),
        weight_decay=recipe.weight_decay,
        max_grad_norm=1.0,
        optim="adamw_torch_fused",
        train_sampling_strategy="sequential",
        logging_steps=min(50, len(data)),
        # By default the Trainer logs a NaN loss as the mean of the others.
        logging_nan_inf_filter=False,
        seed=recipe.seed,
        data_seed=recipe.seed,
        use_cpu=device == "cpu",
        report_to=[],
        remove_unused_columns=False,
        dataloader_pin_memory=False,
        disable_tqdm=False,
        **choice,
    )
    # The Trainer asks for evaluation data, which ``evaluate`` does not read.
    held = data if recipe.looks else None
    trainer = _Trainer(
        model=model,
        args=arguments,
        train_dataset=data,
        eval_dataset=held,
        data_collator=lambda items: items[0],
        callbacks=watched,
    )
    trainer.development_score = development_score
    trainer.masked_language_modelling = data.kind == "mlm"
    trainer.bfloat16 = recipe.bfloat16
    trainer.replay, trainer.replayed_share = data.replay, recipe.replay
    torch.manual_seed(recipe.seed)
    trainer.train(resume_from_checkpoint=_last_whole_checkpoint(folder))
    history = [
        {"step": entry["step"], "loss": round(entry["loss"], 4)}
        for entry in trainer.state.log_history
        if "loss" in entry
    ]
    if lost := next((entry for entry in history if not np.isfinite(entry["loss"])), None):
        raise ModelError(
            f"the loss is {lost['loss']} up to step {lost['step']}; lower the learning rate (--rate) and delete"
            f" {folder}"
        )
    model.eval()
    looks = [
        {"step": entry["step"], "score": round(entry["eval_score"], 6)}
        for entry in trainer.state.log_history
        if "eval_score" in entry
    ]
    return Finetuned(
        history, trainer.state.global_step, looks, trainer.state.best_global_step or trainer.state.global_step
    )


def require_accelerate() -> None:
    """Raises a ``ModelError`` if accelerate is not installed, which the Trainer needs."""
    if not is_accelerate_available():
        raise ModelError(
            "fine-tuning needs accelerate, which is missing; install it with: pip install 'bertnesia-explorer[train]'"
        )


def _last_whole_checkpoint(folder: Path) -> str | None:
    """The last whole checkpoint; the others are deleted, because the Trainer would take them for whole."""
    for path in sorted(folder.glob("checkpoint-*"), key=lambda path: (len(path.name), path.name)):
        try:
            # The Trainer writes this file last.
            best = json.loads((path / TRAINER_STATE_NAME).read_text(encoding="utf-8"))["best_model_checkpoint"]
            if best and not (folder / Path(best).name).is_dir():
                raise ValueError("the best state before it is gone")
            # One of an earlier version has no sums, nor has one whose training was killed before they were written.
            if (path / _SUMS).exists() and json.loads((path / _SUMS).read_text(encoding="utf-8")) != _sums(path):
                raise ValueError("other bytes than were written")
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.warning("%s is not whole (%s); training resumes before it", path, error)
            shutil.rmtree(path)
    return get_last_checkpoint(str(folder))
