"""Importing the package is cheap."""

import os
import subprocess
import sys

from tests.test_architecture import NOT_FOR_HELP


def test_importing_the_package_loads_no_heavy_library(repo_root):
    code = (
        f"import sys, probing; probing.load, probing.results; print(sorted(set(sys.modules) & {set(NOT_FOR_HELP)!r}))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=repo_root, check=True)
    assert run.stdout.strip() == "[]"


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
    run = subprocess.run(
        [sys.executable, "-W", "always", "-c", code], capture_output=True, text=True, cwd=repo_root, check=True
    )
    assert run.stdout.strip() == "opened" and "IProgress" not in run.stderr


def test_a_script_ends_without_a_word_and_models_and_results_say_how_to_be_without_pickle(repo_root, tmp_path):
    code = """
import pickle, probing

model, results = probing.load("nesia-mini", device="cpu"), probing.results()
model.ask("Paris is in [MASK].")
results.report("facts", "precision", model="nesia-mini", head="tied", k=1).table
for one in (model, results):
    try:
        pickle.dumps(one)
    except TypeError as error:
        print(error)
"""
    given = {**os.environ, "PROBING_CACHE": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=repo_root, env=given, check=True
    )
    assert run.stderr == ""
    model, results = run.stdout.splitlines()
    assert (
        model == "a loaded model cannot be pickled; pickle its answers, or load it where it is used: probing.load(...)"
    )
    assert results.startswith("open results cannot be pickled; pickle their tables, or open them where they are used:")
