"""Against forgetting: frozen layers, replay of the base's text, and the mean with the base's weights."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from probing.finetuning.examples import IGNORED, Row, collate, mask_tokens, text_rows
from probing.kernel.errors import ModelError, TextError
from probing.kernel.models.delta_weights import parameters_of
from probing.kernel.models.head import DecodingHead, pretrained_head
from probing.kernel.models.layer_swap import layers_of
from probing.kernel.options import spelled

if TYPE_CHECKING:
    from probing.finetuning.recipe import FinetuneRecipe

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
        head: DecodingHead = self.head.to(labels.device)
        return F.cross_entropy(head(body(**read).last_hidden_state[at]).float(), labels[at])


def without_replayed(inputs: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The part of a batch that the task reads."""
    return {name: values for name, values in inputs.items() if not name.startswith(_REPLAYED)}


@torch.no_grad()
def average_with(model: nn.Module, before: PreTrainedModel, weight: float) -> None:
    """Gives the model the mean of both weights, ``weight`` of the base (WiSE-FT, Wortsman et al. 2022, equation 1).

    The weights of the task's head, which the base does not have, are not changed.
    """
    base = parameters_of(before)
    for name, value in parameters_of(model).items():
        if name in base:
            value.copy_((1 - weight) * value + weight * base[name].to(value.device))
