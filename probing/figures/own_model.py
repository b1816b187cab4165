"""The curves of a user's own model, and its report as one page of HTML."""

import html
from collections.abc import Mapping, Sequence

import pandas as pd
import plotly.graph_objects as go

from probing.figures import theme
from probing.figures.knowledge.layer_curve import layer_curve
from probing.figures.knowledge.paired_curve import paired_curve

#: Facts of each outcome that the report lists.
MOST_LISTED = 200
_HEADINGS = {"lost": "Facts that the model lost", "gained": "Facts that the model gained"}
_CELLS = {
    "prompt": "fact",
    "object": "answer",
    "base_rank": "rank in the base",
    "rank": "rank in the model",
    "base_answer": "the base answers",
    "answer": "the model answers",
}
_STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1F2933;background:#fff}
table{border-collapse:collapse;width:100%;font-size:.9rem}th,td{text-align:left;padding:.25rem .5rem;border-bottom:1px solid #D8DFE6}
td.n{text-align:right}footer{color:#5A6672;font-size:.85rem;margin-top:2rem}"""


def own_curves(layers: pd.DataFrame, *, base: str, model: str, k: int, colours: Mapping[str, str] | None = None) -> go.Figure:
    """P@k by layer of a model and, if there is one, its base with their difference.

    Args:
        layers: with a base as for ``paired_curve``, else as for ``layer_curve``.
        base: its name; empty if there is none.
        model: name of the model.
        k: the rank up to which a fact counts as known.
        colours: model -> colour; None: two of the palette.
    """
    shades = colours or dict(zip((base, model), theme.PALETTE, strict=False))
    if base:
        return paired_curve(layers, k=k, base=base, model=model, colours=shades)
    return layer_curve(layers, title=f"P@{k}", unit="share", colours=shades, names={})


def report_page(title: str, sentences: Sequence[str], figure: go.Figure, changed: pd.DataFrame, origin: str) -> str:
    """The report as one HTML file that needs no network.

    Args:
        title: its heading.
        sentences: the result in plain words.
        figure: of ``own_curves``.
        changed: ``part`` and the columns of the lists, one row per fact.
        origin: how the numbers were made.
    """
    drawn = theme.ink(go.Figure(figure)).to_html(full_html=False, include_plotlyjs=True, config={"displaylogo": False})
    words = "\n".join(f"<p>{html.escape(one)}</p>" for one in sentences)
    lists = "\n".join(_list(part, changed[changed["part"] == part]) for part in ("lost", "gained"))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head>\n<body>\n<h1>{html.escape(title)}</h1>\n{words}\n"
        f"<h2>Layer by layer</h2>\n{drawn}\n{lists}\n<footer>{html.escape(origin)}</footer>\n</body>\n</html>\n"
    )


def _list(part: str, rows: pd.DataFrame) -> str:
    if rows.empty:
        return ""
    head = "".join(f"<th>{words}</th>" for words in _CELLS.values())
    cells = (
        "".join(f"<td{' class=n' if name.endswith('rank') else ''}>{html.escape(str(row[name]))}</td>" for name in _CELLS)
        for row in rows.head(MOST_LISTED).to_dict("records")
    )
    more = f"<p>The first {MOST_LISTED} of {len(rows):,}.</p>" if len(rows) > MOST_LISTED else ""
    body = "\n".join(f"<tr>{one}</tr>" for one in cells)
    return f"<h2>{_HEADINGS[part]} ({len(rows):,})</h2>\n<table>\n<tr>{head}</tr>\n{body}\n</table>{more}"
