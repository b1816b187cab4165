"""From a name in the registry, a hub id or a folder to an encoder and its heads."""

import json
from collections.abc import Sequence
from pathlib import Path

import torch

from probing.core.errors import ModelError, RegistryError
from probing.core.places import cache_folder
from probing.core.registry import ModelEntry, read_registry
from probing.models.encoders import Encoder, load_encoder
from probing.models.head_files import head_path
from probing.models.live import LiveModel, load_live

#: What ``finetune`` writes beside a model: its base, objective, recipe, losses and scores.
FINETUNING = "finetuning.json"


def find_entry(model: str, base: str | None = None) -> ModelEntry:
    """The registry's entry of that name, or one made for a local folder or hub id that is not in it.

    Raises:
        ModelError: for a path that is no folder, or a folder whose note of ``finetune`` is torn.
    """
    try:
        entry = read_registry().model(model)
    except RegistryError:
        kept = cache_folder() / "models" / model
        folder = kept if (kept / "config.json").is_file() else Path(model).expanduser()
        if not folder.is_dir() and (model.startswith((".", "/", "~")) or model.count("/") > 1):
            raise ModelError(f"no folder {model}; expected a model folder, a hub id or a name of the registry") from None
        where = str(folder.resolve()) if folder.is_dir() else model
        entry = ModelEntry(name=folder.name, source=where, licence="unknown", objective="unknown")
        if (note := folder / FINETUNING).is_file():
            try:
                made = json.loads(note.read_text(encoding="utf-8"))
                entry = entry.model_copy(update={"base": made["base"], "objective": made["objective"]})
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise ModelError(f"{note} is not what finetune writes ({error!r}); fine-tune the model again") from error
    local = cache_folder() / "models" / entry.name
    if not entry.shipped and entry.source != str(local) and (local / "config.json").is_file():
        # A copy that `fetch --from` brought stands in for the hub.
        entry = entry.model_copy(update={"source": str(local), "revision": ""})
    return entry.model_copy(update={"base": base}) if base else entry


def open_encoder(model: str, base: str | None = None, device: str = "auto", dtype: torch.dtype = torch.float32) -> Encoder:
    """Loads a model by registry name, hub id or folder, with its base's head where it has none of its own.

    Raises:
        ModelError: if it cannot be loaded.
        HeadError: if it has no head and no base is known.
    """
    entry = find_entry(model, base)
    base_entry = find_entry(entry.base) if entry.base else None
    return load_encoder(
        entry.location,
        name=entry.name,
        base=base_entry.location if base_entry else None,
        base_name=base_entry.name if base_entry else None,
        revision=entry.revision or None,
        base_revision=(base_entry.revision or None) if base_entry else None,
        device=device,
        dtype=dtype,
    )


def trained_heads_folder(encoder: Encoder, kind: str, seed: int, cache: Path) -> Path:
    """Where ``train-heads`` puts heads of this encoder, kind and seed."""
    return cache / "heads" / encoder.identity[:16] / f"{kind}-seed{seed}"


def heads_folder(model: str, encoder: Encoder, kind: str, cache: Path, seed: int = 0, layers: Sequence[int] | None = None) -> Path | None:
    """Where this encoder's heads of a kind lie: beside a shipped model, else in the cache; None where a layer has none."""
    candidates = [trained_heads_folder(encoder, kind, seed, cache)]
    if seed == 0:
        candidates.insert(0, Path(find_entry(model).location) / "heads" / kind)
    for folder in candidates:
        # Heads may still be in training: only a whole set counts.
        if all(head_path(folder, layer).is_file() for layer in layers or range(encoder.layers + 1)):
            return folder
    return None


def open_live(model: str, kind: str, cache: Path, device: str = "auto", base: str | None = None) -> LiveModel:
    """A model with a head for every layer, ready to be asked.

    Raises:
        ModelError, HeadError: if model or heads are not there or do not fit.
    """
    encoder = open_encoder(model, base, device)
    folder = None if kind == "lens" else heads_folder(model, encoder, kind, cache)
    return load_live(encoder, kind, folder)
