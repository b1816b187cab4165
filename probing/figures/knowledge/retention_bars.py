"""Which model forgets most: what each model kept, gained and lost of its base's knowledge."""

from collections.abc import Collection, Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from probing.figures import theme


def retention_bars(
    transitions: pd.DataFrame,
    *,
    k: int,
    colours: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
    controls: Collection[str] = (),
) -> go.Figure:
    """One bar per model, in per cent of the facts its base knows: lost to the left, kept and then gained to the right.

    The right end is what the model knows now; 100 % is what its base knew. The model that lost most is on top, controls are
    set apart below.

    Args:
        transitions: one row per model: ``model, base, kept, gained, lost, n``; the control among them.
        k: the rank up to which a fact counts as known.
        colours: model -> colour.
        labels: model -> displayed name; without one, the model's own name.
        controls: models trained further on their base's own text.
    """
    rows = transitions[transitions["kept"] + transitions["lost"] > 0].copy()
    if rows.empty:
        return theme.empty("The base knows no fact under these filters.")
    rows["known"] = rows["kept"] + rows["lost"]
    rows["control"] = rows["model"].isin(list(controls))
    rows["lost_share"] = rows["lost"] / rows["known"]
    rows = rows.sort_values(["control", "lost_share", "model"], ascending=[True, False, True])
    called = {model: (labels or {}).get(model, model) for model in (*rows["model"], *rows["base"])}
    names = [theme.breakable(called[model]) for model in rows["model"]]
    marks = [colours.get(model, theme.NEUTRAL) for model in rows["model"]]
    shares = {part: rows[part] / rows["known"] * 100 for part in ("kept", "gained", "lost")}
    looks: dict[str, dict[str, Any]] = {
        "lost": {"color": [theme.faint(mark, 0.22) for mark in marks], "pattern": _hatch("x", marks)},
        "kept": {"color": marks},
        "gained": {"color": [theme.faint(mark, 0.35) for mark in marks], "pattern": _hatch("/", marks)},
    }
    starts = {"lost": -shares["lost"], "kept": 0 * shares["kept"], "gained": shares["kept"]}
    figure = go.Figure()
    for part, look in looks.items():
        figure.add_bar(
            y=list(range(len(rows))),
            x=-shares[part] if part == "lost" else shares[part],
            orientation="h",
            name=part,
            showlegend=False,
            marker={**look, "line": {"width": 1, "color": marks}},
            hoverinfo="skip",
            cliponaxis=False,
            textangle=0,
            text=[f"{share:.0f}" for share in shares[part]] if part != "gained" else None,
            textposition="outside" if part == "lost" else "inside",
            insidetextanchor="middle",
            insidetextfont={"color": [theme.ink_on(mark) for mark in marks]} if part == "kept" else None,
        )
        swatch: dict[str, Any] = {"color": theme.NEUTRAL if part == "kept" else theme.faint(theme.NEUTRAL, 0.3)}
        if "pattern" in look:
            swatch["pattern"] = _hatch(look["pattern"]["shape"], theme.NEUTRAL)
        figure.add_bar(y=[None], x=[None], orientation="h", marker=swatch, name=part)
        _add_handles(figure, rows, part, (starts[part], shares[part]), called)
    theme.apply(figure, height=130 + 44 * len(rows))
    figure.update_layout(barmode="relative", bargap=0.3, legend_traceorder="normal", hoverdistance=24)
    figure.add_vline(x=100, line={"color": theme.NEUTRAL, "width": 1.2, "dash": "dash"})
    figure.add_vline(x=0, line={"color": theme.NEUTRAL, "width": 1.2})
    figure.update_xaxes(
        title_text=f"per cent of what the base knows (rank ≤ {k})",
        ticksuffix=" %",
        # To the left of the longest bar its number needs room, on a phone, too.
        range=[-shares["lost"].max() - 26, max((shares["kept"] + shares["gained"]).max(), 100) + 6],
    )
    figure.update_yaxes(tickmode="array", tickvals=list(range(len(rows))), ticktext=names, range=[len(rows) - 0.5, -0.5], showgrid=False)
    return figure


def _add_handles(figure: go.Figure, rows: pd.DataFrame, part: str, places: tuple[pd.Series, pd.Series], called: Mapping[str, str]) -> None:
    """Invisible points that can be clicked, which bars cannot."""
    x, y, behind, words = [], [], [], []
    for number, (one, start, share) in enumerate(zip(rows.itertuples(), *places, strict=True)):
        if not share:
            continue
        steps = int(share // 5) + 1
        x += [start + share * (step + 0.5) / steps for step in range(steps)]
        y += [number] * steps
        behind += [[one.model, part]] * steps
        words += [
            f"<b>{theme.plain(called[one.model])}</b><br>{part}: {getattr(one, part):,} facts, {share:.1f} % of the {one.known:,} that "
            f"{theme.plain(called[one.base])} knows<br>click to see them"
        ] * steps
    hidden = {"marker": {"opacity": 0}}
    figure.add_scatter(
        # Small: within a large marker all points are equally near, and the part drawn last would take the clicks of its neighbour.
        x=x,
        y=y,
        mode="markers",
        marker={"size": 6, "symbol": "square", "opacity": 0},
        selected=hidden,
        unselected=hidden,
        customdata=behind,
        hovertext=words,
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
        name=part,
    )


def _hatch(shape: str, colour) -> dict:
    return {"shape": shape, "fgcolor": colour, "size": 6, "solidity": 0.3}
