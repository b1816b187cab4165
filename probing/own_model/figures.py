"""The curves of a user's own model, and its report as one page of HTML."""

import html
from collections.abc import Mapping, Sequence

import pandas as pd
import plotly.graph_objects as go

from probing.facts.figures import layer_curve
from probing.facts.figures_pairs import paired_curve
from probing.kernel.figures import theme
from probing.kernel.figures.looks import usual_colours

#: Facts of each outcome that the report lists.
MOST_LISTED = 200
#: Characters of a fact above its squares in the figure: what fits into one column.
_FITS = 46
_HEADINGS = {"lost": "Facts that the model lost", "gained": "Facts that the model gained"}
_CELLS = {
    "prompt": "fact",
    "object": "answer",
    "base_rank": "rank in the base",
    "rank": "rank in the model",
    "base_answer": "the base answers",
    "answer": "the model answers",
}
#: Outcome -> its words in the table of facts.
PART_NAMES = {"lost": "lost", "gained": "gained", "kept": "kept", "never": "never known"}
_TABLE = """
.own-facts{overflow:auto;max-height:40rem;font-size:.875rem}
.own-facts table{border-collapse:collapse;width:100%}
.own-facts th{font-weight:400;text-align:left;font-size:.8125rem}
.own-facts :is(th,td){padding:.2rem .6rem .2rem 0;border-bottom:1px solid #80889044}
.own-facts a{color:inherit}
.own-facts .part{white-space:nowrap}
.own-facts i{display:inline-block;width:.7rem;height:.7rem;border-radius:50%;margin-right:.4rem}
.own-facts .layers{white-space:nowrap}
.own-facts s{display:inline-block;width:.7rem;height:.7rem;margin-right:2px;border:1px solid #80889099;
  border-radius:2px}
@media(max-width:768px){.own-facts s{width:.45rem;margin-right:1px}.own-facts :is(th,td){
  padding-right:.3rem}.own-facts :is(th,td):last-child:nth-child(6){
  display:none}.own-facts :is(.part,th:first-child){font-size:0}.own-facts .part i{margin-right:.1rem}}
"""
_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1F2933;
  background:#fff}
