"""The decoding head, which turns a hidden state into a distribution over the vocabulary.

Most masked-LM heads have the same four parts: a linear map, an activation, a layer norm and the vocabulary matrix with
a bias (Wallat et al. 2020, section 3.3; Devlin et al. 2019). Heads that are trained are made of them; the logit lens
runs the code of any model between its last hidden state and its logits.
"""

import copy
from collections.abc import Collection, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import nn
from transformers import PretrainedConfig, PreTrainedModel
from transformers.activations import ACT2FN

from probing.kernel.errors import HeadError, ModelError
from probing.kernel.models.arrays import IGNORED
from probing.kernel.models.names import HEAD_KINDS, LOGIT_LENS, STORED, listed
from probing.kernel.options import spelled


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

#: Model type -> the parts of its head, which heads that are trained need.
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

    def __init__(self, dense: nn.Linear, activation: nn.Module, norm: nn.LayerNorm, vocabulary: nn.Linear):
        super().__init__()
        self.dense, self.activation, self.norm, self.vocabulary = dense, activation, norm, vocabulary

    def transform(self, states: torch.Tensor) -> torch.Tensor:
        """(positions, hidden) -> (positions, embedding), in the head's own precision."""
        made: torch.Tensor = self.norm(self.activation(self.dense(states.to(self.dense.weight.dtype))))
        return made

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """(positions, hidden) -> (positions, vocabulary) logits."""
        made: torch.Tensor = self.vocabulary(self.transform(states))
        return made

    @property
    def without(self) -> frozenset[int]:
        """Ids of the tokens that are never an answer."""
        assert self.vocabulary.bias is not None
        return frozenset((self.vocabulary.bias == NO_PLACE).nonzero().flatten().tolist())

    def trainable(self, kind: str) -> dict[str, nn.Parameter]:
        """The parameters that a head of this kind owns: all of them, or all but the vocabulary matrix."""
        if kind not in STORED:
            raise HeadError(f"a {kind!r} head has nothing to train; expected {listed(STORED)}")
        own = HEAD_KINDS[kind].own_vocabulary
        return {name: p for name, p in self.named_parameters() if own or name != "vocabulary.weight"}

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


class _OneState(tuple[torch.Tensor | None]):
    """The output of a body that has given its last hidden state and nothing else."""

    def __getattr__(self, name: str) -> torch.Tensor | None:
        return self[0] if name == "last_hidden_state" else None


class _Given(nn.Module):
    """In place of a body, whose other attributes it has: its last hidden state is what was given."""

    def __init__(self, body: PreTrainedModel):
        super().__init__()
        # No part of this module: its weights are not the head's.
        self.__dict__["body"] = body
        self.states: torch.Tensor | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["body"], name)

    def forward(self, *_args: Any, **_kwargs: Any) -> _OneState:
        return _OneState((self.states,))


class WholeHead(nn.Module):
    """All that a masked language model does between its last hidden state and the logits, by its own code."""

    def __init__(self, model: PreTrainedModel, without: Collection[int] = (), rows: int | None = None):
        super().__init__()
        prefix = model.base_model_prefix
        self.given, self.model = _Given(getattr(model, prefix)), copy.copy(model)
        self.model._modules = {**model._modules, prefix: self.given}
        #: Ids of the tokens that are never an answer.
        self.without, self.rows = frozenset(without), rows

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """(positions, hidden) -> (positions, vocabulary) logits."""
        self.given.states = states[None].to(next(self.parameters()).dtype)
        ids = torch.zeros(self.given.states.shape[:2], dtype=torch.long, device=states.device)
        try:
            logits: torch.Tensor = self.model(input_ids=ids).logits[0]
        finally:
            self.given.states = None
        if not self.without:
            return logits
        logits = F.pad(logits, (0, (self.rows or logits.shape[1]) - logits.shape[1]))
        return logits.index_fill(1, torch.tensor(sorted(self.without), device=logits.device), NO_PLACE)


Head = DecodingHead | WholeHead


def parts_of(head: Head) -> DecodingHead:
    """The head, if its parts are known; HeadError otherwise."""
    if isinstance(head, DecodingHead):
        return head
    raise HeadError(
        f"heads of {head.model.config.model_type} cannot be trained: their parts are known of {', '.join(PARTS)}; use"
        f" {spelled('head', LOGIT_LENS)}, which reads every layer by the model's own code"
    )


def _paths(config: PretrainedConfig) -> Parts | None:
    """Where the parts of the head of an architecture are; None if they are not known."""
    return PARTS.get(config.model_type) if getattr(config, "legacy", True) else _DEBERTA


