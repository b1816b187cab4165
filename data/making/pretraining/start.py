"""The model and the vocabulary at the start of a pre-training."""

from collections.abc import Iterable
from pathlib import Path

import torch
from transformers import AutoTokenizer, BertForMaskedLM, PreTrainedTokenizerBase

from data.making.pretraining.train import PretrainRecipe, new_model
from data.making.pretraining.vocabulary import train_vocabulary
from probing.kernel.errors import ModelError
from probing.kernel.files import atomic_folder


def fresh_start(
    recipe: PretrainRecipe, kept: Path, texts: Iterable[str], size: int, must_hold: Iterable[str]
) -> tuple[BertForMaskedLM, PreTrainedTokenizerBase]:
    """A model with new weights, and its vocabulary, which is kept in ``kept``: a resumed run needs that it started
    with.
    """
    if not kept.is_dir():
        with atomic_folder(kept) as folder:
            train_vocabulary(texts, size, must_hold).save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(kept)
    return new_model(recipe, len(tokenizer)), tokenizer


def continued_start(recipe: PretrainRecipe, folder: Path) -> tuple[BertForMaskedLM, PreTrainedTokenizerBase]:
    """A model of an earlier training, with its vocabulary; raises a ``ModelError`` if its shape is not the recipe's."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = BertForMaskedLM.from_pretrained(folder, dtype=torch.float32)
    shape = (model.config.num_hidden_layers, model.config.hidden_size)
    if shape != (recipe.layers, recipe.hidden):
        raise ModelError(
            f"{folder} has {shape} layers and hidden size, the options {(recipe.layers, recipe.hidden)}; make them"
            " agree"
        )
    return model, tokenizer
