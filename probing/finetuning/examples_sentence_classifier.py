"""A body with a new head that predicts one label for a sentence or a pair of sentences."""

from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from transformers import PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput

from probing.finetuning.objectives import MEAN


class SentenceClassifier(nn.Module):
    """Classes from tanh(W v + b) of the first token's state v or the mean (Mosbach et al. 2020, section 3).

    W, b and the layer on top are initialised at random, also if a base has its own pooler. Parameters of the body have
    the names that they have in the base. Special tokens count in the ``mean``.
    """

    def __init__(self, masked: PreTrainedModel, classes: int, pooling: str, dropout: float):
        super().__init__()
        self.base_model_prefix, self.config, self.pooling = masked.base_model_prefix, masked.config, pooling
        setattr(self, self.base_model_prefix, getattr(masked, self.base_model_prefix))
        width = int(masked.config.hidden_size)
        self.dense, self.classifier, self.dropout = (
            nn.Linear(width, width),
            nn.Linear(width, classes),
            nn.Dropout(dropout),
        )
        for layer in (self.dense, self.classifier):
            nn.init.normal_(layer.weight, std=float(getattr(masked.config, "initializer_range", 0.02)))
            nn.init.zeros_(layer.bias)

    @property
    def body(self) -> PreTrainedModel:
        return getattr(self, self.base_model_prefix)

    @property
    def device(self) -> torch.device:
        return self.dense.weight.device

    def get_input_embeddings(self) -> nn.Module:
        return self.body.get_input_embeddings()

    def save_pretrained(self, folder: Path) -> None:
        """Writes the body; the head is dropped."""
        self.body.save_pretrained(folder)

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
    ) -> SequenceClassifierOutput:
        types = {} if token_type_ids is None else {"token_type_ids": token_type_ids}
        states = self.body(input_ids=input_ids, attention_mask=attention_mask, **types).last_hidden_state
        pooled = mean_state(states, attention_mask) if self.pooling == MEAN else states[:, 0]
        logits = self.classifier(self.dropout(torch.tanh(self.dense(pooled))))
        return SequenceClassifierOutput(loss=None if labels is None else F.cross_entropy(logits, labels), logits=logits)


def mean_state(states: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
    """(rows, hidden) means of (rows, tokens, hidden) over the tokens that are not padding."""
    there = attention_mask[..., None].to(states.dtype)
    return (states * there).sum(1) / there.sum(1)


def dropouts(config: PretrainedConfig, share: float) -> dict[str, float]:
    """Every dropout of a configuration set to ``share``."""
    return {
        name: share
        for name, value in config.to_dict().items()
        if "dropout" in name and isinstance(value, int | float) and not isinstance(value, bool)
    }
