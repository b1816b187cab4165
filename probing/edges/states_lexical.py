"""Layer 0 of edge probing: embeddings of word pieces after the layer norm, without positions and token types.

So the authors have it (jiant, branch ``ep_frozen_20190723``). ``hidden_states[0]`` of transformers has both, and a
probe of dependencies reads positions from it.
"""

from operator import attrgetter

import torch
from transformers import PreTrainedModel

from probing.kernel.errors import ModelError
from probing.kernel.models.head import PARTS

#: ESM scales its word embeddings by the share of tokens that its training left unmasked (Lin et al. 2022; transformers
#: fixes the number).
_NOT_MASKED_BY_ESM = 1 - 0.15 * 0.8
_WORDS = "embeddings.word_embeddings"
#: Model type -> the modules that turn token ids into layer 0, in order. A module with a question mark is skipped if the
#: model lacks it (ELECTRA projects its embeddings only if their size differs from that of the states).
STEPS = {
    **dict.fromkeys(PARTS, (_WORDS, "embeddings.LayerNorm")),
    "albert": (_WORDS, "embeddings.LayerNorm", "encoder.embedding_hidden_mapping_in"),
    "deberta": (_WORDS, "embeddings.embed_proj?", "embeddings.LayerNorm"),
    "deberta-v2": (_WORDS, "embeddings.embed_proj?", "embeddings.LayerNorm"),
    "electra": (_WORDS, "embeddings.LayerNorm", "embeddings_project?"),
    "esm": (_WORDS, "embeddings.layer_norm?"),
    "megatron-bert": (_WORDS,),
    "modernbert": ("embeddings.tok_embeddings", "embeddings.norm"),
    "xlm-roberta-xl": (_WORDS,),
}


def lexical_states(body: PreTrainedModel, ids: torch.Tensor) -> torch.Tensor:
    """Layer 0 without positions and token types: (rows, tokens) ids -> (rows, tokens, hidden)."""
    kind = body.config.model_type
    if kind not in STEPS:
        raise ModelError(f"got the model type {kind!r}, whose word embeddings are unknown; expected {', '.join(STEPS)}")
    states = ids
    for step in STEPS[kind]:
        name = step.rstrip("?")
        if step == name or _has(body, name):
            states = attrgetter(name)(body)(states)
        if step == _WORDS and getattr(body.config, "token_dropout", False):
            states = states * _NOT_MASKED_BY_ESM
    return states


def _has(body: PreTrainedModel, name: str) -> bool:
    try:
        return attrgetter(name)(body) is not None
    except AttributeError:
        return False
