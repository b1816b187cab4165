"""A base with an objective's head, training rows and scorer: the start of a fine-tuning."""

import copy
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForMaskedLM, PreTrainedModel, PreTrainedTokenizerBase

from probing.finetuning.examples import shuffled_labels
from probing.finetuning.kinds import KINDS, Base, Training, with_development
from probing.finetuning.objectives import Task
from probing.finetuning.setup_protection import Replay
from probing.kernel.errors import ModelError
from probing.kernel.models.delta_weights import FILE as DIFFERENCE
from probing.kernel.models.delta_weights import apply_difference, parameters_of, save_difference
from probing.kernel.models.head import layout_of
from probing.kernel.models.hub import locate
from probing.kernel.models.load import load_encoder
from probing.kernel.registry import ModelEntry

#: The weights of a task's head, next to a model; without a file for masked language modelling, which has no such head.
TASK_HEAD = "task_head.safetensors"


@dataclass(frozen=True)
class Prepared:
    """A fine-tuning that is ready to run."""

    training: Training
    before: PreTrainedModel  #: the base as a masked language model
    tokenizer: PreTrainedTokenizerBase
    data_sha256: str  #: of the training rows
    base_weights: str
    base_source: str  #: hub id and commit, as ``ID@COMMIT``; empty for a folder
    max_pieces: int  #: of the base's input
    dev: Sequence[Any] = ()  #: scored during training; empty if the recipe has no looks
    replay: Replay | None = None

    def development_score(self) -> float:
        """The main score of the model in training on the development part."""
        return self.training.scores(self.dev)[0].value

    def task_head(self) -> dict[str, torch.Tensor]:
        """The weights of the task's head: those that the base as a masked language model does not have."""
        known = self.before.state_dict()
        return {
            name: value.detach().clone()
            for name, value in self.training.model.state_dict().items()
            if name not in known
        }

    def save(self, folder: Path, bits: int | None) -> None:
        """Writes body (with ``bits`` as a difference, whose weights the model then takes), tokenizer and head."""
        if head := self.task_head():
            save_file({name: value.contiguous().cpu() for name, value in head.items()}, folder / TASK_HEAD)
        if bits is None:
            self.training.model.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)
            return
        before, after = parameters_of(self.before), parameters_of(self.training.model)
        save_difference(before, after, self.base_weights, folder, bits)
        self.before.config.save_pretrained(folder)
        stored = copy.deepcopy(self.before)
        apply_difference(stored, folder, self.base_weights)
        with torch.no_grad():
            for name, value in parameters_of(stored).items():
                if name in after:
                    after[name].copy_(value)


def take_stored_weights(ready: Prepared, folder: Path) -> None:
    """Gives the model in training the weights that are stored in a folder, those of the task's head included."""
    head, whole = folder / TASK_HEAD, folder / "model.safetensors"
    state = ready.training.model.state_dict()
    if whole.is_file():
        weights = load_file(whole)
    elif not (folder / DIFFERENCE).is_file():
        raise ModelError(f"{folder} has no weights; expected {whole.name} or {DIFFERENCE}")
    else:
        stored = copy.deepcopy(ready.before)
        apply_difference(stored, folder, ready.base_weights)
        weights = dict(stored.state_dict())
    if head.is_file():
        weights |= load_file(head)
    if lacking := sorted(ready.task_head().keys() - weights.keys()):
        raise ModelError(
            f"{folder} has no weights of {', '.join(lacking)}; expected them in {TASK_HEAD}; models made before 0.8"
            " have none"
        )
    ready.training.model.load_state_dict(
        {name: value for name, value in weights.items() if name in state}, strict=False
    )
    ready.training.model.eval()


def prepare(
    task: Task, entry: ModelEntry, data: Path, lama: Path | None, settings: Mapping[str, Any], seed: int
) -> Prepared:
    """Reads the data and loads the base with the objective's head.

    ``data``: the data set's folder; for the control a text file. ``lama``: its sentences are part of the own text of a
    model made here. ModelError, HeadError: the base cannot be used; FactsError: the data cannot.
    """
    limit = settings["max_pieces"]
    located = locate(entry.location, entry.revision or None)
    # The classes of transformers silently make up a head or a tokenizer that the base lacks; this reports it.
    encoder = load_encoder(
        entry.location, name=entry.name, revision=located.revision if located.hub_id else None, device="cpu"
    )
    tokenizer = encoder.tokenizer
    longest, layout = encoder.max_pieces, layout_of(encoder.body.config)
    if limit > longest:
        raise ModelError(f"{entry.name} takes at most {longest} word pieces, got {limit}; give --pieces {longest}")
    del encoder
    torch.manual_seed(seed)
    before = AutoModelForMaskedLM.from_pretrained(located.folder, dtype=torch.float32, **layout).eval()
    base = Base(
        located.folder, before, tokenizer, limit, settings.get("stride", 128), settings.get("masked_share", 0.15)
    )
    base = replace(base, **{name: settings[name] for name in ("pooling", "dropout") if name in settings})
    left_out: Counter[str] = Counter()
    parts = task.read(data, lama, left_out)
    dev: Sequence[Any] = ()
    if settings.get("looks"):
        parts, dev = with_development(task, data, parts)
    training = KINDS[task.kind](base, data, parts)
    training = replace(training, left_out={**+left_out, **training.left_out})
    if settings.get("shuffled_labels"):
        training = replace(training, rows=shuffled_labels(training.rows, training.labels, seed))
    return Prepared(
        training, before, tokenizer, rows_sha256(training.rows), located.weights_id, located.at_commit, longest, dev
    )


def rows_sha256(rows: Iterable[Any]) -> str:
    """sha256 of ids and labels as Python lists; row by row, because the whole list takes gigabytes."""
    digest, before = hashlib.sha256(b"["), ""
    for row in rows:
        digest.update(f"{before}{(row.ids, row.labels)!r}".encode())
        before = ", "
    digest.update(b"]")
    return digest.hexdigest()
