"""``probing runs``: what has been probed."""

import json
from pathlib import Path
from typing import Annotated

import typer

from probing.core.errors import SchemaVersionError
from probing.core.paths import result_folders
from probing.core.provenance import LOCAL, commit_in_words, stored_configuration
from probing.store.parquet import read_table
from probing.store.schema import CHANGES, EDGES, FACTS, OF_KIND, SCHEMAS, SENTENCES
from probing.store.sources import files_of


def runs(
    folder: Annotated[list[Path] | None, typer.Option(help="Folder of runs; repeatable. None: the snapshot and cache/runs.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the runs with their fingerprint, counts and what was left out."""
    rows: list[dict] = []
    kinds, empty = {table: kind for kind, table in OF_KIND.items()}, dict.fromkeys(SCHEMAS["runs"].names)
    for table in ("runs", "counted_runs", *OF_KIND.values()):
        asked = {row["run_id"] for row in rows}
        for path in (path for place in folder or result_folders() for path in files_of(table, place)):
            try:
                found = [row for row in read_table(path, table).to_pylist() if row["run_id"] not in asked]
            except SchemaVersionError as error:
                typer.echo(f"skipped: {error}", err=True)
                continue
            # Columns on facts are empty for runs of other kinds.
            said = {"what": kinds.get(table, FACTS), "counted": table == "counted_runs"}
            rows += [{**empty, **row, **said, "hub_id": _hub_id(row), "folder": str(path.parent)} for row in found]
    if as_json:
        typer.echo(json.dumps(rows, ensure_ascii=False, default=str))
        return
    if not rows:
        typer.echo("no runs yet; make one with: python -m probing probe --model nesia-mini --facts all")
    for row in rows:
        typer.echo(f"{row['run_id']}  {row['model']:<20} {_LINES[row['what']](row)}{_source(row)}")


def _source(row: dict) -> str:
    """Where a model of the hub came from; nothing for a folder."""
    revision = commit_in_words(row["model_revision"])
    if revision == LOCAL:
        return ""
    return f", {row['hub_id']} at {revision[:12]}" if row["hub_id"] else f", hub revision {revision}"


def _hub_id(row: dict) -> str:
    return str(stored_configuration(row["config"]).get("hub_id", ""))


def _of_facts(row: dict) -> str:
    left = ", ".join(f"{count:,} {reason}" for reason, count in json.loads(row["left_out"]).items()) or "none"
    return (
        f"{row['head']:<13} {row['probe_set']:<12} {row['template_set']:<10} "
        f"read {row['n_read']:,} = probed {row['n_probed']:,} + left out ({left})"
        f"{', only counts' if row['counted'] else ''}"
    )


def _of_edges(row: dict) -> str:
    return f"edges {row['task']:<18} {row['kind']} probes, {row['encoder']} encoder, {row['labels']} labels, seed {row['seed']}"


def _of_sentences(row: dict) -> str:
    return f"sentences {row['task']:<22} {row['protocol']}, seed {row['seed']}, {row['n_test']:,} tested{_left_out_of_parts(row)}"


def _of_changes(row: dict) -> str:
    base = f"against {row['base']}, " if row["base"] else ""
    return f"changes {base}{row['sentences']:,} sentences, {row['blocks']:,} blocks, seed {row['seed']}"


def _left_out_of_parts(row: dict) -> str:
    parts = json.loads(row["left_out"] or "{}").items()
    left = ", ".join(f"{count:,} {reason} ({part})" for part, reasons in parts for reason, count in reasons.items())
    return f", left out {left}" if left else ""


_LINES = {FACTS: _of_facts, EDGES: _of_edges, SENTENCES: _of_sentences, CHANGES: _of_changes}
