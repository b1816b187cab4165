"""One digest of everything but the weights that decides a model's output: configuration and tokenizer.

A setting counts unless it is listed here as one that cannot change the output of a frozen encoder, or has its default,
so that a short ``config.json`` and the same one in full are equal. Of the tokenizer count its tokens by id and its
casing, because they decide which rows of the embeddings a word selects.
"""

import hashlib
import json
from collections.abc import Iterable

from transformers import PretrainedConfig, PreTrainedTokenizerBase

from probing.kernel.provenance_tokenizer_ids import tokens_checksum

#: Settings that cannot change the output of a frozen encoder: origin, storage, settings of a task's head or of
#: generation, and outputs other than the hidden states.
WITHOUT_EFFECT = frozenset(
    {
        "_name_or_path",
        "name_or_path",
        "_commit_hash",
        "transformers_version",
        "architectures",
        "auto_map",
        "dtype",
        "torch_dtype",
        "id2label",
        "label2id",
        "num_labels",
        "problem_type",
        "finetuning_task",
        "task_specific_params",
        "classifier_activation",
        "classifier_bias",
        "classifier_pooling",
        "summary_activation",
        "summary_type",
        "summary_use_proj",
        "use_cache",
        "return_dict",
        "output_attentions",
        "output_hidden_states",
        "torchscript",
        "gradient_checkpointing",
        "language",
        "model_name",
    }
)
#: Model type -> settings that count in spite of their name: ModernBERT's masked-LM head has those of its classifiers,
#: and ESM scales its embeddings by the share of tokens that are not masked.
WITH_EFFECT = {"modernbert": ("classifier_activation", "classifier_bias"), "esm": ("token_dropout",)}
#: Parts of the names of settings that only training uses.
ONLY_IN_TRAINING = ("dropout", "initializer")


def configuration_digest(config: PretrainedConfig) -> str:
    """sha256 over the settings that decide an encoder's output, independent of its name and location."""
    defaults, counted = type(config)().to_dict(), WITH_EFFECT.get(config.model_type, ())
    deciding = {
        name: value
        for name, value in config.to_dict().items()
        if name in counted or (name not in WITHOUT_EFFECT and not any(part in name for part in ONLY_IN_TRAINING))
        if name == "model_type" or name not in defaults or value != defaults[name]
    }
    return hashlib.sha256(json.dumps(deciding, sort_keys=True, separators=(",", ":"), default=str).encode()).hexdigest()


def casing_of(tokenizer: PreTrainedTokenizerBase) -> str:
    """``cased`` if a tokenizer keeps capital letters, else ``uncased``."""
    normalizer = tokenizer.backend_tokenizer.normalizer
    return (
        "uncased"
        if normalizer and not any(letter.isupper() for letter in normalizer.normalize_str("Paris"))
        else "cased"
    )


def tokens_of(tokenizer: PreTrainedTokenizerBase) -> list[str]:
    """The tokens by id."""
    return [str(token) for token in tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))]


def computation_digest(configs: Iterable[PretrainedConfig], tokenizer: PreTrainedTokenizerBase) -> str:
    """sha256 over the configurations of an encoder's body and head, one if they are equal, and over its tokenizer."""
    parts = [
        *dict.fromkeys(map(configuration_digest, configs)),
        tokens_checksum(tokens_of(tokenizer)),
        casing_of(tokenizer),
    ]
    return hashlib.sha256("+".join(parts).encode()).hexdigest()
