"""What a share of known facts is compared with: the commonest answer, a blind guess (a swapped subject), chance, and
the answer alone.
"""

import pandas as pd
import plotly.graph_objects as go

from probing.kernel.figures import theme
from probing.kernel.figures.axis import EndLabel

MAJORITY, SWAPPED, CHANCE, ALONE = "commonest answer", "blind guess", "chance", "answer alone"
#: Mode of a figure -> what 0 means in it; empty for the values themselves.
MODES = {"value": "", "majority": MAJORITY, "swapped": SWAPPED}
#: Column -> (name, dash) of the yardsticks that depend only on the facts, not on the model.
_LEVELS = {"majority": (MAJORITY, "dash"), "chance": (CHANCE, "dashdot")}


def above(points: pd.DataFrame, mode: str) -> pd.DataFrame:
    """The points with the difference to a yardstick (``MODES``) as ``value, low, high``; unchanged in mode ``value``.

    From ``above_MODE`` with ``_low`` and ``_high``. ``zero`` states what 0 means, no other yardstick is left, and ``n``
    counts the facts with a swapped subject if that is subtracted.
    """
    if mode == "value":
        return points
    column = f"above_{mode}"
    moved = {name: points[f"{column}{end}"] for name, end in (("value", ""), ("low", "_low"), ("high", "_high"))}
    emptied = {name: float("nan") for name in ("majority", "swapped", "chance") if name in points}
    n = {"n": points["swapped_n"].fillna(0)} if mode == "swapped" else {}
    return points.assign(**moved, **emptied, **n, zero=MODES[mode])


def pair_above(points: pd.DataFrame, mode: str) -> pd.DataFrame:
    """``above`` for two models side by side, the columns of ``facts.report_pairs``.

    Minus the majority answer, their difference is unchanged; minus the swapped subject, it is how much more one gains
    from the subject.
    """
    if mode == "value":
        return points
    base = {
        name: points[f"base_above_{mode}{end}"]
        for name, end in (("base_value", ""), ("base_low", "_low"), ("base_high", "_high"))
    }
    gain = {"difference": "more", "difference_low": "more_low", "difference_high": "more_high"}
    more = (
        {name: points[column] for name, column in gain.items()} | {"p_value": float("nan")} if mode == "swapped" else {}
    )
    counted = {"base_n": points["base_swapped_n"].fillna(0)} if mode == "swapped" else {}
    if "shuffled" in points:
        more |= {
            "shuffled": (
                points["shuffled"] - points["majority"] if mode == "majority" else points["shuffled_above_swapped"]
            )
        }
    for end in ("again_low", "again_high"):
        if end in points:
            swapped = end.replace("again", "again_swapped")
            more |= {end: points[end] - points["majority"] if mode == "majority" else points[swapped]}
    return above(points, mode).assign(**base, **more, **counted, base_swapped=float("nan"))


def zero_of(points: pd.DataFrame) -> str:
    """What 0 means in a figure of differences; ``""`` if values are drawn."""
    return str(points["zero"].iloc[0]) if "zero" in points and len(points) else ""


def add_levels(
    figure: go.Figure, points: pd.DataFrame, *, by: dict[str, str], scale: int = 100, row: int | None = None
) -> list[EndLabel]:
    """One neutral line per level of ``majority`` and ``chance``, no matter how many runs share it; returns their names.

    ``line`` identifies the line of the figure; ``by``: line -> displayed name, if levels differ by line.
    """
    labels, last = [], float(points["layer"].max())
    for column, (name, dash) in _LEVELS.items():
        if column not in points or points[column].isna().all():
            continue
        firsts = points.dropna(subset=[column]).drop_duplicates("line")
        levels = firsts.assign(level=firsts[column].round(9)).groupby("level", sort=False)["line"].agg(list)
        for level, lines in levels.items():
            whose = list(dict.fromkeys(by[line] for line in lines if line in by))
            everyone = len(lines) == points["line"].nunique()
            words = name if everyone or not whose else f"{name}, {', '.join(whose)}"
            _level(figure, last, float(level) * scale, words, dash, row)
            labels.append(EndLabel(last, float(level) * scale, theme.shorten(words, 60), strong=False, row=row or 1))
    return labels


def add_zero(figure: go.Figure, points: pd.DataFrame, *, row: int | None = None) -> list[EndLabel]:
    """The zero line of differences, with its name; nothing if values are drawn."""
    name = zero_of(points)
    if not name:
        return []
    last = float(points["layer"].max())
    _level(figure, last, 0.0, name, "dash" if name == MAJORITY else "dot", row)
    return [EndLabel(last, 0.0, name, strong=False, row=row or 1)]


def _level(figure: go.Figure, last: float, level: float, name: str, dash: str, row: int | None) -> None:
    where = {"row": row, "col": 1} if row else {}
    plain_name = theme.plain(name)
    figure.add_scatter(
        x=[-0.5, last],
        y=[level, level],
        mode="lines",
        line={"dash": dash, "color": theme.NEUTRAL, "width": 1.6},
        name=plain_name,
        showlegend=False,
        hovertemplate=f"{plain_name}: %{{y:.1f}}<extra></extra>",
        **where,
    )


def extent(points: pd.DataFrame, columns: tuple[str, ...], scale: float) -> tuple[float, float]:
    """The range of the vertical axis: from 0 for values, beyond both ends for differences."""
    there = points[[column for column in columns if column in points]].astype("float64") * scale
    low, high = float(there.min().min()), float(there.max().max())
    if not zero_of(points):
        return 0.0, max(high, scale / 100) * 1.05
    low, high = min(low, 0.0), max(high, 0.0)
    edge = max(high - low, scale / 100) * 0.06
    return low - edge, high + edge
