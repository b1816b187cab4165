"""Importing the package is cheap, and its two functions are documented."""

import inspect
import subprocess
import sys

import probing
from probing.core.errors import ProbingError
from tests.test_architecture import NOT_FOR_HELP


def test_importing_the_package_loads_no_heavy_library(repo_root):
    code = f"import sys, probing; probing.load, probing.results; print(sorted(set(sys.modules) & {set(NOT_FOR_HELP)!r}))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=repo_root, check=True)
    assert run.stdout.strip() == "[]"


def test_the_package_names_what_a_notebook_uses():
    assert set(probing.__all__) == {"ForgettingCallback", "ProbingError", "load", "results", "__version__"}
    assert probing.ProbingError is ProbingError
    for function in (probing.load, probing.results, probing.ForgettingCallback):
        assert ">>>" in inspect.getdoc(function)


def test_loading_a_model_in_a_notebook_without_ipywidgets_warns_of_nothing(repo_root):
    code = """
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

for name in ("IPython", "ipykernel.zmqshell"):
    sys.modules[name] = ModuleType(name)
    sys.modules[name].__spec__ = ModuleSpec(name, None)
sys.modules["IPython"].get_ipython = lambda: None
sys.modules["ipywidgets"] = None
# The libraries that models need import tqdm.auto, too, and take seconds.
model = sys.modules["probing.api.model"] = ModuleType("model")
model.open_model = lambda *given, **named: "opened"
import probing

print(probing.load(""))
import tqdm.auto
"""
    run = subprocess.run([sys.executable, "-W", "always", "-c", code], capture_output=True, text=True, cwd=repo_root, check=True)
    assert run.stdout.strip() == "opened" and "IProgress" not in run.stderr
