"""What ``terms`` and ``tables`` print."""

import pytest

from probing.core.errors import OptionError
from probing.core.glossary.terms import TERMS
from probing.core.metrics import METRICS
from probing.store.schema import TABLES


def test_every_quantity_and_term_is_printed_and_a_name_chooses_some(run):
    lines = run("terms").output.splitlines()
    assert {f"## {metric.label}" for metric in METRICS.values()} <= set(lines)
    assert {one.name for one in TERMS} <= {line.split(" | ")[0].removeprefix("| ") for line in lines}
    some = run("terms", "Earth").output
    assert "earth mover's distance" in some and "P@10" not in some
    with pytest.raises(OptionError, match="got 'zzz'"):
        run("terms", "zzz")


def test_every_column_is_printed_with_its_values_and_a_name_chooses_tables(run):
    sections = run("tables").output.split("\n### ")[1:]
    printed = {part.splitlines()[0]: [line.split("`")[1] for line in part.splitlines() if line.startswith("| `")] for part in sections}
    assert printed == {name: table.schema.names for name, table in TABLES.items()}
    some = run("tables", "weight_drift").output
    assert some.count("### ") == 1 and "| `layer` | uint8 | 0 to 255 |" in some
    with pytest.raises(OptionError, match="got 'zzz'"):
        run("tables", "zzz")