table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{text-align:left;padding:.25rem .5rem;border-bottom:1px solid #D8DFE6}
td.n{text-align:right}
footer{color:#5A6672;font-size:.85rem;margin-top:2rem}
"""


def own_curves(
    layers: pd.DataFrame, *, base: str, model: str, k: int, labels: Mapping[str, str] | None = None
) -> go.Figure:
    """P@k by layer of a model and a base: as ``paired_curve`` where facts are paired, else as ``layer_curve``."""
    shades = usual_colours([base, model])
    if "difference" in layers:
        return paired_curve(layers, k=k, base=base, model=model, colours=shades, labels=labels)
    title = "right among the answers, % (P@1)" if "candidates" in layers else f"P@{k}"
    return layer_curve(layers, title=title, unit="share", colours=shades, names={})


def outcome_bar(numbers: Mapping[str, int]) -> str:
    """Numbers of facts by outcome as one bar of HTML; the sentence above it has them in words, in the same order."""
    parts = "".join(
        f'<i title="{n:,} {PART_NAMES[part]}" style="flex:{n};min-width:3px;background:{theme.PART_COLOURS[part]}"></i>'
        for part, n in numbers.items()
        if n
    )
    return f'<div class="outcomes" aria-hidden="true" style="display:flex;gap:2px;height:.8rem">{parts}</div>'


def fact_table(
    rows: pd.DataFrame, colours: Sequence[str], *, base: str, model: str, k: int, links: Mapping[str, str] | None = None
) -> str:
    """The facts as an HTML table, each with its layers as small squares: full where the right answer is known.

    ``rows`` of ``own_model.report.fact_rows``; ``colours`` of base and model; ``links``: fact_id -> address.
    """
    models = {name: column for name, column in ((base, "base_ranks"), (model, "ranks")) if name}
    shades = dict(zip(("base_ranks", "ranks"), colours, strict=True))
    head = "".join(
        f"<th>{html.escape(title)}</th>"
        for title in ("outcome", "fact", "answer", *models, *(["now says"] if base else []))
    )
    body = []
    for row in rows.to_dict("records"):
        prompt, colour = html.escape(str(row["prompt"])), theme.PART_COLOURS[row["part"]]
        if address := (links or {}).get(row["fact_id"]):
            prompt = f'<a href="{html.escape(address)}" target="_self">{prompt}</a>'
        words = PART_NAMES[row["part"]] if base else {"kept": "known", "never": "not known"}[row["part"]]
        cells = [
            f'<td class="part"><i style="background:{colour}"></i>{words}</td><td>{prompt}</td>',
            f"<td><b>{html.escape(str(row['object']))}</b></td>",
            *(f"<td>{_squares(row[column], shades[column], k)}</td>" for column in models.values()),
            *([f"<td>{html.escape(str(row['answer']))}</td>"] if base else []),
        ]
        body.append(f"<tr>{''.join(cells)}</tr>")
    table = f"<table><tr>{head}</tr>{''.join(body)}</table>"
    return f'<style>{_TABLE}</style><div class="own-facts" tabindex="0">{table}</div>'


def fact_squares(rows: pd.DataFrame, colours: Sequence[str], *, base: str, model: str, k: int) -> go.Figure:
    """The same as a figure for files: above its squares stands each fact in the colour of its outcome."""
    columns = {name: column for name, column in ((base, "base_ranks"), (model, "ranks")) if name}
    last = max((len(ranks) for ranks in rows["ranks"]), default=1) - 1
    figure = go.Figure()
    for place, (name, column) in enumerate(columns.items()):
        shade = colours[column == "ranks"]
        squares = [
            (layer, row, rank) for row, ranks in enumerate(rows[column]) for layer, rank in enumerate(ranks) if layer
        ]
        figure.add_scatter(
            x=[layer + place * (last + 1) for layer, _, _ in squares],
            y=[row + 0.2 for _, row, _ in squares],
            mode="markers",
            name=theme.plain(name),
            showlegend=False,
            marker={
                "symbol": "square",
                "size": 9,
                "color": [shade if rank <= k else "rgba(0,0,0,0)" for _, _, rank in squares],
                "line": {"width": 1, "color": [shade if rank <= k else theme.NEUTRAL for _, _, rank in squares]},
            },
        )
        figure.add_annotation(
            x=0.6 + place * (last + 1), y=-1, text=f"<b>{theme.plain(name)}</b>", showarrow=False, xanchor="left"
        )
    for row, fact in enumerate(rows.to_dict("records")):
        figure.add_annotation(
            x=0.6,
            y=row - 0.2,
            text=f"{theme.plain(theme.shorten(str(fact['prompt']), _FITS))} <b>{theme.plain(str(fact['object']))}</b>",
            font={"color": theme.PART_COLOURS[fact["part"]]},
            showarrow=False,
            xanchor="left",
        )
    theme.apply(figure, height=80 + 56 * len(rows))
    figure.update_xaxes(range=[0.4, len(columns) * (last + 1)], visible=False)
    figure.update_yaxes(range=[len(rows) - 0.3, -1.4], visible=False)
    return figure


def _squares(ranks: Sequence[int], colour: str, k: int) -> str:
    """The layers from 1 on as squares, with words for screen readers."""
    known = [layer for layer, rank in enumerate(ranks) if layer and rank <= k]
    words = f"known at layers {', '.join(map(str, known))}" if known else "known at no layer"
    squares = (
        f'<s title="layer {layer}: rank'
        f' {rank:,.10g}"{f" style=background:{colour};border-color:{colour}" if layer in known else ""}></s>'
        for layer, rank in enumerate(ranks)
        if layer
    )
    return f'<span class="layers" role="img" aria-label="{words}">{"".join(squares)}</span>'


def report_page(title: str, sentences: Sequence[str], figure: go.Figure, changed: pd.DataFrame, origin: str) -> str:
    """The report as one HTML file that needs no network; ``changed``: ``part`` and the columns of the lists."""
    drawn = theme.ink(go.Figure(figure)).to_html(full_html=False, include_plotlyjs=True, config={"displaylogo": False})
    words = "\n".join(f"<p>{html.escape(sentence)}</p>" for sentence in sentences)
    lists = "\n".join(_list(part, changed[changed["part"] == part]) for part in ("lost", "gained"))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{html.escape(title)}</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n<h1>{html.escape(title)}</h1>\n{words}\n"
        f"<h2>Layer by layer</h2>\n{drawn}\n{lists}\n<footer>{html.escape(origin)}</footer>\n</body>\n</html>\n"
    )


def _list(part: str, rows: pd.DataFrame) -> str:
    if rows.empty:
        return ""
    head = "".join(f"<th>{words}</th>" for words in _CELLS.values())
    cells = (
        "".join(
            f'<td class="n">{row[name]:,.10g}</td>'
            if name.endswith("rank")
            else f"<td>{html.escape(str(row[name]))}</td>"
            for name in _CELLS
        )
        for row in rows.head(MOST_LISTED).to_dict("records")
    )
    more = f"<p>The first {MOST_LISTED} of {len(rows):,}.</p>" if len(rows) > MOST_LISTED else ""
    body = "\n".join(f"<tr>{cell}</tr>" for cell in cells)
    return f"<h2>{_HEADINGS[part]} ({len(rows):,})</h2>\n<table>\n<tr>{head}</tr>\n{body}\n</table>{more}"
