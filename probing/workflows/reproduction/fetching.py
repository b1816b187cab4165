"""Models and data sets that a reproduction needs."""

from collections.abc import Sequence
from pathlib import Path

from probing.core.paths import cache_folder
from probing.core.registry import Registry
from probing.workflows.fetch import fetch_model, fetch_or_stand_in
from probing.workflows.say import Say


def fetch_all(registry: Registry, models: Sequence[str], data_sets: Sequence[str], source: Path | None, say: Say) -> None:
    """Brings them into the cache; a model that is there is left alone.

    Args:
        registry: where they come from.
        models, data_sets: as the registry calls them.
        source: folder of local copies; None downloads.
        say: gets a line for each.

    Raises:
        RegistryError: for what cannot be brought or is damaged.
    """
    for name in models:
        entry = registry.model(name)
        kept = cache_folder() / "models" / entry.name
        if (kept / "config.json").is_file():
            say(f"  {name} is there already: {kept}")
        else:
            say(f"  {name}: {fetch_model(entry, source)}")
    for name in data_sets:
        say(f"  {name}: {fetch_or_stand_in(registry, name, source, say)}")
