"""Finds what is known of a model by its registry name, hub id or folder, without loading it."""

import json
from pathlib import Path
from typing import Any

from probing.core.errors import ModelError, RegistryError
from probing.core.paths import cache_folder
from probing.core.registry import ModelEntry, name_of_model, read_registry
from probing.core.tasks.recipe import FinetuneRecipe, variant_of

#: What ``finetune`` writes to a model's folder: its base, objective, recipe, losses and scores.
FINETUNING = "finetuning.json"


def finetuning_note(folder: Path) -> dict[str, Any]:
    """The note of ``finetune`` in a model's folder; empty if there is none.

    Raises:
        ModelError: if the note cannot be read.
    """
    note = folder / FINETUNING
    if not note.is_file():
        return {}
    try:
        made = json.loads(note.read_text(encoding="utf-8"))
        if not isinstance(made, dict):
            raise TypeError(f"got {type(made).__name__}, expected an object")
        return made
    except (OSError, ValueError, TypeError) as error:
        raise _not_written_by_finetune(note, error) from error


def variant_and_seed(folder: Path) -> tuple[str, int | None]:
    """The variant of a fine-tuned model (``core.tasks.recipe.variant_of``) and its seed; ``""`` and None if no recipe is noted.

    Raises:
        ModelError: if the note is damaged.
    """
    recipe = finetuning_note(folder).get("recipe")
    if not recipe:
        return "", None
    try:
        return variant_of(recipe), FinetuneRecipe.model_validate(recipe).seed
    except (ValueError, TypeError) as error:
        raise _not_written_by_finetune(folder / FINETUNING, error) from error


def find_entry(model: str, base: str | None = None, name: str | None = None) -> ModelEntry:
    """The registry's entry of that name, or one made for a local folder or hub id that is not in it.

    Args:
        model: name of the registry, folder, or hub id.
        base: replaces the base that is known.
        name: how results call the model; its own name by default.

    Raises:
        ModelError: for an empty text, a path that is no folder, a folder whose note of ``finetune`` is damaged, or a ``name`` that is not
            allowed.
    """
    if not model.strip():
        raise ModelError(f"got the model {model!r}; expected a name of the registry, a folder or a hub id")
    try:
        entry = _at_hand(read_registry().model(model))
    except RegistryError:
        kept = cache_folder() / "models" / model
        folder = kept if (kept / "config.json").is_file() else Path(model).expanduser()
        if not folder.is_dir() and (model.startswith((".", "/", "~")) or model.count("/") > 1):
            raise ModelError(f"no folder {model}; expected a model folder, a hub id or a name of the registry") from None
        where = str(folder.resolve()) if folder.is_dir() else model
        entry = ModelEntry(name=name_of_model(folder), source=where, licence="unknown", objective="unknown")
        entry = entry.model_copy(update=_base_noted(folder)) if folder.is_dir() else _at_hand(entry)
    if name is not None:
        check_name(name, entry.name)
        entry = entry.model_copy(update={"name": name})
    return entry.model_copy(update={"base": base, "base_folder": ""}) if base else entry


def _at_hand(entry: ModelEntry) -> ModelEntry:
    """The entry; a local copy that ``fetch --from`` made, if there is one, replaces the hub."""
    local = cache_folder() / "models" / entry.name
    if entry.shipped or not (local / "config.json").is_file():
        return entry
    return entry.model_copy(update={"source": str(local), "revision": ""})


def _base_noted(folder: Path) -> dict[str, str]:
    """Base and objective from the note of ``finetune``, as fields of an entry; empty if there is no note."""
    if not (folder / FINETUNING).is_file():
        return {}
    made = finetuning_note(folder)
    try:
        weights = made.get("recipe", {}).get("base_weights", "")
        found = {"base": made["base"], "objective": made["objective"], "base_folder": made.get("base_folder", ""), "base_weights": weights}
        if not all(isinstance(value, str) for value in found.values()):
            raise TypeError("expected texts")
        return found
    except (KeyError, TypeError, AttributeError) as error:
        raise _not_written_by_finetune(folder / FINETUNING, error) from error


def _not_written_by_finetune(note: Path, error: Exception) -> ModelError:
    return ModelError(f"{note} is not what finetune writes ({error!r}); fine-tune the model again")


def check_name(name: str, own: str = "") -> None:
    """Raises a ``ModelError`` for a name that is malformed, or that belongs to another model of the registry than ``own``."""
    if not name.strip() or not name.isprintable() or name.startswith((".", "/", "~", "-")) or "\\" in name:
        raise ModelError(f"got the name {name!r}; expected letters, digits and signs such as - and /, as in my-run/step-500")
    known = {other.name for other in read_registry().models}
    if name in known and own != name:
        raise ModelError(f"{name} is the name of another model of the registry; choose another --name")


def base_entry(entry: ModelEntry) -> ModelEntry | None:
    """The entry of a model's base: the folder that ``finetune`` read if it still exists, else by name. None if the model has no base.

    Raises:
        ModelError: as ``find_entry``.
    """
    if not entry.base:
        return None
    folder = Path(entry.base_folder)
    named = find_entry(entry.base)
    by_name = named.shipped or Path(named.source).is_dir()
    if entry.base_folder and ((folder / "config.json").is_file() or not by_name):
        return ModelEntry(name=entry.base, source=entry.base_folder, licence="unknown", objective="unknown")
    return named
