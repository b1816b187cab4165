"""Intervals that are made at the same time are those that are made one after the other."""

import threading

from probing.core.stats.intervals import RelationCounts, macro
from probing.reports import bootstrap
from probing.reports.bootstrap import parallel_map


def counts(number: int) -> list[RelationCounts]:
    return [RelationCounts(f"P{place}", 50 + place, (number * 7 + place) % 50) for place in range(41)]


def test_order_and_numbers_do_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(bootstrap, "_THREADS", 4)
    many = [counts(number) for number in range(12)]
    assert parallel_map(macro, many) == [macro(one) for one in many]


def test_several_are_drawn_at_the_same_time(monkeypatch):
    monkeypatch.setattr(bootstrap, "_THREADS", 2)
    met = threading.Barrier(2, timeout=10)
    assert parallel_map(lambda one: (met.wait() >= 0, one), [1, 2]) == [(True, 1), (True, 2)]
