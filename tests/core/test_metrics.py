"""The table of quantities is true to what the functions do."""

import ast
import re
from pathlib import Path

import pytest

from probing.core.metrics import METRICS
from tests.reference.ranks import precision_at


def test_every_quantity_has_a_label_of_its_own_and_a_range_that_is_one():
    assert all(key == metric.name for key, metric in METRICS.items())
    assert len({metric.label for metric in METRICS.values()}) == len(METRICS)
    for name, metric in METRICS.items():
        assert all(getattr(metric, field).strip() for field in ("label", "unit", "definition", "ties", "empty", "source")), name
        assert metric.low is None or metric.high is None or metric.low < metric.high, name


def test_a_quantity_is_computed_by_a_function_that_is_there_and_is_called(repo_root):
    texts = (path.read_text("utf-8") for path in (repo_root / "probing").rglob("*.py"))
    called = {name for text in texts for name in re.findall(r"(?<!def )\b(\w+)\(", text)}
    for name, metric in METRICS.items():
        module, function = metric.computed_in.rsplit(".", 1)
        path = repo_root / "probing" / Path(*module.split(".")).with_suffix(".py")
        assert function in {node.name for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.FunctionDef)}, name
        assert function in called, f"{function} is called by nothing but tests"


@pytest.mark.parametrize("k", [1, 10, 100])
def test_p_at_k_keeps_to_its_range(k):
    metric = METRICS[f"p_at_{k}"]
    assert precision_at([1, 1], k) == metric.high
    assert precision_at([101, 500], k) == metric.low
