"""Opens encoders and finds their heads by registry name, hub id or folder."""

import shlex
from pathlib import Path

import torch

from probing.core.errors import ModelError
from probing.core.model_folders import base_entry, find_entry
from probing.core.registry import ModelEntry, where_data_are
from probing.models.encoders.load import BaseSource, Encoder, joint_identity, load_encoder


def open_base(entry: ModelEntry, device: str = "cpu") -> Encoder:
    """Loads the base of an entry that has one.

    Raises:
        ModelError, HeadError: if it cannot be loaded.
    """
    origin = base_entry(entry)
    return open_encoder(origin.source if origin and origin.source == entry.base_folder else entry.base, None, device)


def open_encoder(
    model: str, base: str | None = None, device: str = "auto", dtype: torch.dtype = torch.float32, name: str | None = None
) -> Encoder:
    """Loads a model by registry name, hub id or folder, with its base's head if it has no own one.

    Raises:
        ModelError: if it cannot be loaded, or the base is not the one that it was fine-tuned from.
        HeadError: if it has no head and no base is known.
    """
    entry = find_entry(model, base, name)
    origin = base_entry(entry)
    if lacking := next((one.name for one in (entry, origin) if one and one.lacks_data), None):
        raise ModelError(where_data_are(lacking))
    options = {"--model": model, "--base": base, "--name": name}
    return load_encoder(
        entry.location,
        name=entry.name,
        base=BaseSource(origin.location, origin.name, entry.base_weights, origin.revision or None) if origin else None,
        revision=entry.revision or None,
        device=device,
        dtype=dtype,
        options=" ".join(f"{option} {shlex.quote(str(value))}" for option, value in options.items() if value is not None),
    )


def heads_of(encoder: Encoder, cache: Path) -> tuple[Path, Path]:
    """The two folders of an encoder's trained heads: by its weights, and by weights and configuration."""
    return cache / "heads" / encoder.identity[:16], cache / "heads" / joint_identity(encoder.identity, encoder.configuration)[:16]
