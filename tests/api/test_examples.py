"""Every example in the documentation of the Python API runs and shows what it says."""

import doctest
import importlib
import inspect
from functools import cached_property

import pytest

from tests.test_architecture import PACKAGE

FILES = sorted(
    path.relative_to(PACKAGE.parent).with_suffix("")
    for path in (PACKAGE / "api").rglob("*.py")
    if path.stem != "__init__"
)
MODULES = [
    "probing",
    "probing.kernel.app.page_figures",
    "probing.kernel.app.save",
    *(".".join(path.parts) for path in FILES),
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name, tmp_path, monkeypatch):
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert found.failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_of_the_api_is_documented(name):
    module = importlib.import_module(name)
    for thing, value in vars(module).items():
        if thing.startswith("_") or getattr(value, "__module__", None) != name:
            continue
        assert inspect.getdoc(value), f"{name}.{thing}"
        for method, function in vars(value).items() if inspect.isclass(value) else ():
            if not method.startswith("_") and (callable(function) or isinstance(function, (property, cached_property))):
                assert inspect.getdoc(function), f"{name}.{thing}.{method}"
