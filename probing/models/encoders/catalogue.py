"""Opens encoders and finds their heads by registry name, hub id or folder."""

import shlex
from pathlib import Path

import torch
from transformers import AutoConfig

from probing.core.errors import ModelError
from probing.core.model_folders import base_entry, find_entry
from probing.core.registry import ModelEntry, read_registry, where_data_are
from probing.models.encoders.load import BaseSource, Encoder, is_local_only, joint_identity, load_encoder
from probing.models.encoders.usable import broken_files_named


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
        ModelError: if it cannot be loaded, the base that is named does not exist, or it is not the one that it was fine-tuned from.
        HeadError: if it has no head and no base is known.
    """
    entry = find_entry(model, base, name)
    origin = base_entry(entry)
    if lacking := next((one.name for one in (entry, origin) if one and one.lacks_data), None):
        raise ModelError(where_data_are(lacking))
    if base is not None:
        require_base(entry)
    options = {"--model": model, "--base": base, "--name": name}
    try:
        return load_encoder(
            entry.location,
            name=entry.name,
            base=BaseSource(origin.location, origin.name, entry.base_weights, origin.revision or None) if origin else None,
            revision=entry.revision or None,
            device=device,
            dtype=dtype,
            options=" ".join(f"{option} {shlex.quote(str(value))}" for option, value in options.items() if value is not None),
        )
    except ModelError as error:
        known = [one.name for one in read_registry().models]
        if model in known or Path(entry.source).is_dir() or not isinstance(error.__cause__, OSError):
            raise
        raise ModelError(f"{model!r} is neither a name of the registry ({', '.join(known)}) nor a folder; {error}") from error


def require_base(entry: ModelEntry) -> None:
    """Checks that the base of an entry exists, without loading its weights. A model of the registry counts as existing.

    Raises:
        ModelError: if its configuration cannot be read.
    """
    origin = base_entry(entry)
    if origin is None or origin.name in {one.name for one in read_registry().models}:
        return
    try:
        with broken_files_named(origin.location):
            AutoConfig.from_pretrained(origin.location, local_files_only=is_local_only(), trust_remote_code=False)
    except ModelError as error:
        raise ModelError(f"the base {entry.base} cannot be used: {error}; name another (--base)") from error


def heads_of(encoder: Encoder, cache: Path) -> tuple[Path, Path]:
    """The two folders of an encoder's trained heads: by its weights, and by weights and configuration."""
    return cache / "heads" / encoder.identity[:16], cache / "heads" / joint_identity(encoder.identity, encoder.configuration)[:16]
