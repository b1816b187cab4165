"""Finds what is known of a model by its registry name, hub id or folder, without loading it."""

import json
from pathlib import Path
from typing import Any

from probing.finetuning.recipe import FinetuneRecipe, variant_of
from probing.kernel.errors import ModelError
from probing.kernel.files_paths import cache_folder
from probing.kernel.models.names_folders import own_model_folders
from probing.kernel.options import spelled
from probing.kernel.provenance import COMMIT
from probing.kernel.registry import ModelEntry, name_of_model, read_registry

#: What ``finetune`` writes to a model's folder: its base, objective, recipe, losses and scores.
FINETUNING = "finetuning.json"


def finetuning_note(folder: Path) -> dict[str, Any]:
    """The note of ``finetune`` in a model's folder; empty if there is none."""
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
    """A fine-tuned model's variant (``finetuning.recipe.variant_of``) and seed; ``""`` and None without a recipe."""
    recipe = finetuning_note(folder).get("recipe")
    if not recipe:
        return "", None
    try:
        return variant_of(recipe), FinetuneRecipe.model_validate(recipe).seed
    except (ValueError, TypeError) as error:
        raise _not_written_by_finetune(folder / FINETUNING, error) from error


def find_entry(model: str, base: str | None = None, name: str | None = None, revision: str | None = None) -> ModelEntry:
    """The registry's entry of that name or hub id, or one made for a folder or hub id that is not in it.

    A model of the hub is called ``NAME`` of ``OWNER/NAME``; by its full id if ``NAME`` is another model of the
    registry; at a revision that is neither its main branch nor what the registry pins, ``NAME@REVISION``. Names in a
    folder that ``PROBING_MODELS`` names are found, too. ``base``, ``name`` and ``revision`` replace what is known.
    """
    if not model.strip():
        raise ModelError(f"got the model {model!r}; expected a name of the registry, a folder or a hub id")
    try:
        entry = _known(model)
    except (OSError, RuntimeError) as error:
        # A name that is too long for the file system, or the home folder of a user that does not exist.
        raise ModelError(
            f"got the model {model[:80]!r}, which can be no folder: {error}; expected a folder, a hub id or a name"
        ) from None
    if revision is not None:
        entry = at_revision(entry, revision)
    if name is not None:
        check_name(name, entry.name)
        entry = entry.model_copy(update={"name": name})
    return entry.model_copy(update={"base": base, "base_folder": "", "base_source": ""}) if base else entry


def _known(model: str) -> ModelEntry:
    """The entry of a model, as ``find_entry`` finds it without further options."""
    listed = read_registry().models
    if entry := next((candidate for candidate in listed if candidate.name == model), None):
        return _at_hand(entry)
    own_folder = cache_folder() / "models" / model
    folder = own_folder if (own_folder / "config.json").is_file() else Path(model).expanduser()
    if not folder.is_dir():
        folder = next((cached for cached in own_model_folders() if name_of_model(cached) == model), folder)
    if folder.is_dir():
        entry = ModelEntry(
            name=name_of_model(folder), source=str(folder.resolve()), licence="unknown", objective="unknown"
        )
        return entry.model_copy(update=_base_noted(folder))
    if entry := next((candidate for candidate in listed if candidate.hub_id.casefold() == model.casefold()), None):
        return _at_hand(entry)
    if model.startswith((".", "/", "~")) or model.count("/") > 1:
        raise ModelError(f"no folder {model}; expected a model folder, a hub id or a name of the registry")
    short = name_of_model(model)
    called = model if any(candidate.name == short for candidate in listed) else short
    return ModelEntry(name=called, source=model, licence="unknown", objective="unknown")


def at_revision(entry: ModelEntry, revision: str) -> ModelEntry:
    """The entry at a revision of the hub, under another name unless that is the revision that it has anyway."""
    if not entry.hub_id:
        raise ModelError(
            f"got the revision {revision!r} of {entry.name}, which is the folder {entry.location}; only models of the"
            " hub have one"
        )
    if not revision.strip() or revision.startswith(("-", "/", ".")) or ".." in revision:
        raise ModelError(f"got the revision {revision!r}; expected a branch, a tag or a commit")
    usual = revision == (entry.revision or "main")
    label = revision[:12] if COMMIT.fullmatch(revision) else revision
    return entry.model_copy(update={"revision": revision, "name": entry.name if usual else f"{entry.name}@{label}"})


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
        fields = {
            "base": made["base"],
            "objective": made["objective"],
            "base_weights": made.get("recipe", {}).get("base_weights", ""),
        }
        fields |= {name: made.get(name, "") for name in ("base_folder", "base_source")}
        if not all(isinstance(value, str) for value in fields.values()):
            raise TypeError("expected texts")
        return fields
    except (KeyError, TypeError, AttributeError) as error:
        raise _not_written_by_finetune(folder / FINETUNING, error) from error


def _not_written_by_finetune(note: Path, error: Exception) -> ModelError:
    return ModelError(f"{note} is not what finetune writes ({error!r}); fine-tune the model again")


def check_name(name: str, own: str = "") -> None:
    """Raises a ``ModelError`` for a malformed name, or one of another model of the registry than ``own``."""
    if not name.strip() or not name.isprintable() or name.startswith((".", "/", "~", "-")) or "\\" in name:
        raise ModelError(
            f"got the name {name!r}; expected letters, digits and signs such as - and /, as in my-run/step-500"
        )
    known = {other.name for other in read_registry().models}
    if name in known and own != name:
        raise ModelError(f"{name} is the name of another model of the registry; choose another {spelled('name')}")


def base_entry(entry: ModelEntry) -> ModelEntry | None:
    """The entry of a model's base: the folder that ``finetune`` read if it exists, else by name; None without one."""
    if not entry.base:
        return None
    folder = Path(entry.base_folder)
    hub_id, _, commit = entry.base_source.rpartition("@")
    if hub_id and not entry.base_folder:
        named = find_entry(hub_id)
        # A copy that ``fetch --from`` made has no commit; its weights are compared with those that were fine-tuned.
        return named.model_copy(update={"name": entry.base, "revision": commit if named.hub_id else ""})
    named = find_entry(entry.base)
    by_name = named.shipped or Path(named.source).is_dir()
    if entry.base_folder and ((folder / "config.json").is_file() or not by_name):
        return ModelEntry(name=entry.base, source=entry.base_folder, licence="unknown", objective="unknown")
    return named
