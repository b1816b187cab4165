"""Importing the package is cheap, and its two functions are documented."""

import inspect
import subprocess
import sys

import probing
from tests.test_architecture import NOT_FOR_HELP


def test_importing_the_package_loads_no_heavy_library(repo_root):
    code = f"import sys, probing; probing.load, probing.results; print(sorted(set(sys.modules) & {set(NOT_FOR_HELP)!r}))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=repo_root, check=True)
    assert run.stdout.strip() == "[]"


def test_the_package_names_what_a_notebook_uses():
    assert set(probing.__all__) == {"load", "results", "__version__"}
    for function in (probing.load, probing.results):
        assert ">>>" in inspect.getdoc(function)
