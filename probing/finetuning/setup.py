"""The start of a fine-tuning: base, head, rows and scorer; and what is done against forgetting."""

import copy
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F
import transformers
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import AutoConfig, AutoModelForMaskedLM, PreTrainedModel, PreTrainedTokenizerBase

from probing.finetuning.examples import Row, collate, mask_tokens, shuffled_labels, text_rows
from probing.finetuning.kinds import KINDS, Base, Training, say_doubts, with_development
from probing.finetuning.readers import PARTS
from probing.kernel.errors import ModelError, TextError
from probing.kernel.models.adapters import merge_adapter
from probing.kernel.models.arrays import IGNORED
from probing.kernel.models.check import say_unknown
from probing.kernel.models.checkpoint import ADAPTER
from probing.kernel.models.delta_weights import FILE as DIFFERENCE
from probing.kernel.models.delta_weights import apply_difference, parameters_of, save_difference
from probing.kernel.models.head import Head, give_bias, layout_of, part_head, pretrained_head
from probing.kernel.models.hub import locate
from probing.kernel.models.layer_swap import layers_of
from probing.kernel.models.load import load_encoder
from probing.kernel.models.torch_settings import quiet_loading
from probing.kernel.objectives import Task
from probing.kernel.options import spelled
from probing.kernel.registry import ModelEntry

if TYPE_CHECKING:
    from probing.kernel.recipe import FinetuneRecipe

#: Name of the replayed rows in a step's batch; the names of their tensors begin with it.
_REPLAYED = "replayed_"


def freeze_lowest(body: PreTrainedModel, layers: int) -> None:
    """Freezes the embeddings and the lowest layers; NotReplaceable if layers share their weights."""
    body_layers = layers_of(body)
    if layers > len(body_layers):
        raise ModelError(f"got {layers} layers to freeze; the base has {len(body_layers)}")
    upper = {id(weight) for layer in body_layers[layers:] for weight in layer.parameters()}
    first = {id(weight) for layer in body_layers for weight in layer.parameters()}
    for name, weight in body.named_parameters():
        # What is on top of the layers, such as a final norm, is trained.
        if id(weight) not in upper and (id(weight) in first or "embed" in name):
            weight.requires_grad_(False)


