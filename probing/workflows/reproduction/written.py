"""The tables that a reproduction writes."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from probing.core.files.atomic import atomic_text
from probing.workflows.say import Say


def write_tables(out: Path, tables: Mapping[str, pd.DataFrame], say: Say) -> None:
    """Writes every table as CSV and as JSON.

    Args:
        out: the folder; it is made if it is missing.
        tables: name -> table.
        say: called with a line for each.
    """
    out.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        atomic_text(out / f"{name}.csv", table.to_csv(index=False))
        objects = table.to_json(orient="records", force_ascii=False, indent=1, double_precision=15)
        atomic_text(out / f"{name}.json", objects + "\n")
        say(f"  {name}: {len(table):,} rows")
    say(f"  tables in {out}; compare with the paper's on the dashboard's page Reproduction")
