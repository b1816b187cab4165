"""Open results: their folders, an overview, and closing."""

import html
import weakref
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pandas as pd

from probing.api.arguments import in_a_notebook, in_short, readable
from probing.api.stored.overview import LISTS, stored_models_table, stored_runs_table
from probing.core.errors import OptionError, StoreError
from probing.core.paths import result_folders, runs_folder, snapshot_folder
from probing.store.database import Database
from probing.store.opening import open_database
from probing.store.sources import holds_results


class OpenResults:
    """Open results, with an overview; ``Results`` adds the reports."""

    def __init__(self, folders: "Sequence[Path | str] | Path | str | None" = None):
        with in_a_notebook():
            self._database = open_database(*(_usual_sources() if folders is None else _folders(folders)))
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
            ``model, name`` (short), ``base`` (empty if the model is not fine-tuned), ``objective``, ``learned``
            (whether a fine-tuned model learned its task, in words), and its stored results: ``heads, probe_sets,
            edge_tasks, sentence_tasks`` (tuples of names) and ``changes`` (whether attention, states or perplexity were
            measured).

        >>> import probing
        >>> probing.results().models.loc[0, ["model", "heads", "edge_tasks"]].tolist()[0]
        'nesia-mini'
        """
        return stored_models_table(self.database)

    @property
    def runs(self) -> pd.DataFrame:
        """Every stored run, one row per run.

        Returns:
            ``run_id`` (fingerprint of its configuration), ``what`` (facts, edges, sentences or changes), ``model``,
            ``hub_id`` (its full id on the hub; empty for a folder), ``revision`` (its commit there, or ``local``),
            ``base, objective``, for facts ``head, probe_set, template_set, role`` (primary or replicate) and
            ``counted`` (only counts are stored), for the others ``task``, and ``seed, layers`` (with layer 0),
            ``created``.

        >>> import probing
        >>> {"changes", "edges", "facts", "sentences"} <= set(probing.results().runs["what"])
        True
        """
        return stored_runs_table(self.database)

    def close(self) -> None:
        """Closes the database; deleting the object closes it, too."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError(
            "open results cannot be pickled; pickle their tables, or open them where they are used:"
            " probing.results(...)"
        )

    def __repr__(self) -> str:
        if not self._finalizer.alive:
            return "Results(closed)"
        models = self.models
        parts = [
            f"{len(models)} models",
            *(f"{name}: {', '.join(there) or 'none'}" for name, there in _named(models).items()),
        ]
        return f"Results({'; '.join(parts)}; data {self.fingerprint})"

    def _repr_html_(self) -> str:
        if not self._finalizer.alive:
            return "<p>Results, closed</p>"
        models = self.models
        lines = [
            f"<li>{html.escape(name)}: {html.escape(', '.join(there) or 'none')}</li>"
            for name, there in _named(models).items()
        ]
        shown = models.assign(**{name: models[name].map(", ".join) for name in LISTS})
        return f"<ul>{''.join(lines)}<li>data: {self.fingerprint}</li></ul>{shown.to_html(index=False, border=0)}"


def _named(models: pd.DataFrame) -> dict[str, list[str]]:
    """Every head, probe set and task of the models."""
    return {
        name.replace("_", " "): list(dict.fromkeys(one for names in models[name] for one in names)) for name in LISTS
    }


def _folders(given: Any) -> list[Path]:
    """The argument ``folders``, if each of them holds results.

    Raises:
        OptionError: if it names no folder.
        StoreError: naming the folder that holds none.
    """
    values = [given] if isinstance(given, str | Path) or not isinstance(given, Iterable) else list(given)
    if not values:
        raise OptionError(
            "got an empty list for folders; name at least one folder, or leave folders out to open the usual results"
        )
    if wrong := [one for one in values if not isinstance(one, str | Path) or not str(one)]:
        raise OptionError(f"got {in_short(wrong[0])} for folders; expected the path of a folder")
    folders = [Path(readable("folders", str(one))) for one in values]
    if empty := [folder for folder in folders if folder.is_dir() and not holds_results(folder)]:
        raise StoreError(f"no results in {empty[0]}; expected files such as predictions-<run>.parquet, at any depth")
    return folders


def _usual_sources() -> list[Path]:
    """The folders that the pages read, if one of them holds results.

    Raises:
        StoreError: if none does.
    """
    sources = result_folders()
    if not any(map(holds_results, sources)):
        raise StoreError(
            f"no results: neither {snapshot_folder()} nor {runs_folder()} holds any; clone the repository, which has"
            " the shipped results, or name folders of results in folders="
        )
    return sources
