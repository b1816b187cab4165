"""What each kind of fact lost: one row per relation, the worst loss first."""

import pandas as pd
import plotly.graph_objects as go

from probing.kernel.figures import theme
from probing.kernel.figures.theme import centres, name_rows

#: More rows than this do not fit next to each other.
MAX_ROWS = 45
_ROW, _FRAME, _SIZE = 14.6, 114, 12
#: Characters of a relation's name on one line.
_NAME = 27


def relation_slopes(relations: pd.DataFrame, *, base: str, model: str, k: int, fewest: int = 0) -> go.Figure:
    """From base to fine-tuned model, with the share of known facts that was lost at the right.

    Columns: ``relation, label, n, kept, lost, gained, base_value, value, share_lost``, shares, in the order of the
    rows; those after ``MAX_ROWS`` are not drawn, and what only counts cannot say is empty. Relations of which the base
    knows fewer than ``fewest`` facts come last, below a gap.
    """
    rows = relations.head(MAX_ROWS).reset_index(drop=True)
    if rows.empty:
        return theme.empty("No fact was asked of both models under these filters.")
    names, ends = name_rows([str(label) for label in rows["label"].fillna(rows["relation"])], _NAME, 0.75)
    few = rows["kept"].add(rows["lost"]).fillna((rows["base_value"] * rows["n"]).round()) < fewest
    gap = int((~few).sum()) if few.any() and not few.all() else None
    places = [place + (gap is not None and number >= gap) for number, place in enumerate(centres(ends))]
    rows.index = pd.Index(places)
    bottom = ends[-1] + (gap is not None)
    figure = go.Figure()
    for gains, colour in ((False, theme.NOT_BACK), (True, theme.GAINED)):
        of = rows[(rows["value"] > rows["base_value"]) == gains]
        slopes = [(row.Index, end) for row in of.itertuples() for end in (row.base_value * 100, row.value * 100, None)]
        figure.add_scatter(
            x=[end for _, end in slopes],
            y=[row for row, _ in slopes],
            mode="lines",
            line={"width": 3, "color": theme.faint(colour, 0.55)},
            hoverinfo="skip",
            showlegend=False,
        )
    hover = [_hover(row, base, model) for row in rows.itertuples()]
    for name, column, colour, symbol in (
        (base, "base_value", theme.BASE, "circle-open"),
        (model, "value", theme.TUNED, "circle"),
    ):
        figure.add_scatter(
            x=rows[column] * 100,
            y=rows.index,
            mode="markers",
            name=theme.plain(name),
            customdata=[[relation] for relation in rows["relation"]],
            marker={"size": 9, "color": colour, "symbol": symbol, "line": {"width": 2, "color": colour}},
            hovertext=hover,
            hovertemplate="%{hovertext}<extra></extra>",
            cliponaxis=False,
        )
    figure.add_scatter(
        x=[121] * len(rows),
        y=rows.index,
        mode="text",
        textposition="middle left",
        textfont={"size": _SIZE},
        showlegend=False,
        text=[
            "" if pd.isna(share) else f"−{share * 100:.0f} %" if share > 0 else f"+{-share * 100:.0f} %"
            for share in rows["share_lost"]
        ],
        customdata=[[relation] for relation in rows["relation"]],
        hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>",
        cliponaxis=False,
    )
    theme.apply(figure, height=int(_FRAME + _ROW * bottom))
    # The legend is a line above the heading of the numbers at the right.
    figure.update_layout(
        margin={"t": 62, "r": 8}, legend={"y": 1 + 20 / (_ROW * bottom), "font_size": _SIZE}, hoverdistance=12
    )
    figure.update_xaxes(
        title_text=f"right answers, % (P@{k})",
        range=[-2, 121],
        tickvals=list(range(0, 101, 20)),
        tickfont_size=_SIZE,
        title_font_size=_SIZE,
    )
    figure.update_yaxes(
        tickmode="array",
        tickvals=list(rows.index),
        ticktext=names,
        tickfont_size=_SIZE,
        range=[bottom + 0.1, -0.1],
        showgrid=False,
    )
    figure.add_annotation(
        x=1,
        xref="paper",
        y=1,
        yref="paper",
        xanchor="right",
        yanchor="bottom",
        text="of known",
        showarrow=False,
        font_size=_SIZE,
        yshift=2,
    )
    if gap is not None:
        words = f"fewer than {fewest:,} known facts"
        figure.add_annotation(
            x=0,
            y=ends[gap] + 0.5,
            xanchor="left",
            text=words,
            showarrow=False,
            font={"size": _SIZE, "color": theme.NEUTRAL},
        )
    return figure


def _hover(row, base: str, model: str) -> str:
    lines = [f"<b>{theme.plain(row.label if pd.notna(row.label) else row.relation)}</b>, {int(row.n):,} facts"]
    lines += [
        f"{theme.plain(name)}: {value * 100:.1f} %" for name, value in ((base, row.base_value), (model, row.value))
    ]
    if pd.notna(row.kept):
        lines.append(
            f"{int(row.kept):,} kept, {int(row.lost):,} lost, {int(row.gained):,} gained<br>click to see the lost facts"
        )
    return "<br>".join(lines)
