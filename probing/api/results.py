"""The stored results in a notebook: every report as a DataFrame, with the figure that a page draws of it."""

import html
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import pandas as pd

from probing.api.arguments import flag, in_a_notebook, in_short, several, text
from probing.api.figures import FIGURES, Asked
from probing.changes.store import change_runs
from probing.edges.store import edge_runs
from probing.facts.store import answers_of_runs
from probing.kernel.errors import FigureError, OptionError, StoreError
from probing.kernel.figures import theme
from probing.kernel.figures.looks import looks_of, set_order
from probing.kernel.files import result_folders, runs_folder, snapshot_folder
from probing.kernel.models.names import head_order
from probing.kernel.provenance import LOCAL
from probing.kernel.report import Choice, Filter, Report, Reports, refuse_unknown_words
from probing.kernel.store.database import Database
from probing.kernel.store.kinds import KINDS
from probing.kernel.store.opening import open_database
from probing.kernel.store.parquet import holds_results
from probing.kernel.store.stored import fact_runs, stored_models
from probing.kernel.success import in_words
from probing.kernel.success_report import learned, verdicts_by_model
from probing.sentences.store import sentence_runs
from probing.subjects import REPORTS

if TYPE_CHECKING:
    from probing.kernel.figures.theme import go

#: Columns of ``Results.models`` that hold tuples of names.
_LISTS = ("heads", "probe_sets", "edge_tasks", "sentence_tasks")
#: Columns of ``Results.runs``.
_NAMES = ("run_id", "what", "model", "hub_id", "revision", "base", "objective")
_OF_FACTS = ("head", "probe_set", "template_set", "role", "counted")
_RUN = [*_NAMES, *_OF_FACTS, "task", "seed", "layers", "created"]


@dataclass(frozen=True, repr=False)
class StoredReport:
    """A report of stored results; made by ``Results.report``. A notebook shows its table.

    Attributes:
        kind, name: the two words that name it.
        results: the open results, which stay open as long as their reports exist.
        choice: the report with the values of its filters.
    """

    kind: str
    name: str
    results: "Results"
    choice: Choice

    @cached_property
    def table(self) -> pd.DataFrame:
        """The rows, with the columns and values that the command prints with ``--json``.

        Returns:
            Unrounded: shares are in [0, 1], ranks count from 1, layer 0 is the embeddings, undefined values are NaN.

        Raises:
            OptionError: if the rows would not state what distinguishes them.
        """
        with in_a_notebook():
            return self.choice.report.json_table(self.choice.report.table(self.results.database, self.choice))

    def figure(self, dark: bool = False, width: str = "", **looks: Any) -> "go.Figure":
        """The figure that a page draws of this report. What no filter chooses is what the page shows at first.

        Args:
            dark: for a dark notebook.
            width: ``column`` (3.25 in) or ``text`` (6.75 in) draws it as the page's *Save* does: light, with 8 pt.
            **looks: ``published=False`` leaves the paper's values out of the figures of ``edges`` ``summary`` and
                ``scores``; ``layer`` is that of the figure of ``sentences`` ``curve``, by default the best one.

        Raises:
            FigureError: if no page draws this report, or the figure cannot show the choice; the message has the reports
                with a figure, or the filter to narrow.
            StoreError: if nothing is stored that the figure can show.

        >>> import probing
        >>> precision = probing.results().report("facts", "precision", model="nesia-mini", probe_set="trex", k=10)
        >>> precision.figure().layout.yaxis.title.text
        'right answers, % (P@10, mean of relations)'
        """
        with in_a_notebook():
            if (self.kind, self.name) not in FIGURES:
                there = ", ".join(f"{kind} {name}" for kind, name in FIGURES)
                raise FigureError(
                    f"no page draws a figure of {self.kind} {self.name}; use its table. Drawn are {there}"
                )
            asked = Asked.of(self.results.database, self.choice, flag("dark", dark))
            return theme.for_notebook(FIGURES[self.kind, self.name](asked, **looks), dark, text("width", width))

    def __repr__(self) -> str:
        return f"StoredReport({self.kind!r}, {self.name!r}, {len(self.table):,} rows)"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self))}</p>{self.table.to_html(index=False, max_rows=60, border=0)}"


