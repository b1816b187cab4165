"""The model and the vocabulary that a pre-training starts with."""

from collections.abc import Iterable
from pathlib import Path

import torch
from transformers import AutoTokenizer, BertForMaskedLM, PreTrainedTokenizerBase

from probing.core.errors import ModelError
from probing.core.files.atomic import atomic_folder
from probing.models.pretraining.train import PretrainRecipe, new_model
from probing.models.pretraining.vocabulary import train_vocabulary


def fresh_start(
    recipe: PretrainRecipe, kept: Path, texts: Iterable[str], size: int, must_hold: Iterable[str]
) -> tuple[BertForMaskedLM, PreTrainedTokenizerBase]:
    """A model with new weights, and its vocabulary.

    Args:
        recipe: the model's shape and seed.
        kept: folder of the tokenizer: a run that goes on must go on with the vocabulary that it began with.
        texts: what the vocabulary is learnt from.
        size: of the vocabulary.
        must_hold: words that are tokens of their own.
    """
    if not kept.is_dir():
        with atomic_folder(kept) as folder:
            train_vocabulary(texts, size, must_hold).save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(kept)
    return new_model(recipe, len(tokenizer)), tokenizer


def continued_start(recipe: PretrainRecipe, folder: Path) -> tuple[BertForMaskedLM, PreTrainedTokenizerBase]:
    """A model that was trained before, with its vocabulary; raises a ``ModelError`` if it has another shape than the recipe."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = BertForMaskedLM.from_pretrained(folder, dtype=torch.float32)
    shape = (model.config.num_hidden_layers, model.config.hidden_size)
    if shape != (recipe.layers, recipe.hidden):
        raise ModelError(f"{folder} has {shape} layers and hidden size, the options say {(recipe.layers, recipe.hidden)}; make them agree")
    return model, tokenizer
