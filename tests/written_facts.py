"""The table of docs/facts.md, from the shipped results; ``make docs`` writes it, and a test compares it."""

from probing.facts.report_candidates import CANDIDATES
from probing.kernel.registry import REPOSITORY
from probing.kernel.store.database import Database
from tests.written_heads import BASE, replaced, shown

DOCS = REPOSITORY / "docs" / "facts.md"


def with_tables(text: str, db: Database) -> str:
    """The document with today's table in place of the one in it."""
    table = CANDIDATES.table(db, CANDIDATES.choose("layers", {"model": BASE, "average": "micro"}))
    sticks = ("swapped", "majority", "chance", "alone", "shortest")
    lines = [f"| `--measure` | head | right, % | {' | '.join(sticks)} | MRR | its chance |", f"|{'---|' * 10}"]
    for row in table[table["layer"] == table["layer"].max()].sort_values(["head", "measure"]).itertuples():
        share = f"{shown(row.value)} ({shown(row.low)} to {shown(row.high)})"
        cells = [f"`{row.measure}`", f"`{row.head}`", share, *(shown(getattr(row, name)) for name in sticks)]
        lines.append(f"| {' | '.join(cells)} | {row.mrr:.3f} | {row.mrr_chance:.3f} |")
    return replaced(text, "\n".join(lines))
