"""The decoding head, which turns a hidden state into a distribution over the vocabulary.

All masked-LM heads have the same four parts: a linear map, an activation, a layer norm and the vocabulary matrix with a
bias (Wallat et al. 2020, section 3.3; Devlin et al. 2019).
"""

import copy
from collections.abc import Collection, Mapping
from operator import attrgetter
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn
from transformers import PretrainedConfig, PreTrainedModel
from transformers.activations import ACT2FN

from probing.kernel.errors import HeadError, ModelError
from probing.kernel.models.arrays import IGNORED
from probing.kernel.models.names import FULL, MAPPED, STORED, listed


class Parts(NamedTuple):
    """Paths of the parts of a head in a masked language model of transformers."""

    dense: str
    activation: str  #: path, or name in ``ACT2FN``
    norm: str
    vocabulary: str  #: the module whose weight is the vocabulary matrix
    bias: str = ""  #: empty: that of ``vocabulary``


_AS_BERT = Parts(
    "cls.predictions.transform.dense",
    "cls.predictions.transform.transform_act_fn",
    "cls.predictions.transform.LayerNorm",
    "cls.predictions.decoder",
)
_AS_ROBERTA = Parts("lm_head.dense", "gelu", "lm_head.layer_norm", "lm_head.decoder")

#: Model type -> the parts of its head.
PARTS = {
    "albert": Parts("predictions.dense", "predictions.activation", "predictions.LayerNorm", "predictions.decoder"),
    "bert": _AS_BERT,
    "camembert": _AS_ROBERTA,
    "data2vec-text": _AS_ROBERTA,
    "deberta": _AS_BERT,
    "deberta-v2": _AS_BERT,
    "distilbert": Parts("vocab_transform", "activation", "vocab_layer_norm", "vocab_projector"),
    "electra": Parts(
        "generator_predictions.dense",
        "generator_predictions.activation",
        "generator_predictions.LayerNorm",
        "generator_lm_head",
    ),
    "ernie": _AS_BERT,
    # ESM has its own function, with the operations of ``gelu_python`` in the same order.
    "esm": _AS_ROBERTA._replace(activation="gelu_python", bias="lm_head.bias"),
    "megatron-bert": _AS_BERT,
    "modernbert": Parts("head.dense", "head.act", "head.norm", "decoder"),
    "mpnet": _AS_ROBERTA,
    "roberta": _AS_ROBERTA,
    "roberta-prelayernorm": _AS_ROBERTA,
    "xlm-roberta": _AS_ROBERTA,
    "xlm-roberta-xl": _AS_ROBERTA,
}
#: DeBERTa's head if its configuration has ``legacy`` off, as the released checkpoints hold it: the matrix is that of
#: the word embeddings.
_DEBERTA = Parts(
    "lm_predictions.lm_head.dense",
    "lm_predictions.lm_head.transform_act_fn",
    "lm_predictions.lm_head.LayerNorm",
    "deberta.embeddings.word_embeddings",
    "lm_predictions.lm_head.bias",
)


#: Logit of a token that is no answer: so low that its probability is 0, and finite, so that sums over the vocabulary
#: are numbers.
NO_PLACE = -1e4


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
        """Gives the linear map a bias of zeros if it has none (ModernBERT), which ``fold`` needs."""
        if self.dense.bias is None:
            self.dense.bias = nn.Parameter(self.dense.weight.new_zeros(self.dense.out_features), requires_grad=False)

    @torch.no_grad()
    def fold(self, weight: torch.Tensor, bias: torch.Tensor) -> None:
        """Folds an affine map into the head, in float64: dense(W h + b) = (D W) h + (D b + d)."""
        self.give_bias()
        # On the CPU, because not every accelerator has float64.
        dense, own, weight, bias = (
            part.detach().to("cpu", torch.float64) for part in (self.dense.weight, self.dense.bias, weight, bias)
        )
        self.dense.bias.copy_(dense @ bias + own)
        self.dense.weight.copy_(dense @ weight)


def parts_of(config: PretrainedConfig) -> Parts:
    """Where the parts of the head of an architecture are; ModelError if it is none of ``PARTS``."""
    kind = config.model_type
    if kind not in PARTS:
        raise ModelError(f"no decoding head is known for architecture {kind!r}; known are {', '.join(PARTS)}")
    return PARTS[kind] if getattr(config, "legacy", True) else _DEBERTA


def has_other_layout(config: PretrainedConfig, unexpected: Collection[str]) -> bool:
    """Whether a checkpoint has DeBERTa's head under the names of ``_DEBERTA``, without ``legacy`` in its settings."""
    return bool(getattr(config, "legacy", False)) and _DEBERTA.bias in unexpected


@torch.no_grad()
def give_bias(model: PreTrainedModel, missing: Collection[str]) -> set[str]:
    """Gives an untied vocabulary the bias that its checkpoint names otherwise; returns names no longer missing."""
    path = parts_of(model.config).vocabulary
    names = {f"{path}.bias", f"{path.rpartition('.')[0]}.bias"}
    here = {name: weight for name, weight in model.named_parameters(remove_duplicate=False) if name in names}
    if len(here) == 2 and len(lacking := names & set(missing)) == 1:
        here[min(lacking)].copy_(here[min(names - lacking)])
        return lacking
    return set()


