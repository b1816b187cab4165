"""A model with the base that it is compared with."""

from dataclasses import dataclass, replace
from pathlib import Path

from probing.core.errors import ModelError, ProbingError
from probing.core.model_folders import base_entry, find_entry, variant_and_seed
from probing.core.options import spelled
from probing.core.registry import ModelEntry
from probing.models.encoders.catalogue import at_same_commits, open_base, open_encoder
from probing.models.encoders.load import Encoder


@dataclass(frozen=True)
class Opened:
    """A model and its record.

    Attributes:
        encoder: the model.
        base: the model that it was fine-tuned from; None for a base.
        objective, variant, tuned_seed: as in runs.
    """

    encoder: Encoder
    base: Encoder | None
    objective: str
    variant: str
    tuned_seed: int | None


def open_models(model: str, base: str | None, device: str, name: str | None, revision: str | None = None) -> Opened:
    """A model and its base, if it has one.

    Raises:
        ModelError: if one of them cannot be loaded, or the base is not the one that was fine-tuned, has another shape, or the model's name.
        HeadError: if the model has no head and no base is known.
    """
    entry = find_entry(model, base, name, revision)
    encoder = open_encoder(model, base, device, name=name, revision=revision)
    return with_base(encoder, at_same_commits(entry, encoder))


def with_base(encoder: Encoder, entry: ModelEntry) -> Opened:
    """A loaded model with its base and its record; raises as ``open_models``."""
    variant, seed = variant_and_seed(Path(entry.location))
    return Opened(encoder, opened_base(encoder, entry), entry.objective, variant, seed)


def opened_base(encoder: Encoder, entry: ModelEntry) -> Encoder | None:
    """The model that a loaded one was fine-tuned from; None if it was not.

    Args:
        encoder: the loaded model.
        entry: its record.

    Raises:
        ModelError: if the base cannot be loaded, is not the one that was fine-tuned, has another shape, or the model's name.
    """
    origin = base_entry(entry)
    if origin is None:
        return None
    try:
        found = open_base(entry)
    except ProbingError as error:
        raise ModelError(
            f"{encoder.name} was fine-tuned from {origin.name}, which cannot be used: {error}; name its folder ({spelled('base')})"
        ) from error
    found.body.to(encoder.device)  # type: ignore[arg-type]  # transformers wraps it
    found = replace(found, name=origin.name, device=encoder.device)
    if entry.base_weights and found.identity != entry.base_weights:
        raise ModelError(
            f"the base {origin.name} has weights {found.identity[:12]}, {encoder.name} was fine-tuned from {entry.base_weights[:12]}; "
            f"name the folder of the original base ({spelled('base')})"
        )
    if (found.layers, found.hidden) != (encoder.layers, encoder.hidden):
        raise ModelError(
            f"{encoder.name} has {encoder.layers} layers of {encoder.hidden}, {origin.name} has {found.layers} of {found.hidden}, so it is "
            f"not its base; name another ({spelled('base')})"
        )
    if found.name == encoder.name:
        raise ModelError(f"{encoder.name} and its base have the same name; give the model another with {spelled('name')}")
    return found
