"""The calls of the Python API that draw the figures of the pages."""

from collections.abc import Sequence
from urllib.parse import urlsplit


def plot(method: str, *given: str, filtered: bool = False, **arguments: object) -> str:
    """The code that draws a figure; empty if no method of ``results.plot`` draws it, so that ``of_page`` does.

    ``filtered``: the page leaves out facts that the method counts. Arguments that are None or an empty list are left
    out.
    """
    if filtered:
        return ""
    named = [repr(name) for name in given]
    named += [
        f"{name}={_plain(value)!r}" for name, value in arguments.items() if value is not None and _plain(value) != []
    ]
    return f"import probing\n\nprobing.results().plot.{method}({', '.join(named)})"


def of_page(link: str, name: str) -> str:
    """The code that draws any figure of a page, from the page's link, whose server a notebook does not need.

    >>> print(of_page("http://localhost:8501/Compare_models?k=10", "flow").splitlines()[-1])
    page_figure('Compare_models?k=10', 'flow')
    """
    parts = urlsplit(link)
    page = parts.path.rpartition("/")[2] + (f"?{parts.query}" if parts.query else "")
    return f"from probing.ui.page_figures import page_figure\n\npage_figure({page!r}, {name!r})"


def _plain(value: object) -> object:
    """One value instead of a list of one; lists instead of tuples."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return value[0] if len(value) == 1 else list(value)
    return value
