"""Many intervals at once: a page of curves has hundreds, and each takes thousands of draws."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_One = TypeVar("_One")
_Other = TypeVar("_Other")

#: More threads would only wait for each other: NumPy draws run in parallel, the Python code between them does not.
_THREADS = min(4, os.cpu_count() or 1)


def parallel_map(make: Callable[[_One], _Other], of: Iterable[_One]) -> list[_Other]:
    """``make`` of every item, in order; NumPy draws for several items in parallel."""
    many = list(of)
    if len(many) < 2 or _THREADS < 2:
        return [make(one) for one in many]
    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(make, many))
