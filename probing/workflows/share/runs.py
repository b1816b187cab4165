"""Sharing runs: what they are on that is not this project's, and storing in a pull."""

from collections.abc import Sequence
from pathlib import Path

from probing.core.errors import HubError
from probing.core.facts.sources import read_facts
from probing.core.facts.templates import shipped_relations
from probing.core.files.atomic import atomic_copy
from probing.core.files.checksums import file_sha256
from probing.core.registry import has_data
from probing.store.kinds import RUNS_OF_FILES, Kind
from probing.store.parquet import read_table
from probing.store.schema import TABLES
from probing.store.sources import table_of
from probing.workflows.knowledge.stored_run import run_files
from probing.workflows.share.manifest import DATA

#: Template sets that ship with the facts.
_OUR_TEMPLATES = ("default", "paraphrase")
#: Columns that may differ if the same run is made twice.
OF_THE_MAKING = ("device", "created")


def foreign_facts(rows: Sequence[dict], folder: Path) -> list[str]:
    """Probe sets and template sets of the runs that have facts or prompts other than those that ship with this project.

    Args:
        rows: of ``runs``.
        folder: with the runs' files below ``data``.
    """
    ours = _shipped_facts()
    others = set()
    for row in rows:
        facts = read_table(run_files(folder / DATA, row)[1], "facts")
        if set(facts.column("fact_id").to_pylist()) - ours:
            others.add(f"{row['probe_set']} with the prompts {row['template_set']}")
    return sorted(others)


def foreign_ids(rows: Sequence[dict], folder: Path, kinds: Sequence[Kind]) -> list[str]:
    """As ``foreign_facts``, of runs of other kinds, whose tables have the ids of facts and no text.

    Args:
        rows: of all runs.
        folder: with the runs' files below ``data``.
        kinds: of the runs.
    """
    tables = [
        (kind, table)
        for kind in kinds
        for table in kind.tables
        if table.per == "run_id" and "fact_id" in table.schema.names
    ]
    others = []
    for kind, table in tables:
        ours = _shipped_facts()
        for row in (row for row in rows if set(row) == set(TABLES[kind.runs].schema.names)):
            facts = read_table(folder / DATA / table.file_name(row), table.name, ["fact_id"])
            if set(facts.column("fact_id").to_pylist()) - ours:
                others.append(f"{row['probe_set']} with the prompts {row['template_set']}")
    return sorted(set(others))


def _shipped_facts() -> set[str]:
    """Ids of the facts that ship, which depend on their prompts; none without the repository's data."""
    if not has_data():
        return set()
    relations = shipped_relations()
    return {
        fact.fact_id
        for templates in _OUR_TEMPLATES
        for one in read_facts("all", relations, templates)
        for fact in one.facts
    }


def place_runs(folder: Path, target: Path) -> list[Path]:
    """Stores checked runs with those made here. A run's row comes last, as a run exists when its row does.

    Raises:
        HubError: before anything is stored, if a file of that name has different rows.
    """
    wanted = []
    for source in sorted(folder.glob("*.parquet")):
        path = target / source.name
        if path.is_file() and file_sha256(path) != file_sha256(source):
            if not _same_run(path, source):
                raise HubError(
                    f"{path} holds different rows from the pulled {path.name}; move yours away, or pull with --out into"
                    " another folder"
                )
        elif not path.is_file():
            wanted.append((source, path))
    for source, path in sorted(wanted, key=lambda pair: (table_of(pair[1]) in RUNS_OF_FILES, pair[1].name)):
        atomic_copy(source, path)
    return [path for _, path in wanted]


def _same_run(ours: Path, theirs: Path) -> bool:
    """Whether two files are of the same run, made twice (only device and time differ), or of the same sentences (only
    words differ).
    """
    table = table_of(ours)
    may_differ = OF_THE_MAKING if table in RUNS_OF_FILES else TABLES[str(table)].withheld
    if not may_differ:
        return False
    rows = [read_table(path, str(table)).drop_columns(list(may_differ)).to_pylist() for path in (ours, theirs)]
    return rows[0] == rows[1]