class Replay:
    """Rows of the base's own text, of which every step takes some, for masked language modelling.

    They come in addition to the task's rows: so many that their tokens are ``share`` of all. ``limit``: tokens per row.
    The base's head, which is not trained, reads the model in training.
    """

    def __init__(self, texts: Sequence[str], tokenizer: PreTrainedTokenizerBase, limit: int, before: PreTrainedModel):
        if not any(text.strip() for text in texts):
            raise TextError(f"got no text to replay; name the base's own text ({spelled('replay_text')})")
        self.rows: list[Row] = text_rows(texts, tokenizer, limit, joined=True)
        self.tokenizer, self.head = tokenizer, pretrained_head(before)

    @property
    def sha256(self) -> str:
        """Checksum of the rows."""
        digest = hashlib.sha256()
        for row in self.rows:
            digest.update(np.asarray(row.ids, np.int64).tobytes() + b"|")
        return digest.hexdigest()

    def batch(self, step: int, tokens: int, recipe: "FinetuneRecipe") -> dict[str, torch.Tensor]:
        """The rows of a step whose task has so many padded tokens; fixed by the seed and the step alone."""
        random = np.random.default_rng([recipe.seed, step, 1])
        expected = recipe.replay / (1 - recipe.replay) * tokens / max(len(row.ids) for row in self.rows)
        # Rounded at random, so that over the steps the share is right even if a step takes less than a row.
        number = int(expected) + int(random.random() < expected % 1)
        if not number:
            return {}
        chosen = random.choice(len(self.rows), size=min(number, len(self.rows)), replace=False).tolist()
        batch = collate([self.rows[n] for n in chosen], self.tokenizer)
        labels = mask_tokens(batch, self.tokenizer, recipe.masked_share, random)
        return {_REPLAYED + name: values for name, values in {**batch, "labels": labels}.items()}

    def loss(self, body: nn.Module, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor | None:
        """Mean cross-entropy at the masked tokens of the replayed rows; None if the step has none."""
        read = {name.removeprefix(_REPLAYED): values for name, values in inputs.items() if name.startswith(_REPLAYED)}
        if not read:
            return None
        labels = read.pop("labels")
        at = labels != IGNORED
        head: Head = self.head.to(labels.device)
        return F.cross_entropy(head(body(**read).last_hidden_state[at]).float(), labels[at])


def without_replayed(inputs: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The part of a batch that the task reads."""
    return {name: values for name, values in inputs.items() if not name.startswith(_REPLAYED)}


class Between:
    """The weights of a model, moved in place between those of its base and its own (WiSE-FT, Wortsman et al. 2022,
    equation 1). Those that the base does not have, such as a task's head, stay.
    """

    def __init__(self, model: nn.Module, base: nn.Module):
        _part_like(model, base)
        # Where the base shares the embeddings with its head, and the model does not, they are found by both names.
        tuned, before = parameters_of(model), dict(base.named_parameters(remove_duplicate=False))
        both = [name for name in tuned if name in before]
        other = next((name for name in both if tuned[name].shape != before[name].shape), "" if both else "any weight")
        if other:
            raise ModelError(f"the base does not have {other} in the same shape, so the weights of both have no mean")
        self._ends = [(tuned[one], before[one].detach().to(tuned[one]), tuned[one].detach().clone()) for one in both]

    @torch.no_grad()
    def move(self, percent: float) -> None:
        """Takes so many per cent of the model's own weights; both ends, and what both have alike, to the bit."""
        for weight, of_base, own in self._ends:
            weight.copy_(torch.lerp(of_base, own, percent / 100))


def _part_like(model: Any, base: Any) -> None:
    """Parts the head of a model from its embeddings if that of its base is."""
    shared = []
    for one in (model, base):
        head = getattr(one, "get_output_embeddings", lambda: None)()
        shared.append(None if head is None else head.weight is one.get_input_embeddings().weight)
    if shared == [True, False]:
        part_head(model)


def loaded_with_base(folder: Path, origin: ModelEntry, base_weights: str) -> tuple[PreTrainedModel, PreTrainedModel]:
    """A fine-tuned model by its own class, with all heads that its folder has, and its base.

    A difference and an adapter become masked language models.
    """
    of_base = locate(origin.location, origin.revision or None).folder
    options: dict[str, Any] = {"dtype": torch.float32, **layout_of(AutoConfig.from_pretrained(of_base))}

    def opened(kind: Any, place: Path) -> PreTrainedModel:
        found, said = kind.from_pretrained(place, output_loading_info=True, **options)
        give_bias(found, said["missing_keys"])
        return found.eval()

    with quiet_loading(), torch.no_grad():
        model, base = (opened(AutoModelForMaskedLM, of_base) for _ in range(2))
        if (folder / DIFFERENCE).is_file():
            apply_difference(model, folder, base_weights)
        elif (folder / ADAPTER).is_file():
            merge_adapter(str(folder), model, folder)
        else:
            named = next(iter(AutoConfig.from_pretrained(folder).architectures or ()), "AutoModel")
            if (kind := getattr(transformers, named, None)) is None:
                raise ModelError(
                    f"{folder} is a {named}, a class that transformers does not have, so its weights have no mean; save"
                    " its body as a class of transformers"
                )
            model = opened(kind, folder)
    return model, base


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
    parts = PARTS[task.slug](data, lama, left_out)
    dev: Sequence[Any] = ()
    if settings.get("looks"):
        parts, dev = with_development(task, data, parts)
    say_doubts(task, data, {"train": parts[0], "test": parts[1], "dev": dev})
    training = KINDS[task.kind](base, data, parts)
    say_unknown([row.ids for row in training.rows], tokenizer, entry.name)
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
