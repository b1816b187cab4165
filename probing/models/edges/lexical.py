"""Layer 0 as edge probing reads it: what a word piece is, wherever it is.

The authors' layer 0 is the word embedding behind the embeddings' layer norm, without positions and token types (jiant, branch
``ep_frozen_20190723``). ``hidden_states[0]`` of transformers has both, and a probe of dependencies reads positions from it.
"""

from operator import attrgetter

import torch
from transformers import PreTrainedModel

from probing.core.errors import ModelError

#: Model type -> the modules that make layer 0 of token ids, one after the other; one that the model lacks is left out where it is marked
#: with a question mark (ELECTRA projects its embeddings only where their size differs).
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
        ModelError: for an architecture whose embeddings are not known.
    """
    kind = body.config.model_type
    if kind not in STEPS:
        raise ModelError(f"where {kind!r} keeps its word embeddings is not known; known are {', '.join(STEPS)}")
    states = ids
    for step in STEPS[kind]:
        name = step.rstrip("?")
        if step == name or hasattr(body, name):
            states = attrgetter(name)(body)(states)
    return states


def embedding_modules(body: PreTrainedModel) -> tuple[str, ...]:
    """Names of the modules that make the embeddings: all that is kept where only the layers above them are random."""
    projections = {"albert": ("encoder.embedding_hidden_mapping_in",), "electra": ("embeddings_project",)}
    return "embeddings", *(name for name in projections.get(body.config.model_type, ()) if _has(body, name))


def _has(body: PreTrainedModel, name: str) -> bool:
    try:
        attrgetter(name)(body)
    except AttributeError:
        return False
    return True
