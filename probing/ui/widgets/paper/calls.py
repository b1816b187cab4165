"""The calls of the Python API that draw the figures of the pages."""

from collections.abc import Sequence

#: A line above a call of a page with filters that the method does not have.
UNFILTERED = "# Exposure and “answer is part of the subject” are filters of the page only: this call draws all facts.\n"


def plot(method: str, *given: str, filtered: bool = False, **arguments: object) -> str:
    """The code that draws a figure.

    Args:
        method: of ``results.plot``.
        given: its arguments without a name.
        filtered: whether the page leaves out facts that the call counts.
        **arguments: its other arguments; None, and an empty list, are left out.
    """
    named = [repr(one) for one in given]
    named += [f"{name}={_plain(value)!r}" for name, value in arguments.items() if value is not None and _plain(value) != []]
    return f"import probing\n\n{UNFILTERED if filtered else ''}probing.results().plot.{method}({', '.join(named)})"


def _plain(value: object) -> object:
    """One value instead of a list of one; lists instead of tuples."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return value[0] if len(value) == 1 else list(value)
    return value
