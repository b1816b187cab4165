"""Layer 0 of edge probing: embeddings of word pieces without their position.

The authors' layer 0 is the word embedding after the embeddings' layer norm, without positions and token types (jiant, branch
``ep_frozen_20190723``). ``hidden_states[0]`` of transformers has both, and a probe of dependencies reads positions from it.
"""

from operator import attrgetter

import torch
from transformers import PreTrainedModel

from probing.core.errors import ModelError

#: Model type -> the modules that turn token ids into layer 0, in order. A module with a question mark is skipped if the model lacks it
#: (ELECTRA projects its embeddings only if their size differs from that of the states).
STEPS = {
    "bert": ("embeddings.word_embeddings", "embeddings.LayerNorm"),
    "roberta": ("embeddings.word_embeddings", "embeddings.LayerNorm"),
    "distilbert": ("embeddings.word_embeddings", "embeddings.LayerNorm"),
    "electra": ("embeddings.word_embeddings", "embeddings.LayerNorm", "embeddings_project?"),
    "albert": ("embeddings.word_embeddings", "embeddings.LayerNorm", "encoder.embedding_hidden_mapping_in"),
    "modernbert": ("embeddings.tok_embeddings", "embeddings.norm"),
}


def lexical_states(body: PreTrainedModel, ids: torch.Tensor) -> torch.Tensor:
    """Layer 0 without positions and token types: (rows, tokens) ids -> (rows, tokens, hidden).

    Raises:
        ModelError: if the architecture is none of ``STEPS``.
    """
    kind = body.config.model_type
    if kind not in STEPS:
        raise ModelError(f"got the model type {kind!r}, whose word embeddings are unknown; expected {', '.join(STEPS)}")
    states = ids
    for step in STEPS[kind]:
        name = step.rstrip("?")
        if step == name or hasattr(body, name):
            states = attrgetter(name)(body)(states)
    return states


def embedding_modules(body: PreTrainedModel) -> tuple[str, ...]:
    """Names of the modules of the embeddings, the only trained ones that a ``random-body`` encoder keeps."""
    projections = {"albert": ("encoder.embedding_hidden_mapping_in",), "electra": ("embeddings_project",)}
    return "embeddings", *(name for name in projections.get(body.config.model_type, ()) if _has(body, name))


def _has(body: PreTrainedModel, name: str) -> bool:
    try:
        attrgetter(name)(body)
    except AttributeError:
        return False
    return True
