"""Reads of pages and figures are made once for one state of the data, and a kept one is the one that would be made."""

import pickle
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from probing.kernel.app import figure_cache
from probing.kernel.app import frame as page_reads
from probing.kernel.app.figure_cache import drawing, for_file, on_page
from probing.kernel.figures import theme
from probing.kernel.store.database import Database, Opened
from probing.kernel.store.parquet import SourceFile
from probing.live.figures import rank_lines

CALLS: list[tuple] = []


def counted_here(db, *ids, limit=5):
    CALLS.append((db.version, ids, limit))
    return len(CALLS)


@pytest.fixture(autouse=True)
def empty():
    CALLS.clear()
    page_reads._read.clear()
    figure_cache.forget()
    yield
    figure_cache.forget()


def database(version: str) -> Database:
    file = SourceFile(0, "runs", version, Path(version), 0, 0)
    return Database(lambda without: Opened(SimpleNamespace(), [file], {}, {}))


def test_a_read_is_made_once_for_each_state_of_the_data_and_each_argument():
    read = page_reads.read_rows
    first = read(counted_here, database("one"), "a", limit=3)
    assert read(counted_here, database("one"), "a", limit=3) == first
    assert read(counted_here, database("two"), "a", limit=3) != first
    assert read(counted_here, database("one"), "b", limit=3) != first
    assert read(counted_here, database("one"), "a", limit=4) != first
    assert len(CALLS) == 4


def test_functions_of_one_name_in_two_modules_are_distinguished(monkeypatch):
    first = page_reads.read_rows(counted_here, database("one"))
    monkeypatch.setattr(counted_here, "__module__", "elsewhere")
    assert page_reads.read_rows(counted_here, database("one")) != first


def test_a_table_among_the_arguments_is_part_of_the_key():
    def given(*values):
        return page_reads.read_rows(counted_here, database("one"), pd.DataFrame({"run_id": values}))

    assert given("a", "b") == given("a", "b") != given("a", "c")


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
    first = on_page(drawing(seen.draw, lines(), title="a"))
    assert on_page(drawing(seen.draw, lines(), title="a")) is first and seen.calls == 1
    # As it was counted, and as Streamlit's cache gives it.
    table = lines().set_index("name")
    for one in (table, pickle.loads(pickle.dumps(table))):
        on_page(drawing(seen.draw, one, title="a"))
    assert seen.calls == 2


@pytest.mark.parametrize(
    "changed",
    [
        lambda draw: drawing(draw, lines(rank=4.0), title="a"),
        lambda draw: drawing(draw, lines(), title="b"),
        lambda draw: drawing(draw, pd.concat([lines()] * 30_000, ignore_index=True), title="a"),
    ],
)
def test_any_difference_makes_the_figure_be_drawn_again(monkeypatch, changed):
    seen = counted(monkeypatch)
    on_page(drawing(seen.draw, lines(), title="a"))
    on_page(changed(seen.draw))
    assert seen.calls == 2


def test_one_cell_in_a_long_table_is_not_overlooked(monkeypatch):
    seen = counted(monkeypatch)
    long = pd.concat([lines()] * 30_000, ignore_index=True)
    other = long.copy()
    other.loc[31_111, "rank"] = 5.0
    on_page(drawing(seen.draw, long))
    on_page(drawing(seen.draw, other))
    assert seen.calls == 2


def test_a_figure_that_is_drawn_at_once_is_shown_as_a_cached_one_is():
    figure, cached = rank_lines(lines()), on_page(drawing(rank_lines, lines())).to_dict()
    shown = on_page(figure).to_dict()
    assert shown["data"] == cached["data"] and {**cached["layout"], **shown["layout"]} == cached["layout"]
    assert [list(trace.y) for trace in figure.data] == [trace["y"] for trace in cached["data"]]
    assert figure.to_dict() == rank_lines(lines()).to_dict(), "what draws it is not changed"


def test_files_hold_a_whole_figure_of_plotly():
    found = for_file(drawing(rank_lines, lines()), "filters <b>")
    assert isinstance(found, go.Figure)
    assert found.layout.annotations[-1].text == "filters &lt;b&gt;"
    assert theme.ink(found).layout.template.layout.plot_bgcolor == "white"


def test_a_figure_on_a_page_has_what_a_browser_can_compare():
    figure = go.Figure(go.Bar(x=np.array([1.0, np.nan]), y=np.array([[1], [2]])[:, 0], marker_line_width=2))
    content = figure_cache.on_page(figure.update_layout(template="plotly_white", xaxis_showgrid=True)).to_dict()
    assert "template" not in content["layout"] and content["layout"]["xaxis"]["showgrid"]
    assert content["data"][0]["x"] == [1.0, None] and content["data"][0]["y"] == [1, 2]
    assert content["data"][0]["marker"]["line"] == {"color": "white", "width": 2}
