"""Figures are drawn once, and a cached one is the one that would be drawn."""

import json
import pickle
from types import SimpleNamespace

import pandas as pd
import plotly.graph_objects as go
import plotly.io as pio
import pytest

from probing.figures import theme
from probing.figures.tokens.rank_lines import rank_lines
from probing.ui.widgets import figure_cache
from probing.ui.widgets.figure_cache import drawing, for_file, stamped


@pytest.fixture(autouse=True)
def empty_cache():
    figure_cache.forget()
    yield
    figure_cache.forget()


def lines(rank: float = 3.0) -> pd.DataFrame:
    return pd.DataFrame({"name": ["paris", "paris"], "layer": [0, 1], "rank": [9.0, rank]})


def counted(monkeypatch) -> SimpleNamespace:
    """A figure function that counts how often it is called."""
    seen = SimpleNamespace(calls=0)

    def draw(table: pd.DataFrame, *, title: str = "") -> go.Figure:
        seen.calls += 1
        return theme.apply(go.Figure(go.Scatter(x=list(table["layer"]), y=list(table["rank"]), name=title)))

    seen.draw = draw
    return seen


def test_equal_numbers_are_drawn_once(monkeypatch):
    seen = counted(monkeypatch)
    first = stamped(drawing(seen.draw, lines(), title="a"), "filters")
    assert stamped(drawing(seen.draw, lines(), title="a"), "filters") is first and seen.calls == 1
    # As it was counted, and as Streamlit's cache gives it.
    table = lines().set_index("name")
    for one in (table, pickle.loads(pickle.dumps(table))):
        stamped(drawing(seen.draw, one, title="a"), "filters")
    assert seen.calls == 2


@pytest.mark.parametrize(
    "changed",
    [
        lambda draw: (drawing(draw, lines(rank=4.0), title="a"), "filters"),
        lambda draw: (drawing(draw, lines(), title="b"), "filters"),
        lambda draw: (drawing(draw, lines(), title="a"), "other filters"),
        lambda draw: (drawing(draw, pd.concat([lines()] * 30_000, ignore_index=True), title="a"), "filters"),
    ],
)
def test_any_difference_makes_the_figure_be_drawn_again(monkeypatch, changed):
    seen = counted(monkeypatch)
    stamped(drawing(seen.draw, lines(), title="a"), "filters")
    stamped(*changed(seen.draw))
    assert seen.calls == 2


def test_one_cell_in_a_long_table_is_not_overlooked(monkeypatch):
    seen = counted(monkeypatch)
    long = pd.concat([lines()] * 30_000, ignore_index=True)
    other = long.copy()
    other.loc[31_111, "rank"] = 5.0
    stamped(drawing(seen.draw, long), "filters")
    stamped(drawing(seen.draw, other), "filters")
    assert seen.calls == 2


def test_a_cached_figure_shows_what_a_figure_drawn_at_once_shows():
    wanted = drawing(rank_lines, lines())
    plain = theme.stamp(rank_lines(lines()), "filters")
    plain.update_layout(template=theme.TEMPLATE)
    cached = json.loads(pio.to_json(stamped(wanted, "filters").to_dict(), validate=False))
    assert cached == json.loads(plain.to_json())
    assert cached["layout"]["template"]["layout"]["plot_bgcolor"] == "white"


def test_a_figure_that_is_drawn_at_once_is_shown_in_the_same_way():
    figure = rank_lines(lines())
    assert stamped(figure, "filters").to_dict() == stamped(drawing(rank_lines, lines()), "filters").to_dict()
    assert not figure.layout.annotations, "the stamp goes onto a copy"


def test_files_hold_a_whole_figure_of_plotly():
    found = for_file(drawing(rank_lines, lines()), "filters <b>")
    assert isinstance(found, go.Figure)
    assert found.layout.annotations[-1].text == "filters &lt;b&gt;"
    assert theme.ink(found).layout.template.layout.plot_bgcolor == "white"
