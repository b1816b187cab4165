"""The settings that decide what a fine-tuning computes."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import AliasChoices, Field

from probing.kernel.provenance import Frozen

#: Fields that older recipes lack: left out of the canonical form at their defaults, which mean the earlier behaviour.
_LATER = (
    "pooling",
    "schedule",
    "beta2",
    "dropout",
    "fresh_pooler",
    "looks",
    "patience",
    "shuffled_labels",
    "frozen_layers",
    "replay",
    "replay_sha256",
    "average",
    "bfloat16",
)
#: The protection of a training without one.
UNPROTECTED = "unprotected"
#: Field of a recipe -> what it is called.
_PROTECTIONS = {"frozen_layers": "freeze", "replay": "replay", "average": "average"}


class FinetuneRecipe(Frozen):
    """Everything that decides what a fine-tuning computes.

    Either ``batch`` rows per step for ``epochs``, or about ``tokens_per_step`` padded tokens per step for ``steps``.
    """

    objective: str
    base_weights: str
    data_sha256: str
    learning_rate: float
    epochs: float = 3.0
    batch: int = 32
    steps: int = 0
    # Stored, and so hashed, by its first name.
    tokens_per_step: int = Field(
        default=0,
        validation_alias=AliasChoices("tokens_per_step", "tokens_a_step"),
        serialization_alias="tokens_a_step",
    )
    warm_up: float = 0.1
    weight_decay: float = 0.01
    max_pieces: int = 384
    stride: int = 128
    masked_share: float = 0.15
    freeze_embeddings: bool = False
    seed: int = 1
    #: What a head that labels a whole sentence reads: the first token's state, or the mean with special tokens.
    pooling: Literal["first", "mean"] = "first"
    #: Of the learning rate after the warm-up: linear to 0, or constant.
    schedule: Literal["linear", "constant"] = "linear"
    beta2: float = Field(0.999, gt=0, lt=1)
    #: Everywhere in the model; None: the base's.
    dropout: float | None = Field(None, ge=0, lt=1)
    #: Whether the dense layer below such a head is initialised at random, even if the base has one.
    fresh_pooler: bool = False
    #: How often it is scored on the development part, at equal intervals, to keep the best state; 0: the last one.
    looks: int = Field(0, ge=0)
    #: Looks without a better score after which the training ends; 0: it takes all its steps.
    patience: int = Field(0, ge=0)
    #: Whether the training rows have exchanged their labels: the control of the task.
    shuffled_labels: bool = False
    #: Lowest layers that keep the base's weights, with the embeddings below them.
    frozen_layers: int = Field(0, ge=0)
    #: Share of each batch's tokens that are the base's own text, for masked language modelling.
    replay: float = Field(0.0, ge=0, lt=1)
    replay_sha256: str = ""
    #: Weight of the base in the mean of both models' weights after the training (WiSE-FT, Wortsman et al. 2022).
    average: float = Field(0.0, ge=0, le=1)
    #: Whether products are computed in bfloat16; weights, optimiser, softmax and loss are in float32.
    bfloat16: bool = False

    def fields(self) -> dict[str, Any]:
        """The canonical fields, as noted in a model's folder."""
        defaults = {name: type(self).model_fields[name].default for name in _LATER}
        return {
            name: value
            for name, value in self.model_dump(by_alias=True).items()
            if name not in defaults or value != defaults[name]
        }

    def canonical(self) -> str:
        """Canonical JSON, the form that is compared and stored."""
        return _canonical(self.fields())


def variant_of(recipe: Mapping[str, Any]) -> str:
    """What fine-tunings share that differ by seed alone: 12 digits of the canonical recipe's sha256 without it."""
    fields = FinetuneRecipe.model_validate(dict(recipe)).fields()
    fields.pop("seed")
    return hashlib.sha256(_canonical(fields).encode()).hexdigest()[:12]


def protection_of(recipe: Mapping[str, Any]) -> str:
    """What a recipe does against forgetting, in words; empty if it is none.

    >>> protection_of({"objective": "cola"}), protection_of({"objective": "cola", "frozen_layers": 4, "average": 0.5})
    ('unprotected', 'freeze 4, average 0.5')
    """
    words = [f"{word} {recipe[name]:g}" for name, word in _PROTECTIONS.items() if recipe.get(name)]
    return (", ".join(words) or UNPROTECTED) if recipe else ""


def protection_in_words(protection: str) -> str:
    """What ``protection_of`` names, for readers.

    >>> protection_in_words("freeze 4, average 0.5"), protection_in_words("unprotected")
    ('lowest 4 layers frozen, 50 % old weights', 'plain')
    """
    if protection == UNPROTECTED:
        return "plain"
    phrases = []
    for part in protection.split(", "):
        name, _, number = part.partition(" ")
        if name == "freeze":
            phrases.append(f"lowest {number} layers frozen")
        elif name in ("replay", "average"):
            phrases.append(f"{100 * float(number):g} % old {'text' if name == 'replay' else 'weights'}")
        else:
            phrases.append(part)
    return ", ".join(phrases)


def _canonical(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, sort_keys=True, separators=(",", ":"))
