"""Ratios, bounds and what the command prints."""

import inspect
from importlib import import_module

import pytest

from tests.speed import measurement as module
from tests.speed.__main__ import PARTS
from tests.speed.measurement import Measurement, alternate

pytestmark = pytest.mark.slow


def row(ratio=12.0, bound=10.0, at_most=False):
    return Measurement("heads", 2.0, "the plain way", 24.0, ratio, bound, at_most, "weights within 1e-4", "a slice")


@pytest.mark.parametrize(
    ("ratio", "bound", "at_most", "met"),
    [
        (12, 10, False, True),
        (9, 10, False, False),
        (1.2, 1.2, True, True),
        (1.3, 1.2, True, False),
        (None, 1, True, None),
        (3, None, False, None),
    ],
)
def test_a_bound_is_the_least_or_the_most(ratio, bound, at_most, met):
    assert row(ratio, bound, at_most).met() is met


def test_calls_alternate_and_the_first_of_each_is_not_counted(monkeypatch):
    order, clock = [], iter(range(100))
    monkeypatch.setattr(module.time, "perf_counter", lambda: next(clock))
    ours, theirs = alternate(lambda: order.append("ours"), lambda: order.append("theirs"), 3)
    assert order == ["ours", "theirs"] * 4
    assert len(ours) == len(theirs) == 3
    assert set(ours) == set(theirs) == {1}


def test_every_part_of_bench_can_be_imported_and_measured():
    """Without this, code that the benchmarks use could be renamed unnoticed until someone measures."""
    for part in PARTS:
        assert inspect.signature(import_module(f"tests.speed.{part}").measure).bind(quick=True), part
