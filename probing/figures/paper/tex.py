"""Text, numbers and colours of Plotly in LaTeX."""

import html
import math
import re
from typing import Any

from probing.core.errors import FigureError

#: Characters that LaTeX gives a meaning, and those that a font of pdflatex may not have.
_CHARACTERS = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    "\u00a0": "~", "\u202f": "~", "–": "--", "—": "---", "…": r"\ldots{}", "·": r"\(\cdot\)", "×": r"\(\times\)", "−": r"\(-\)",
    "≤": r"\(\leq\)", "≥": r"\(\geq\)", "≠": r"\(\neq\)", "≈": r"\(\approx\)", "±": r"\(\pm\)", "→": r"\(\rightarrow\)",
    "←": r"\(\leftarrow\)", "↑": r"\(\uparrow\)", "↓": r"\(\downarrow\)", "Δ": r"\(\Delta\)", "δ": r"\(\delta\)", "ρ": r"\(\rho\)",
    "∞": r"\(\infty\)", "²": r"\(^2\)", "▶": r"\(\blacktriangleright\)", "◀": r"\(\blacktriangleleft\)", "✓": r"\checkmark{}",
    "✗": r"\(\times\)", "◐": r"\(\sim\)", "“": "``", "”": "''", "‘": "`", "’": "'", '"': "''", "ℓ": r"\(\ell\)",
}  # fmt: skip
_NAMED = {"white": "#FFFFFF", "black": "#000000", "grey": "#808080", "gray": "#808080", "red": "#FF0000"}
#: Markup of Plotly's text -> how LaTeX begins it; all end with a brace.
_MARKUP = {"b": r"\textbf{", "i": r"\textit{", "sup": r"\textsuperscript{", "sub": r"\textsubscript{", "span": "{", "a": "{"}


def text(of: object) -> str:
    r"""A text of Plotly, whose markup is some HTML, for LaTeX; ``<br>`` becomes ``\\``."""
    found: list[str] = []
    begun: list[str] = []
    for piece in re.split(r"(</?[a-zA-Z][^<>]*>)", str(of if of is not None else "")):
        tag = re.fullmatch(r"<(/?)([a-zA-Z]+)[^<>]*>", piece)
        name = tag[2].lower() if tag else ""
        if name == "br":
            # LaTeX ends a line outside of groups only.
            found += ["}" * len(begun), r"\\", *begun]
        elif name in _MARKUP and tag:
            if not tag[1]:
                begun.append(_MARKUP[name])
                found.append(_MARKUP[name])
            elif begun:
                begun.pop()
                found.append("}")
        else:
            found.append("".join(_CHARACTERS.get(one, one) for one in html.unescape(piece)))
    return "".join(found) + "}" * len(begun)


def number(value: Any) -> str:
    """A number with up to six digits, without an exponent where that is short; ``nan`` if there is none."""
    value = math.nan if value is None else float(value)
    if not math.isfinite(value):
        return "nan"
    return f"{value:.6g}" if value else "0"


def points(pixels: float) -> str:
    """A length of Plotly in points of PDF."""
    return f"{pixels * 0.75:.3g}bp"


class Colours:
    """The colours of a figure, by name: the code defines each once, so that an author changes it in one place."""

    def __init__(self) -> None:
        self._names: dict[tuple[int, int, int], str] = {}

    def __call__(self, colour: str) -> tuple[str, float]:
        """Name and opacity of a colour of Plotly.

        Raises:
            FigureError: for a colour that is none of ``#RRGGBB``, ``rgb(…)``, ``rgba(…)`` and a few names.
        """
        red, green, blue, alpha = rgba(colour)
        return self._names.setdefault((red, green, blue), f"figure{_letters(len(self._names))}"), alpha

    def defined(self) -> str:
        """The lines that define them."""
        return "".join(f"\\definecolor{{{name}}}{{RGB}}{{{','.join(map(str, rgb))}}}\n" for rgb, name in self._names.items())


def rgba(colour: str) -> tuple[int, int, int, float]:
    """Red, green and blue of 0 to 255, and the opacity.

    Raises:
        FigureError: as ``Colours``.
    """
    given = _NAMED.get(str(colour).strip().lower(), str(colour).strip())
    if re.fullmatch(r"#[0-9a-fA-F]{6}", given):
        return int(given[1:3], 16), int(given[3:5], 16), int(given[5:], 16), 1.0
    if given == "transparent":
        return 255, 255, 255, 0.0
    if re.fullmatch(r"rgba?\([\d.,\s]+\)", given):
        red, green, blue, *alpha = map(float, re.findall(r"[\d.]+", given))
        return round(red), round(green), round(blue), alpha[0] if alpha else 1.0
    raise FigureError(f"got the colour {colour!r}; code for LaTeX needs #RRGGBB, rgb(…) or rgba(…). Save the figure as SVG or PDF")


def _letters(number: int) -> str:
    """A, B, … Z, BA, …: names of colours in LaTeX have no digits here, so that they can follow a command."""
    rest, last = divmod(number, 26)
    return (_letters(rest) if rest else "") + chr(ord("A") + last)
