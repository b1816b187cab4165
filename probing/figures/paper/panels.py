"""The axes of a figure for pgfplots: where they are, their ranges and their ticks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from probing.core.errors import FigureError
from probing.figures.paper import tex
from probing.figures.paper.sizing import PER_INCH, TEXT, lines_of

#: Mean width of a character, in pixels.
_CHARACTER = 0.53 * TEXT


@dataclass
class Axis:
    """One axis.

    Attributes:
        letter: ``x`` or ``y``.
        key: its name in the layout, such as ``xaxis2``.
        made: what the layout says of it.
        values: all values on it, for its range; for one with ``matches`` also those of the other.
        marked: whether something on it needs room at the ends.
        from_zero: whether bars begin on it.
    """

    letter: str
    key: str
    made: dict[str, Any]
    values: list[Any] = field(default_factory=list)
    marked: bool = False
    from_zero: bool = False

    @property
    def log(self) -> bool:
        """Whether it is logarithmic."""
        return self.made.get("type") == "log"

    @property
    def categories(self) -> list[str]:
        """Its categories in order; none for numbers."""
        if self.made.get("type") in ("linear", "log"):
            return []
        if (array := self.made.get("categoryarray")) is not None:
            return [str(one) for one in array]
        return list(dict.fromkeys(one for one in self.values if isinstance(one, str)))

    def at(self, value: Any) -> float:
        """The place of a value in units of the axis; of a category its number from 0, NaN for none."""
        if isinstance(value, str):
            known = self.categories
            return float(known.index(value)) if value in known else math.nan
        return math.nan if value is None else float(value)

    @property
    def range(self) -> tuple[float, float]:
        """Its ends in units of the axis, in the order of drawing: from left to right, or from the bottom to the top."""
        given = self.made.get("range")
        if given is not None and None not in list(given):
            low, high = (float(one) for one in given)
            return (10.0**low, 10.0**high) if self.log else (low, high)
        low, high = self._from_values()
        return (high, low) if self.made.get("autorange") == "reversed" else (low, high)

    def _from_values(self) -> tuple[float, float]:
        there = [at for value in self.values if math.isfinite(at := self.at(value)) and (at > 0 or not self.log)]
        if not there:
            return (1.0, 10.0) if self.log else (0.0, 1.0)
        low, high = min(there), max(there)
        if self.categories:
            return low - 0.5, high + 0.5
        if self.log:
            return low / 1.2, high * 1.2
        zero = self.from_zero or self.made.get("rangemode") == "tozero"
        low, high = (min(low, 0.0), max(high, 0.0)) if zero else (low, high)
        edge = (high - low or abs(high) or 1.0) * (0.05 if self.marked or zero else 0.0)
        return (low if zero and low == 0 else low - edge), (high if zero and high == 0 else high + edge)

    def within(self, share: float) -> float:
        """The place at a share of the axis, 0 at its left or lower end."""
        low, high = self.range
        return low * (high / low) ** share if self.log else low + (high - low) * share

    def options(self) -> list[str]:
        """The options of pgfplots: ends, direction, ticks, grid and title.

        Raises:
            FigureError: for ticks that pgfplots code cannot show.
        """
        one, made = self.letter, self.made
        low, high = self.range
        found = [f"{one}min={tex.number(min(low, high))}", f"{one}max={tex.number(max(low, high))}"]
        found += [f"{one}mode=log"] if self.log else []
        found += [f"{one} dir=reverse"] if low > high else []
        if made.get("visible") is False:
            return [*found, f"hide {one} axis"]
        found += [f"axis {one} line*={'top' if made.get('side') == 'top' else 'bottom'}"] if one == "x" else ["axis y line*=left"]
        found += [f"{one}majorgrids"] if made.get("showgrid", True) else []
        found += self._ticks()
        if words := (made.get("title") or {}).get("text"):
            found.append(f"{one}label={{{tex.text(words)}}}")
        return found

    def _ticks(self) -> list[str]:
        one, made = self.letter, self.made
        prefix, suffix = tex.text(made.get("tickprefix")), tex.text(made.get("ticksuffix"))
        found = []
        places, names = made.get("tickvals"), made.get("ticktext")
        if places is None and self.categories:
            places, names = range(len(self.categories)), self.categories
        if places is not None and names is None:
            names = [f"{tex.number(place)}" for place in places]
        if places is not None and names is not None:
            low, high = sorted(self.range)
            edge = 0 if self.log else 1e-9 * (high - low)
            kept = [(at, name) for at, name in zip(map(self.at, places), names, strict=True) if low - edge <= at <= high + edge]
            found.append(f"{one}tick={{{','.join(tex.number(at) for at, _ in kept)}}}" if kept else f"{one}tick=\\empty")
            found.append(f"{one}ticklabels={{{','.join(f'{{{prefix}{tex.text(name)}{suffix}}}' for _, name in kept)}}}")
        elif isinstance(made.get("dtick"), int | float) and not self.log:
            found.append(f"{one}tick distance={tex.number(made['dtick'])}")
        if made.get("tickformat") and "%" in made["tickformat"]:
            raise FigureError(f"got the tick format {made['tickformat']!r}; code for LaTeX writes numbers. Save the figure as SVG or PDF")
        if places is None and (prefix or suffix):
            found.append(f"{one}ticklabel={{{prefix}\\pgfmathprintnumber{{\\tick}}{suffix}}}")
        if made.get("showticklabels") is False:
            found.append(f"{one}ticklabels=\\empty")
        if (angle := made.get("tickangle")) not in (None, "auto", 0):
            anchor = "south west" if made.get("side") == "top" else "north east" if angle < 0 else "north west"
            found.append(f"{one}ticklabel style={{rotate={tex.number(-angle)}, anchor={anchor}}}")
        return found

    def room(self) -> float:
        """Pixels that its labels and its title need outside."""
        if self.made.get("visible") is False:
            return 0.0
        words = self.made.get("ticktext")
        words = self.categories or ["0000"] if words is None else list(words)
        longest = max((len(line) for word in words for line in lines_of(word)), default=0)
        shown = 0.0 if self.made.get("showticklabels") is False else longest * _CHARACTER + 8
        return shown + (1.3 * TEXT + 6 if (self.made.get("title") or {}).get("text") else 0)


@dataclass
class Panel:
    """One pair of axes with the traces on it.

    Attributes:
        x, y: its axes.
        traces: in the order of drawing.
    """

    x: Axis
    y: Axis
    traces: list[dict[str, Any]] = field(default_factory=list)

    def place(self, across: float, up: float) -> str:
        """A point in units of the axes, for TikZ."""
        return f"(axis cs:{tex.number(across)},{tex.number(up)})"

    def corner(self, width: float, height: float) -> tuple[float, float, float, float]:
        """Left, bottom, width and height in inches, of axes that are as wide and as high together as given, in pixels."""
        (left, right), (low, high) = (axis.made.get("domain") or (0.0, 1.0) for axis in (self.x, self.y))
        return left * width / PER_INCH, low * height / PER_INCH, (right - left) * width / PER_INCH, (high - low) * height / PER_INCH


def panels(content: dict[str, Any]) -> list[Panel]:
    """The panels of a figure, in the order of their first traces."""
    layout = content["layout"]
    axes: dict[str, Axis] = {}
    found: dict[tuple[str, str], Panel] = {}

    def axis(letter: str, name: str) -> Axis:
        key = f"{letter}axis{name[1:]}"
        return axes.setdefault(key, Axis(letter, key, layout.get(key, {})))

    for trace in content["data"]:
        names = trace.get("xaxis") or "x", trace.get("yaxis") or "y"
        panel = found.setdefault(names, Panel(axis("x", names[0]), axis("y", names[1])))
        panel.traces.append(trace)
        _collect(panel, trace, str(layout.get("barmode", "group")))
    for one in axes.values():
        if (other := one.made.get("matches")) and (leader := axes.get(f"{one.letter}axis{other[1:]}")) and leader is not one:
            leader.values += one.values
            one.values = leader.values
            leader.marked = one.marked = leader.marked or one.marked
            leader.from_zero = one.from_zero = leader.from_zero or one.from_zero
    return list(found.values())


def _collect(panel: Panel, trace: dict[str, Any], barmode: str) -> None:
    """Adds the values of a trace to the ranges of its axes."""
    x, y = listed(trace.get("x")), listed(trace.get("y"))
    kind = trace.get("type", "scatter")
    if kind == "bar":
        along, value = (panel.y, panel.x) if trace.get("orientation") == "h" else (panel.x, panel.y)
        places, sizes = (y, x) if trace.get("orientation") == "h" else (x, y)
        value.from_zero = True
        ends = ends_of_stacks(panel, trace) if barmode in ("stack", "relative") else list(sizes)
        value.values += ends + _errors(trace, value.letter, ends)
        along.values += (
            places
            if any(isinstance(one, str) for one in places)
            else [one + side for one in places if one is not None for side in (-0.5, 0.5)]
        )
        return
    if kind == "heatmap":
        z = list(trace.get("z", ()))
        x = x or list(range(len(z[0]) if z else 0))
        y = y or list(range(len(z)))
        for one, places in ((panel.x, x), (panel.y, y)):
            words = any(isinstance(place, str) for place in places)
            one.values += places if words else [place + side for place in places for side in (-0.5, 0.5)]
        return
    panel.x.values += [*x, *_errors(trace, "x", x)]
    panel.y.values += [*y, *_errors(trace, "y", y)]
    panel.y.marked = True
    panel.x.marked |= "markers" in trace.get("mode", "lines")


def ends_of_stacks(panel: Panel, trace: dict[str, Any]) -> list[float]:
    """Where the bars of a trace end, on those of the traces before it; negative ones are stacked downwards."""
    across = trace.get("orientation") == "h"
    ends: dict[tuple[Any, bool], float] = {}
    found: list[float] = []
    for one in panel.traces:
        if one.get("type") != "bar":
            continue
        places, sizes = (listed(one.get(name)) for name in (("y", "x") if across else ("x", "y")))
        found = []
        for place, size in zip(places, sizes, strict=True):
            value = 0.0 if size is None or not math.isfinite(float(size)) else float(size)
            ends[place, value < 0] = ends.get((place, value < 0), 0.0) + value
            found.append(ends[place, value < 0])
        if one is trace:
            break
    return found


def _errors(trace: dict[str, Any], letter: str, values: Sequence[Any]) -> list[float]:
    """The ends of the error bars of a trace."""
    low, high = whiskers(trace, letter, len(values))
    there = [one if isinstance(one, int | float) else math.nan for one in values]
    return [a + b for a, b in zip(there, high, strict=False)] + [a - b for a, b in zip(there, low, strict=False)]


def whiskers(trace: dict[str, Any], letter: str, count: int) -> tuple[list[float], list[float]]:
    """Lengths of the error bars below and above every value, in units of the axis; empty if there are none.

    Raises:
        FigureError: for error bars that are not given as numbers.
    """
    error = trace.get(f"error_{letter}") or {}
    if not error or error.get("visible") is False:
        return [], []
    if error.get("array") is None:
        raise FigureError(f"got error bars of the type {error.get('type')!r}; code for LaTeX is written for those given as numbers")
    above = [_or_zero(one) for one in listed(error["array"])]
    below = above if error.get("arrayminus") is None else [_or_zero(one) for one in listed(error["arrayminus"])]
    return (below + [0.0] * count)[:count], (above + [0.0] * count)[:count]


def _or_zero(value: Any) -> float:
    return 0.0 if value is None or not math.isfinite(float(value)) else float(value)


def listed(values: Any) -> list[Any]:
    """A trace's values as a list of numbers and texts; None for missing ones."""
    if values is None:
        return []
    plain = values.tolist() if hasattr(values, "tolist") else list(values)
    return [None if isinstance(one, float) and math.isnan(one) else one for one in plain]
