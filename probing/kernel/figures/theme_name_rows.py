"""Rows that carry their whole names: a long name stands on several lines, and its row is as many times as high."""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from textwrap import wrap

from probing.kernel.figures import theme


def name_rows(names: Sequence[str], width: int, further: float = 1.0) -> tuple[list[str], list[float]]:
    """The names on lines of ``width`` characters, and the ends of their rows from the top, one more than names.

    The unit is the row of a name of one line; each ``further`` line adds its height.
    """
    lines = [wrap(name, width) or [""] for name in names]
    return ["<br>".join(map(theme.plain, wrapped)) for wrapped in lines], [
        0.0,
        *accumulate(1 + further * (len(wrapped) - 1) for wrapped in lines),
    ]


def centres(ends: Sequence[float]) -> list[float]:
    """The middle of each row."""
    return [(top + bottom) / 2 for top, bottom in pairwise(ends)]
