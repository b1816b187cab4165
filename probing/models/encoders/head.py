"""The decoding head, which turns a hidden state into a distribution over the vocabulary.

One class serves every architecture, because all their masked-LM heads have the same four parts: a linear map, an
activation, a layer norm and the vocabulary matrix with a bias (Wallat et al. 2020, section 3.3; Devlin et al. 2019).
"""

import copy
from collections.abc import Mapping
from operator import attrgetter

import torch
import torch.nn.functional as F
from torch import nn
from transformers import PreTrainedModel
from transformers.activations import ACT2FN

from probing.core.errors import HeadError, ModelError
from probing.core.head_kinds import FULL, MAPPED, STORED, listed
from probing.models.runtime.planned_batches import IGNORED

#: Model type -> paths of dense, activation, norm and vocabulary matrix in its masked-LM model.
PARTS = {
    "bert": (
        "cls.predictions.transform.dense",
        "cls.predictions.transform.transform_act_fn",
        "cls.predictions.transform.LayerNorm",
        "cls.predictions.decoder",
    ),
    "roberta": ("lm_head.dense", "gelu", "lm_head.layer_norm", "lm_head.decoder"),
    "albert": ("predictions.dense", "predictions.activation", "predictions.LayerNorm", "predictions.decoder"),
    "distilbert": ("vocab_transform", "activation", "vocab_layer_norm", "vocab_projector"),
    "electra": (
        "generator_predictions.dense",
        "generator_predictions.activation",
        "generator_predictions.LayerNorm",
        "generator_lm_head",
    ),
    "modernbert": ("head.dense", "head.act", "head.norm", "decoder"),
}


class DecodingHead(nn.Module):
    """Linear(d, e), activation, LayerNorm, Linear(e, vocabulary) with bias.

    ``e`` is ``d`` except with factorised embeddings (ALBERT, ELECTRA).
    """

    def __init__(self, dense: nn.Linear, activation, norm: nn.LayerNorm, vocabulary: nn.Linear):
        super().__init__()
        self.dense, self.activation, self.norm, self.vocabulary = dense, activation, norm, vocabulary

    def transform(self, states: torch.Tensor) -> torch.Tensor:
        """(positions, hidden) -> (positions, embedding), in the head's own precision."""
        return self.norm(self.activation(self.dense(states.to(self.dense.weight.dtype))))

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """(positions, hidden) -> (positions, vocabulary) logits."""
        return self.vocabulary(self.transform(states))

    def trainable(self, kind: str) -> dict[str, nn.Parameter]:
        """The parameters that a head of this kind owns: all of them, or all but the vocabulary matrix."""
        if kind not in STORED:
            raise HeadError(f"a {kind!r} head has nothing to train; expected {listed(STORED)}")
        return {name: p for name, p in self.named_parameters() if kind == FULL or name != "vocabulary.weight"}

    def give_bias(self) -> None:
        """Gives the linear map a bias of zeros if it has none (ModernBERT), because an affine map that is folded in needs one."""
        if self.dense.bias is None:
            self.dense.bias = nn.Parameter(self.dense.weight.new_zeros(self.dense.out_features), requires_grad=False)

    @torch.no_grad()
    def fold(self, weight: torch.Tensor, bias: torch.Tensor) -> None:
        """Folds the affine map (hidden, hidden), (hidden,) into the head: dense(W h + b) = (D W) h + (D b + d), in float64."""
        self.give_bias()
        # On the CPU, because not every accelerator has float64.
        dense, own, weight, bias = (part.detach().to("cpu", torch.float64) for part in (self.dense.weight, self.dense.bias, weight, bias))
        self.dense.bias.copy_(dense @ bias + own)
        self.dense.weight.copy_(dense @ weight)


def own_head(model: PreTrainedModel) -> DecodingHead:
    """The masked-LM head of a model, not copied: its modules are shared, so training one trains the other.

    Raises:
        ModelError: if the architecture is none of ``PARTS``.
    """
    kind = model.config.model_type
    if kind not in PARTS:
        raise ModelError(f"no decoding head is known for architecture {kind!r}; known are {', '.join(PARTS)}")
    dense, activation, norm, vocabulary = PARTS[kind]
    act = ACT2FN[activation] if activation in ACT2FN else attrgetter(activation)(model)
    decoder = attrgetter(vocabulary)(model)
    if decoder.bias is None:
        raise ModelError(f"the head of {kind!r} has no bias at {vocabulary}; expected the layout of {kind!r} in transformers")
    return DecodingHead(attrgetter(dense)(model), act, attrgetter(norm)(model), decoder)


def masked_logits(model: PreTrainedModel, inputs: Mapping[str, torch.Tensor], positions: torch.Tensor) -> torch.Tensor:
    """(masked, vocabulary) logits of a masked language model; only ``positions``, (rows, tokens) bool, are decoded."""
    return own_head(model)(getattr(model, model.base_model_prefix)(**inputs).last_hidden_state[positions])


def masked_loss(model: PreTrainedModel, inputs: Mapping[str, torch.Tensor], labels: torch.Tensor) -> torch.Tensor:
    """Mean cross-entropy in nats at the masked positions; ``labels``, (rows, tokens), is ``IGNORED`` elsewhere."""
    positions = labels != IGNORED
    return F.cross_entropy(masked_logits(model, inputs, positions).float(), labels[positions])


def pretrained_head(model: PreTrainedModel) -> DecodingHead:
    """A copy of a model's masked-LM head that is not tied to its word embeddings.

    Raises:
        ModelError: if the architecture is none of ``PARTS``.
    """
    own = own_head(model)
    decoder = own.vocabulary
    matrix = nn.Linear(decoder.in_features, decoder.out_features, dtype=decoder.weight.dtype)
    with torch.no_grad():
        matrix.weight.copy_(decoder.weight)
        matrix.bias.copy_(decoder.bias)
    head = DecodingHead(copy.deepcopy(own.dense), copy.deepcopy(own.activation), copy.deepcopy(own.norm), matrix)
    return head.eval().requires_grad_(False)


def fresh_copy(head: DecodingHead, kind: str) -> DecodingHead:
    """A head to train, initialised from ``head``; all kinds except full share its vocabulary matrix instead of copying it."""
    matrix = nn.Linear(head.vocabulary.in_features, head.vocabulary.out_features, device="meta")
    matrix.weight = nn.Parameter(head.vocabulary.weight.clone() if kind == FULL else head.vocabulary.weight, requires_grad=False)
    assert head.vocabulary.bias is not None
    matrix.bias = nn.Parameter(head.vocabulary.bias.clone(), requires_grad=False)
    fresh = DecodingHead(copy.deepcopy(head.dense), copy.deepcopy(head.activation), copy.deepcopy(head.norm), matrix).eval()
    if kind in MAPPED:
        fresh.give_bias()
    return fresh
