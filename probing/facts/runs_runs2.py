"""The runs of facts that a report or a figure shows, by their names."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from probing.facts.runs_runs import choose, stored_templates
from probing.kernel.errors import StoreError
from probing.kernel.models.names import canonical_heads
from probing.kernel.options import spelled
from probing.kernel.store.database import Database


@dataclass(frozen=True)
class RunSelection:
    """The chosen runs of facts; None keeps all."""

    models: Sequence[str] | None = None
    heads: Sequence[str] | None = None
    probe_sets: Sequence[str] | None = None
    templates: str = "default"

    def __post_init__(self) -> None:
        object.__setattr__(self, "heads", canonical_heads(self.heads))

    def runs(self, db: Database) -> pd.DataFrame:
        """The primary run of each model, head and probe set."""
        return choose(db, self.models, self.heads, self.probe_sets, templates=self.templates)

    def other_templates(self, db: Database) -> list[str]:
        """Further template sets that the chosen models were probed with."""
        return [
            name for name in stored_templates(db, self.models, self.heads, self.probe_sets) if name != self.templates
        ]

    def refuse_unknown(self, db: Database, bases: Sequence[str] | None = None) -> None:
        """Raises a ``StoreError`` for an unknown template set, or a name no run of it has, with the sets that do."""
        if (there := stored_templates(db)) and self.templates not in there:
            raise StoreError(f"no run with {spelled('templates', self.templates)}; there are {', '.join(there)}")
        every = choose(db, templates=self.templates)
        for option, values in {
            "model": self.models,
            "head": self.heads,
            "probe_set": self.probe_sets,
            "base": bases,
        }.items():
            column = "model" if option == "base" else option
            if unknown := sorted(set(values or ()) - set(every[column])):
                elsewhere = stored_templates(db, **{f"{column}s": unknown})
                with_templates = f" probed with {spelled('templates', self.templates)}" if elsewhere else ""
                probed_with = f"; it was probed with {spelled('templates', ', '.join(elsewhere))}" if elsewhere else ""
                names = ", ".join(sorted(set(every[column]))) or "none"
                raise StoreError(
                    f"no run with {spelled(option, ', '.join(unknown))}{with_templates}{probed_with}; there are {names}"
                )
