"""The documents that are written from declarations: ``make docs`` writes them, and a test compares them with what is committed.

It also writes the tables of docs/heads.md, docs/forgetting.md and of the shipped model's card again, from the shipped results.
"""

import tempfile
from collections.abc import Callable
from inspect import cleandoc
from pathlib import Path

import pyarrow as pa

from probing.core.glossary.terms import TERMS
from probing.core.metrics import METRICS
from probing.core.paths import snapshot_folder
from probing.store.build import built_database
from probing.store.kinds import KINDS
from tests import written_card, written_forgetting, written_heads

ROOT = Path(__file__).resolve().parents[1]
_METRICS = """# Metrics

The table in `probing/core/metrics.py` defines the texts of tooltips, axis titles, the Methods page and this document. Shares lie in [0, 1]
internally and are shown in per cent. Macro averages over relations, micro over facts; every figure states which. The Methods page explains
the baselines (majority answer, swapped subject, chance among answers) and the null of total knowledge with a worked example.
"""
_TABLES = """# Tables

Results are Parquet files, named after their table and what their rows belong to. The declarations in `probing/store/tables/` define
them, and this document is written from them. Layer 0 is the embeddings; ranks count from 1; a column may be empty if it says so.
"""


def metrics() -> str:
    """``docs/metrics.md``: every quantity of ``METRICS``, and the terms that are none."""
    parts = [_METRICS]
    for metric in METRICS.values():
        ends = ["no bound" if end is None else str(end) for end in (metric.low, metric.high)]
        span = "no bounds" if ends[0] == ends[1] else " to ".join(ends)
        module, function = metric.computed_in.rsplit(".", 1)
        parts.append(
            f"## {metric.label}\n\n{metric.definition}\n\n- Unit: {metric.unit}; range: {span}; better: {metric.better}\n"
            f"- Ties: {metric.ties}\n- Empty case: {metric.empty}\n- Source: {metric.source}\n"
            f"- Computed in: `{function}` in `probing/{module.replace('.', '/')}.py`\n"
        )
    rows = [f"| {one.name} | {one.meaning} | {one.source} |" for one in TERMS]
    parts.append("\n".join(["## Terms\n", "| term | meaning | source |", "|---|---|---|", *rows]) + "\n")
    return "\n".join(parts)


def tables() -> str:
    """``docs/tables.md``: every column of every stored table."""
    parts = [_TABLES]
    for name, kind in KINDS.items():
        said = cleandoc(kind.about or "").replace("``", "`")
        parts.append(f"## {name.capitalize()}\n\n{said}\n")
        for table in kind.tables:
            key = ", ".join(f"`{column}`" for column in table.keys)
            per = f" One file per {' and '.join(f'`{column}`' for column in table.per.split())}." if table.per else ""
            parts.append(f"### {table.name}\n\n{table.says.replace('``', '`')} Key: {key}.{per}\n")
            lines = ["| column | type | values | meaning |", "|---|---|---|---|"]
            for column in table.columns:
                bounds = f"{column.bounds}{' or empty' * bool(column.bounds)}" if column.optional else column.bounds
                bounds = bounds or ("may be empty" if column.optional else "")
                kind = f"list of {column.type.value_type}" if pa.types.is_list(column.type) else column.type
                lines.append(f"| `{column.name}` | {kind} | {bounds} | {column.says.replace('``', '`')} |")
            parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


#: Path below the repository -> what writes it.
DOCS: dict[str, Callable[[], str]] = {"docs/metrics.md": metrics, "docs/tables.md": tables}
#: Document -> what writes its tables again.
_FROM_RESULTS = {
    ROOT / "docs" / "heads.md": written_heads.with_tables,
    written_forgetting.DOCS: written_forgetting.with_tables,
    written_card.CARD: written_card.with_tables,
}

if __name__ == "__main__":
    for name, write in DOCS.items():
        (ROOT / name).write_text(write(), encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="probing-docs-") as folder, built_database([snapshot_folder()], Path(folder)) as db:
        for path, with_tables in _FROM_RESULTS.items():
            path.write_text(with_tables(path.read_text(encoding="utf-8"), db), encoding="utf-8")
