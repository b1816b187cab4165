"""The commands that belong to no subject: ``check``, ``fetch``, ``runs``, ``tables``, ``terms`` and ``ui``."""

import json
from inspect import cleandoc
from pathlib import Path
from typing import Annotated

import typer

from probing.kernel.commands import RevisionOption
from probing.kernel.errors import OptionError, StoreError
from probing.kernel.fetch import fetch as bring
from probing.kernel.files import result_folders
from probing.kernel.provenance import LOCAL, stored_configuration
from probing.kernel.registry import read_registry
from probing.kernel.store.columns import SCHEMAS
from probing.kernel.store.parquet import files_of, read_table


def check(
    runs: Annotated[
        list[Path] | None,
        typer.Option(help="Folder of runs; repeatable. None: cache/runs, what was pulled and the snapshot."),
    ] = None,
) -> None:
    """Verify facts, data, models, heads, probes and runs, file by file; list the problems and exit with 1."""
    from probing.check import check as verify

    problems: list[str] = []
    for title, faults in verify(runs or (), lambda title: typer.echo(title, err=True)):
        typer.echo(f"{'ok ' if not faults else 'BAD'} {title}")
        problems += faults
    for problem in problems:
        typer.echo(f"  - {problem}", err=True)
    if problems:
        raise typer.Exit(1)


def fetch(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Data sets or models of the registry, or models of the hub (OWNER/NAME); none lists them."),
    ] = None,
    source: Annotated[
        Path | None, typer.Option("--from", help="Folder of local copies; nothing is downloaded.")
    ] = None,
    revision: RevisionOption = None,
) -> None:
    """Fetch data sets and models by name; files are checked by sha256 if the registry or the hub has one.

    A model of the hub goes to the hub's own cache, where every command finds it, also offline.
    """
    if names:
        bring(names, source, typer.echo, revision)
        return
    registry = read_registry()
    for entry in registry.data:
        typer.echo(f"{entry.name:<24} data   {entry.licence:<14} {entry.title}")
    for model in registry.models:
        typer.echo(f"{model.name:<24} model  {model.licence:<14} {'shipped' if model.shipped else model.source}")


def runs(
    folder: Annotated[
        list[Path] | None,
        typer.Option(help="Folder of runs; repeatable. None: cache/runs, what was pulled and the snapshot."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the runs with their fingerprint, counts and what was left out."""
    from probing.kernel.store.kinds import FACTS, KINDS, RUNS_OF_FILES

    rows: list[dict] = []
    empty = dict.fromkeys(SCHEMAS["runs"].names)
    folders = folder or result_folders()
    whole = {path.stem.rpartition("-")[2] for place in folders for path in files_of("predictions", place)}
    for table, kind in RUNS_OF_FILES.items():
        run_ids = {row["run_id"] for row in rows}
        for path in (path for place in folders for path in files_of(table, place)):
            try:
                new_rows = [row for row in read_table(path, table).to_pylist() if row["run_id"] not in run_ids]
            except StoreError as error:
                typer.echo(f"skipped: {error}", err=True)
                continue
            # Columns on facts are empty for runs of other kinds.
            rows += [
                {**empty, **row, "what": kind, "counted": kind == FACTS and row["run_id"] not in whole}
                | {"hub_id": str(stored_configuration(row["config"]).get("hub_id", "")), "folder": str(path.parent)}
                for row in new_rows
            ]
    if as_json:
        typer.echo(json.dumps(rows, ensure_ascii=False, default=str))
        return
    if not rows:
        typer.echo("no runs yet; make one with: python -m probing probe --model nesia-mini --facts all")
    for row in rows:
        typer.echo(f"{row['run_id']}  {row['model']:<20} {KINDS[row['what']].describe(row)}{_source(row)}")


def _source(row: dict) -> str:
    """Where a model of the hub came from; nothing for a folder."""
    revision = row["model_revision"] or LOCAL
    return "" if revision == LOCAL else f", {row['hub_id']} at {revision[:12]}"


def tables(
    name: Annotated[str, typer.Argument(help="A table or a part of its name. None: all.", show_default=False)] = "",
) -> None:
    """Print every column of all stored tables, or of those with a name, as Markdown."""
    from probing.kernel.store.kinds import KINDS

    parts = []
    for kind in KINDS.values():
        chosen = [table for table in kind.tables if name.lower() in table.name]
        if chosen:
            parts.append(f"## {kind.name.capitalize()}\n\n{cleandoc(kind.about or '')}\n")
        for table in chosen:
            key = ", ".join(f"`{column}`" for column in table.keys)
            per = f" One file per {' and '.join(f'`{column}`' for column in table.per.split())}." if table.per else ""
            rows = [f"| {' | '.join(column.described.values())} |" for column in table.columns]
            lines = [
                f"### {table.name}\n\n{table.says} Key: {key}.{per}\n",
                "| column | type | values | meaning |",
                "|---|---|---|---|",
            ]
            parts.append("\n".join([*lines, *rows]) + "\n")
    if not parts:
        raise OptionError(
            f"got {name!r}; expected a part of the name of a table; `python -m probing tables` prints all"
        )
    typer.echo("\n".join(parts).replace("``", "`").rstrip())


def terms(
    name: Annotated[str, typer.Argument(help="A name or a part of one. None: all.", show_default=False)] = "",
) -> None:
    """Print the definitions of all quantities and terms, or of those with a name, as Markdown."""
    from probing.terms import METRICS, TERMS

    parts = []
    for key, metric in METRICS.items():
        if name.lower() not in f"{key} {metric.label.lower()}":
            continue
        ends = ["no bound" if end is None else str(end) for end in metric.ends]
        span = "no bounds" if ends[0] == ends[1] else " to ".join(ends)
        module, function = metric.computed_in.rsplit(".", 1)
        parts.append(
            f"## {metric.label}\n\n{metric.definition}\n\n- Unit: {metric.unit}; range: {span}; better:"
            f" {metric.better}\n- Ties: {metric.ties}\n- Empty case: {metric.empty}\n- Source: {metric.source}\n-"
            f" Computed in: `{function}` in `probing/{module.replace('.', '/')}.py`\n"
        )
    if rows := [
        f"| {term.name} | {term.meaning} | {term.source} |" for term in TERMS if name.lower() in term.name.lower()
    ]:
        parts.append("\n".join(["## Terms\n", "| term | meaning | source |", "|---|---|---|", *rows]))
    if not parts:
        raise OptionError(
            f"got {name!r}; expected a part of the name of a quantity or term; `python -m probing terms` prints all"
        )
    typer.echo("\n".join(parts).rstrip())


def ui(
    options: Annotated[list[str] | None, typer.Argument(help="Options of `streamlit run`, after `--`.")] = None,
) -> None:
    """Serve the pages on this machine; they need the repository and the extra [app]."""
    from probing.ui import main

    main(*options or ())
