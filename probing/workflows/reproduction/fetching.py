"""Models and data sets that a reproduction needs."""

from collections.abc import Sequence
from pathlib import Path

from probing.core.paths import cache_folder
from probing.core.registry import Registry
from probing.workflows.fetch import fetch_model, fetch_or_stand_in
from probing.workflows.say import Say


def fetch_all(registry: Registry, models: Sequence[str], data_sets: Sequence[str], source: Path | None, say: Say) -> None:
    """Fetches them into the cache; an existing model is skipped.

    Args:
        registry: with their addresses.
        models, data_sets: their names in the registry.
        source: folder of local copies; None downloads.
        say: called with a line for each.

    Raises:
        RegistryError: if one cannot be fetched or is damaged.
    """
    for name in models:
        entry = registry.model(name)
        kept = cache_folder() / "models" / entry.name
        if (kept / "config.json").is_file():
            say(f"  {name} exists already: {kept}")
        else:
            say(f"  {name}: {fetch_model(entry, source)}")
    for name in data_sets:
        say(f"  {name}: {fetch_or_stand_in(registry, name, source, say)}")
