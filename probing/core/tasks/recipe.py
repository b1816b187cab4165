"""What decides what a fine-tuning computes."""

import json

from pydantic import BaseModel, ConfigDict


class FinetuneRecipe(BaseModel):
    """Everything that decides what a fine-tuning computes.

    Either ``batch`` rows a step for ``epochs`` passes, or about ``tokens_a_step`` padded tokens a step for ``steps`` steps.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    objective: str
    base_weights: str
    data_sha256: str
    learning_rate: float
    epochs: float = 3.0
    batch: int = 32
    steps: int = 0
    tokens_a_step: int = 0
    warm_up: float = 0.1
    weight_decay: float = 0.01
    max_pieces: int = 384
    stride: int = 128
    masked_share: float = 0.15
    freeze_embeddings: bool = False
    seed: int = 1

    def canonical(self) -> str:
        """Canonical JSON, the form that is compared and stored."""
        return json.dumps(self.model_dump(), sort_keys=True, separators=(",", ":"))
