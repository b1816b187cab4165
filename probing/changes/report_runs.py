"""The runs behind the reports of changes: one per model."""

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from probing.changes.store import change_runs
from probing.finetuning.relatives import StoredRuns, named, relatives
from probing.kernel.provenance import stored_configuration
from probing.kernel.report import whole_runs
from probing.kernel.store.database import Database

#: Fields of a run's configuration that identify its sentences and its masked blocks.
TEXTS = ("sentences_sha256", "blocks_sha256")


def stored(db: Database) -> StoredRuns:
    """One run per model; rows get the checksums of its text, as values on different texts are not comparable."""
    runs = named(change_runs(db))
    configs = [stored_configuration(config) for config in runs["config"]]
    runs = runs.assign(**{name: [str(config.get(name, "")) for config in configs] for name in TEXTS})
    return StoredRuns(whole_runs(runs, ["model"], [_has(config) for config in configs]), relatives(runs), TEXTS)


def _has(config: Mapping[str, Any]) -> frozenset[Hashable]:
    """The measures of a run with this configuration, and their texts."""
    extra = {name: config.get(name) for name in ("base_weights", "blocks_sha256") if config.get(name)}
    replaced = ["replaced"] if len(extra) == 2 and config.get("replaced", True) else []
    of = [(name, config.get(name)) for name in ("weights", "sentences_sha256", "head_recipe")]
    return frozenset([*extra.items(), *replaced, *of])


def beside_base(table: pd.DataFrame, keys: list[str], columns: dict[str, str]) -> pd.DataFrame:
    """The table with the numbers of each row's base for the same keys, renamed by ``columns``; empty for a base."""
    of_bases = table[["model", *keys, *columns]].rename(columns={"model": "base", **columns})
    return table.merge(of_bases, on=["base", *keys], how="left")
