"""Open results: their folders, an overview, and closing."""

import hashlib
import html
import weakref
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import pandas as pd

from probing.api.stored.overview import LISTS, stored_models_table, stored_runs_table
from probing.core.errors import StoreError
from probing.core.paths import cache_folder, database_folder, result_folders, runs_folder, snapshot_folder
from probing.store.build import built_database
from probing.store.database import Database


class OpenResults:
    """The open database of results, with an overview; ``Results`` adds the reports."""

    def __init__(self, folders: "Sequence[Path | str] | Path | str | None" = None, database: "Path | str | None" = None):
        given = [folders] if isinstance(folders, str | Path) else folders
        sources = result_folders() if given is None else [Path(one) for one in given]
        if not sources:
            raise StoreError(
                f"no results: neither {snapshot_folder()} nor {runs_folder()} exists; clone the repository, which has the shipped "
                "results, or name folders of results in folders="
            )
        target = Path(database) if database else database_folder() if given is None else _folder_of(sources)
        self._database = built_database(sources, target)
        self._finalizer = weakref.finalize(self, self._database.close)

    @property
    def database(self) -> Database:
        """The open database.

        Raises:
            StoreError: once the results are closed.
        """
        if not self._finalizer.alive:
            raise StoreError("these results are closed; open them again with probing.results()")
        return self._database

    @property
    def fingerprint(self) -> str:
        """16 hex digits of the sha256 over all result files; equal results have equal fingerprints."""
        return self.database.data_version

    @property
    def models(self) -> pd.DataFrame:
        """Every stored model, one row per model.

        Returns:
            ``model, name`` (short), ``base`` (empty if the model is not fine-tuned), ``objective``, ``learned`` (whether a
            fine-tuned model learned its task, in words), and its stored results: ``heads, probe_sets, edge_tasks, sentence_tasks``
            (tuples of names) and ``changes`` (whether attention, states or perplexity were measured).

        >>> import probing
        >>> probing.results().models.loc[0, ["model", "heads", "edge_tasks"]].tolist()[0]
        'nesia-mini'
        """
        return stored_models_table(self.database)

    @property
    def runs(self) -> pd.DataFrame:
        """Every stored run, one row per run.

        Returns:
            ``run_id`` (fingerprint of its configuration), ``what`` (facts, edges, sentences or changes), ``model, base, objective``, for
            facts ``head, probe_set, template_set, role`` (primary or replicate) and ``counted`` (only counts are stored), for the others
            ``task``, and ``seed, layers`` (with layer 0), ``created``.

        >>> import probing
        >>> sorted(probing.results().runs["what"].unique())
        ['changes', 'edges', 'facts', 'sentences']
        """
        return stored_runs_table(self.database)

    def close(self) -> None:
        """Closes the database; deleting the object closes it, too."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        if not self._finalizer.alive:
            return "Results(closed)"
        models = self.models
        parts = [f"{len(models)} models", *(f"{name}: {', '.join(there) or 'none'}" for name, there in _named(models).items())]
        return f"Results({'; '.join(parts)}; data {self.fingerprint})"

    def _repr_html_(self) -> str:
        if not self._finalizer.alive:
            return "<p>Results, closed</p>"
        models = self.models
        lines = [f"<li>{html.escape(name)}: {html.escape(', '.join(there) or 'none')}</li>" for name, there in _named(models).items()]
        shown = models.assign(**{name: models[name].map(", ".join) for name in LISTS})
        return f"<ul>{''.join(lines)}<li>data: {self.fingerprint}</li></ul>{shown.to_html(index=False, border=0)}"


def _named(models: pd.DataFrame) -> dict[str, list[str]]:
    """Every head, probe set and task of the models."""
    return {name.replace("_", " "): list(dict.fromkeys(one for names in models[name] for one in names)) for name in LISTS}


def _folder_of(sources: Sequence[Path]) -> Path:
    """Folder of the database of other folders."""
    key = "\n".join(str(source.resolve()) for source in sources)
    return cache_folder() / "databases" / hashlib.sha256(key.encode()).hexdigest()[:16]