def has_other_layout(config: PretrainedConfig, unexpected: Collection[str]) -> bool:
    """Whether a checkpoint has DeBERTa's head under the names of ``_DEBERTA``, without ``legacy`` in its settings."""
    return bool(getattr(config, "legacy", False)) and _DEBERTA.bias in unexpected


@torch.no_grad()
def give_bias(model: PreTrainedModel, missing: Collection[str]) -> set[str]:
    """Gives an untied vocabulary the bias that its checkpoint names otherwise; returns names no longer missing."""
    if not (parts := _paths(model.config)):
        return set()
    path = parts.vocabulary
    names = {f"{path}.bias", f"{path.rpartition('.')[0]}.bias"}
    here = {name: weight for name, weight in model.named_parameters(remove_duplicate=False) if name in names}
    if len(here) == 2 and len(lacking := names & set(missing)) == 1:
        here[min(lacking)].copy_(here[min(names - lacking)])
        return lacking
    return set()


@torch.no_grad()
def part_head(model: PreTrainedModel) -> None:
    """Gives a head that shares the word embeddings a matrix and a bias of its own, so that both are stored."""
    head: Any = model.get_output_embeddings()
    head.weight = nn.Parameter(head.weight.clone())
    if head.bias is not None:
        head.bias = nn.Parameter(head.bias.clone())
    model.config.tie_word_embeddings = False


def layout_of(config: PretrainedConfig) -> dict[str, bool]:
    """The setting that a configuration read from the same checkpoint needs for the same head; empty for most."""
    return {} if getattr(config, "legacy", True) else {"legacy": False}


def own_head(model: PreTrainedModel) -> Head:
    """The masked-LM head of a model, not copied: training one trains the other."""
    if not (parts := _paths(model.config)):
        if model.get_output_embeddings() is None:
            raise HeadError(f"{type(model).__name__} has no masked-LM head")
        return WholeHead(model)
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
    weight: nn.Parameter = matrix.weight if usual else _effective(matrix, dense.out_features)
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
    states = getattr(model, model.base_model_prefix)(**inputs).last_hidden_state[positions]
    logits: torch.Tensor = own_head(model)(states)
    return logits


def masked_loss(model: PreTrainedModel, inputs: Mapping[str, torch.Tensor], labels: torch.Tensor) -> torch.Tensor:
    """Mean cross-entropy in nats at the masked positions; ``labels``, (rows, tokens), is ``IGNORED`` elsewhere."""
    positions = labels != IGNORED
    return F.cross_entropy(masked_logits(model, inputs, positions).float(), labels[positions])


def pretrained_head(model: PreTrainedModel, body: PreTrainedModel | None = None) -> Head:
    """A copy of a model's masked-LM head that is not tied to its word embeddings; ``body`` is a copy of its body."""
    own = getattr(model, model.base_model_prefix)
    return copy.deepcopy(own_head(model), {id(own): body or own}).eval().requires_grad_(False)


def with_places(head: Head, without: Collection[int], rows: int) -> Head:
    """A head of ``rows`` tokens, of which those of the ids ``without`` are never an answer."""
    if isinstance(head, WholeHead):
        head = copy.copy(head)
        head.without, head.rows = frozenset(without), rows
        return head
    old, ids = head.vocabulary, sorted(set(range(rows)) - set(without))
    weight, bias = old.weight.new_zeros(rows, old.in_features), old.bias.new_full((rows,), NO_PLACE)
    weight[ids], bias[ids] = old.weight.detach()[ids], old.bias.detach()[ids]
    new = _linear(nn.Parameter(weight, requires_grad=False), nn.Parameter(bias, requires_grad=False))
    return DecodingHead(head.dense, head.activation, head.norm, new).eval()


def fresh_copy(head: Head, kind: str) -> DecodingHead:
    """A head to train, initialised from ``head``; all kinds except full share its vocabulary matrix.

    HeadError: the parts of the head are not known.
    """
    head = parts_of(head)
    matrix = nn.Linear(head.vocabulary.in_features, head.vocabulary.out_features, device="meta")
    weight = head.vocabulary.weight
    matrix.weight = nn.Parameter(weight.clone() if HEAD_KINDS[kind].own_vocabulary else weight, requires_grad=False)
    assert head.vocabulary.bias is not None
    matrix.bias = nn.Parameter(head.vocabulary.bias.clone(), requires_grad=False)
    fresh = DecodingHead(
        copy.deepcopy(head.dense), copy.deepcopy(head.activation), copy.deepcopy(head.norm), matrix
    ).eval()
    if HEAD_KINDS[kind].mapped:
        fresh.give_bias()
    return fresh
