"""Every part of ``make bench`` can be measured."""

import inspect
from importlib import import_module

import pytest

from tests.speed.__main__ import PARTS

pytestmark = pytest.mark.slow


def test_every_part_of_bench_can_be_imported_and_measured():
    """Without this, code that the benchmarks use could be renamed unnoticed until someone measures."""
    for part in PARTS:
        assert inspect.signature(import_module(f"tests.speed.{part}").measure).bind(quick=True), part
