"""The table of quantities names functions that are there."""

import ast
import re
from pathlib import Path

from probing.core.metrics import METRICS


def test_a_quantity_is_computed_by_a_function_that_is_there_and_is_called(repo_root):
    texts = (path.read_text("utf-8") for path in (repo_root / "probing").rglob("*.py"))
    called = {name for text in texts for name in re.findall(r"(?<!def )\b(\w+)\(", text)}
    for name, metric in METRICS.items():
        module, function = metric.computed_in.rsplit(".", 1)
        path = repo_root / "probing" / Path(*module.split(".")).with_suffix(".py")
        assert function in {
            node.name for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.FunctionDef)
        }, name
        assert function in called, f"{function} is called by nothing but tests"
