"""Encoders of the same shape with random weights, a baseline: what a probe reads there is not due to pre-training."""

import copy
import hashlib
from contextlib import suppress
from dataclasses import replace
from operator import attrgetter

import torch
from transformers import AutoModel, PreTrainedModel

from probing.kernel.errors import OptionError
from probing.kernel.models.load import Encoder
from probing.kernel.provenance import RANDOM, RANDOM_BODY, TRAINED

#: Seed of the random weights. It is fixed, because another draw is another encoder.
SEED = 0


def encoder_of_kind(encoder: Encoder, kind: str) -> Encoder:
    """The encoder itself (``trained``), or one of its shape with random weights, whose identity names the kind.

    ``random``: as before pre-training; ``random-body``: only the layers, on top of the trained embeddings.
    """
    if kind == TRAINED:
        return encoder
    if kind not in (RANDOM, RANDOM_BODY):
        raise OptionError(f"got the encoder {kind!r}, expected {TRAINED}, {RANDOM} or {RANDOM_BODY}")
    parameter = next(encoder.body.parameters())
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        # A config that sets its attention kernels is copied, because from_config may write into it.
        body = AutoModel.from_config(copy.deepcopy(encoder.body.config)).to(parameter.dtype)
    if kind == RANDOM_BODY:
        for name in embedding_modules(encoder.body):
            attrgetter(name)(body).load_state_dict(attrgetter(name)(encoder.body).state_dict())
    body = body.eval().requires_grad_(False).to(encoder.device)
    identity = hashlib.sha256(f"{encoder.weights_id}+{kind}+{SEED}".encode()).hexdigest()
    return replace(encoder, body=body, weights_id=identity)


def embedding_modules(body: PreTrainedModel) -> tuple[str, ...]:
    """Names of the modules of the embeddings, the only trained ones that a ``random-body`` encoder keeps."""
    projection = {"albert": "encoder.embedding_hidden_mapping_in", "electra": "embeddings_project"}.get(
        body.config.model_type, ""
    )
    with suppress(AttributeError):
        if projection and attrgetter(projection)(body) is not None:
            return "embeddings", projection
    return ("embeddings",)