class Results:
    """Stored results; made by ``probing.results``, which documents ``folders``.

    ``report`` gives any report, ``reports`` lists them. The results are closed when the object is deleted, or at the
    end of a ``with`` block.

    >>> import probing
    >>> with probing.results() as results:
    ...     "nesia-mini" in set(results.models["model"])
    True
    """

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

    def reports(self) -> pd.DataFrame:
        """Every report.

        Returns:
            One row per report: ``kind, name, about`` (a few words), ``figure`` (whether a page draws it) and
            ``filters`` (name -> what it takes).

        >>> import probing
        >>> reports = probing.results().reports()
        >>> sorted(set(reports["kind"]))
        ['candidates', 'changes', 'edges', 'facts', 'forgetting', 'sentences', 'series']
        """
        rows = [
            (kind, one.name, one.caption, (kind, one.name) in FIGURES, _described(reports, one))
            for kind, reports in REPORTS.items()
            for one in reports.every
        ]
        return pd.DataFrame(rows, columns=["kind", "name", "about", "figure", "filters"])

    def report(self, kind: str, name: str, /, **filters: Any) -> StoredReport:
        """A report of the stored results: its ``table``, and its ``figure()`` if a page draws it.

        The rows are those of the command: ``report("facts", "precision", k=1)`` is ``probing report precision --k 1``,
        ``report("edges", "summary")`` is ``probing edges report summary``.

        Args:
            kind: of the results: ``facts``, ``candidates``, ``edges``, ``sentences``, ``changes``, ``forgetting`` or
                ``series``.
            name: of the report; ``reports`` lists the names of every kind.
            **filters: the options of the command, one value or a list each; None keeps everything. ``reports`` says
                what each takes.

        Raises:
            OptionError: for an unknown kind, name, filter or value, and for a value of another type.
            StoreError, OptionError: for a name of a model, head, task or the like that is not stored.

        >>> import probing
        >>> results = probing.results()
        >>> total = results.report("facts", "total", model="nesia-mini", head="tied", k=1, average="micro").table
        >>> bool((total["total"] >= total["last_layer"]).all())
        True
        >>> results.report("facts", "precision", modle="nesia-mini")
        Traceback (most recent call last):
        probing.kernel.errors.OptionError: got the filter modle; facts precision has model, head, probe_set, k, average,
            definition, templates
        """
        with in_a_notebook():
            refuse_unknown_words("kind", (text("kind", kind),), REPORTS)
            reports = REPORTS[kind]
            refuse_unknown_words("name", (text("name", name),), [one.name for one in reports.every])
            known = _filters(reports, reports.named(name))
            if unknown := [one for one in filters if one not in known]:
                raise OptionError(f"got the filter {unknown[0]}; {kind} {name} has {', '.join(known)}")
            choice = reports.choose(name, {one: _value(known[one], value) for one, value in filters.items()})
            reports.refuse(self.database, choice)
            return StoredReport(kind, name, self, choice)

    def predictions(self, run_id: "str | Sequence[str]") -> pd.DataFrame:
        """The prediction of every layer for every fact of a stored run, or of several runs.

        Args:
            run_id: from ``runs``, of runs on facts.

        Returns:
            One row per run, fact and layer: ``fact_id, probe_set, relation, subject, object, prompt, layer``, the
            ``rank`` of the right answer in the whole vocabulary (from 1), ``answer_rank`` among the answers of its
            relation, ``swapped_rank`` with the swapped subject (empty if there is none), its ``probability`` in [0, 1],
            and the best token with its probability, ``top_token, top_probability``.

        Raises:
            OptionError: if there is no such run on facts.
            StoreError: if only counts of a run are stored.

        >>> import probing
        >>> results = probing.results()
        >>> run = results.runs.query("model == 'nesia-mini' and head == 'tied' and probe_set == 'trex' and not counted")
        >>> capital = results.predictions(run["run_id"]).query("subject == 'France' and object == 'Paris'")
        >>> capital["layer"].tolist()[:9]
        [0, 1, 2, 3, 4, 5, 6, 7, 8]
        """
        with in_a_notebook():
            ids, stored = several("run_id", run_id), fact_runs(self.database).set_index("run_id")
            if unknown := [one for one in ids if one not in stored.index]:
                raise OptionError(f"got run_id={unknown[0]!r}; expected a run on facts, results.runs lists them")
            if counted := [one for one in ids if stored.at[one, "counted"]]:
                raise StoreError(
                    f"only counts of the run {counted[0]} are stored, nothing fact by fact; probe it again"
                )
            return answers_of_runs(self.database, ids)

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
        db = self.database
        described = stored_models(db).fillna("")
        looks, verdicts = looks_of(described), verdicts_by_model(learned(db))
        of = described.drop_duplicates("model", keep="last").set_index("model")
        facts, edges, sentences = fact_runs(db), edge_runs(db), sentence_runs(db)
        changed = set(change_runs(db)["model"])

        def names(runs: pd.DataFrame, model: str, column: str) -> tuple[str, ...]:
            return tuple(dict.fromkeys(runs.loc[runs["model"] == model, column]))

        rows = [
            {
                "model": model,
                "name": looks.names[model],
                "base": of.at[model, "base"],
                "objective": of.at[model, "objective"],
                "learned": in_words(verdicts[model]) if model in verdicts else "",
                "heads": tuple(sorted(names(facts, model, "head"), key=head_order)),
                "probe_sets": tuple(sorted(names(facts, model, "probe_set"), key=set_order)),
                "edge_tasks": names(edges, model, "task"),
                "sentence_tasks": names(sentences, model, "task"),
                "changes": model in changed,
            }
            for model in looks.colours
        ]
        return pd.DataFrame(rows, columns=["model", "name", "base", "objective", "learned", *_LISTS, "changes"])

    @property
    def runs(self) -> pd.DataFrame:
        """Every stored run, one row per run.

        Returns:
            ``run_id`` (fingerprint of its configuration), ``what`` (the kind of results), ``model``, ``hub_id`` (its
            full id on the hub; empty for a folder), ``revision`` (its commit there, or ``local``), ``base,
            objective``, for facts ``head, role`` (primary or replicate) and ``counted`` (only counts are stored), for
            facts, candidates, forgetting and series ``probe_set, template_set``, for edges and sentences ``task``, and
            ``seed, layers`` (with layer 0), ``created``.

        >>> import probing
        >>> {"changes", "edges", "facts", "sentences"} <= set(probing.results().runs["what"])
        True
        """
        parts = [
            runs.assign(what=what, revision=runs["model_revision"].fillna(LOCAL)).reindex(columns=_RUN)
            for what, runs in ((name, kind.listed(self.database)) for name, kind in KINDS.items())
            if len(runs)
        ]
        table = pd.concat([part.astype("object") for part in parts], ignore_index=True) if parts else None
        table = pd.DataFrame(columns=_RUN) if table is None else table
        table["counted"] = table["counted"].eq(True)
        table = table.assign(**{name: table[name].fillna("") for name in ("base", "objective", "hub_id")})
        return table.astype({"seed": "Int64", "layers": "Int64", "counted": "bool"})

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
        there = {name: ", ".join(dict.fromkeys(one for names in models[name] for one in names)) for name in _LISTS}
        parts = [
            f"{len(models)} models",
            *(f"{name.replace('_', ' ')}: {one or 'none'}" for name, one in there.items()),
        ]
        return f"Results({'; '.join(parts)}; data {self.fingerprint})"

    def _repr_html_(self) -> str:
        said = f"<p>{html.escape(repr(self))}</p>"
        return said + self.models.to_html(index=False, border=0) if self._finalizer.alive else said


def _filters(reports: Reports, report: Report) -> dict[str, Filter]:
    """The filters of a report, by name."""
    return {one.name: one for one in reports.filters if not one.only or report.name in one.only}


def _described(reports: Reports, report: Report) -> dict[str, str]:
    """What each filter of a report takes; one that is switches of the command has its values."""
    return {name: one.help or ", ".join(one.known) for name, one in _filters(reports, report).items()}


def _value(one: Filter, given: Any) -> Any:
    """A caller's value of a filter.

    Raises:
        OptionError: for a value of another type, an empty list, or several values of a filter that takes one.
    """
    if given is None:
        return None
    if one.of is bool:
        return flag(one.name, given)
    values = several(one.name, given, one.of)
    if one.single and len(values) > 1:
        raise OptionError(f"got {one.name}={list(values)}; expected one value")
    return values


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
    folders = [Path(text("folders", str(one))) for one in values]
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
