"""The calls of the Python API that draw the figures of the pages."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit


def plot(kind: str, name: str, filters: Mapping[str, object], filtered: bool = False, **looks: Any) -> str:
    """The code that draws the figure of a report; empty if the page leaves out facts that the report counts.

    Filters that are None, False or an empty list are left out, and looks that are None.

    >>> plot("facts", "precision", {"model": ["a"], "head": (), "k": 1}).splitlines()[-1]
    "probing.results().report('facts', 'precision', model='a', k=1).figure()"
    """
    if filtered:
        return ""
    given = {key: _plain(value) for key, value in filters.items()}
    named = [repr(kind), repr(name), *(f"{key}={value!r}" for key, value in given.items() if value)]
    drawn = ", ".join(f"{key}={value!r}" for key, value in looks.items() if value is not None)
    return f"import probing\n\nprobing.results().report({', '.join(named)}).figure({drawn})"


def of_page(link: str, name: str) -> str:
    """The code that draws any figure of a page, from the page's link, whose server a notebook does not need.

    >>> print(of_page("http://localhost:8501/Compare_models?k=10", "flow").splitlines()[-1])
    probing.page_figure('Compare_models?k=10', 'flow')
    """
    parts = urlsplit(link)
    page = parts.path.rpartition("/")[2] + (f"?{parts.query}" if parts.query else "")
    return f"import probing\n\nprobing.page_figure({page!r}, {name!r})"


def _plain(value: object) -> object:
    """One value instead of a list of one; lists instead of tuples."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return value[0] if len(value) == 1 else list(value)
    return value