def layout_of(config: PretrainedConfig) -> dict[str, bool]:
    """The setting that a configuration read from the same checkpoint needs for the same head; empty for most."""
    return {} if getattr(config, "legacy", True) else {"legacy": False}


def own_head(model: PreTrainedModel) -> DecodingHead:
    """The masked-LM head of a model, not copied: training one trains the other."""
    parts = parts_of(model.config)
    activation = ACT2FN[parts.activation] if parts.activation in ACT2FN else attrgetter(parts.activation)(model)
    matrix = attrgetter(parts.vocabulary)(model)
    bias = attrgetter(parts.bias)(model) if parts.bias else matrix.bias
    if bias is None:
        raise ModelError(
            f"the head of {model.config.model_type!r} has no bias at {parts.vocabulary}; expected transformers' layout"
            " of it"
        )
    dense = attrgetter(parts.dense)(model)
    if dense.out_features != matrix.weight.shape[1]:
        values = f"{dense.out_features} values, its vocabulary matrix takes {matrix.weight.shape[1]}"
        raise ModelError(
            f"the head of {model.config.model_type!r} gives {values}; expected equal numbers, as in transformers' own"
            " models"
        )
    usual = isinstance(matrix, nn.Linear | nn.Embedding)
    weight: nn.Parameter = matrix.weight if usual else _effective(matrix, dense.out_features)  # type: ignore[assignment]
    return DecodingHead(dense, activation, attrgetter(parts.norm)(model), _linear(weight, bias))


@torch.no_grad()
def _effective(wrapped: nn.Module, width: int) -> nn.Parameter:
    """The (vocabulary, width) matrix with its adapter (LoRA), which the ``weight`` of a wrapped one lacks."""
    # A copy, because an adapter's dropout must be off.
    matrix, eye = copy.deepcopy(wrapped).eval(), torch.eye(width).to(next(wrapped.parameters()))
    weight = matrix(eye) - matrix(eye[:1] * 0)
    return nn.Parameter(weight.T.contiguous(), requires_grad=False)


def _linear(weight: nn.Parameter, bias: nn.Parameter) -> nn.Linear:
    """A linear map that shares its parameters."""
    made = nn.Linear(weight.shape[1], weight.shape[0], device="meta")
    made.weight, made.bias = weight, bias
    return made


def masked_logits(model: PreTrainedModel, inputs: Mapping[str, torch.Tensor], positions: torch.Tensor) -> torch.Tensor:
    """(masked, vocabulary) logits of a masked language model; only ``positions``, (rows, tokens) bool, are decoded."""
    return own_head(model)(getattr(model, model.base_model_prefix)(**inputs).last_hidden_state[positions])


def masked_loss(model: PreTrainedModel, inputs: Mapping[str, torch.Tensor], labels: torch.Tensor) -> torch.Tensor:
    """Mean cross-entropy in nats at the masked positions; ``labels``, (rows, tokens), is ``IGNORED`` elsewhere."""
    positions = labels != IGNORED
    return F.cross_entropy(masked_logits(model, inputs, positions).float(), labels[positions])


def pretrained_head(model: PreTrainedModel) -> DecodingHead:
    """A copy of a model's masked-LM head that is not tied to its word embeddings."""
    return copy.deepcopy(own_head(model)).eval().requires_grad_(False)


def with_places(head: DecodingHead, without: Collection[int], rows: int) -> DecodingHead:
    """A head of ``rows`` tokens, of which those of the ids ``without`` are never an answer."""
    old, ids = head.vocabulary, sorted(set(range(rows)) - set(without))
    weight, bias = old.weight.new_zeros(rows, old.in_features), old.bias.new_full((rows,), NO_PLACE)
    weight[ids], bias[ids] = old.weight.detach()[ids], old.bias.detach()[ids]
    new = _linear(nn.Parameter(weight, requires_grad=False), nn.Parameter(bias, requires_grad=False))
    return DecodingHead(head.dense, head.activation, head.norm, new).eval()


def fresh_copy(head: DecodingHead, kind: str) -> DecodingHead:
    """A head to train, initialised from ``head``; all kinds except full share its vocabulary matrix."""
    matrix = nn.Linear(head.vocabulary.in_features, head.vocabulary.out_features, device="meta")
    matrix.weight = nn.Parameter(
        head.vocabulary.weight.clone() if kind == FULL else head.vocabulary.weight, requires_grad=False
    )
    assert head.vocabulary.bias is not None
    matrix.bias = nn.Parameter(head.vocabulary.bias.clone(), requires_grad=False)
    fresh = DecodingHead(
        copy.deepcopy(head.dense), copy.deepcopy(head.activation), copy.deepcopy(head.norm), matrix
    ).eval()
    if kind in MAPPED:
        fresh.give_bias()
    return fresh
