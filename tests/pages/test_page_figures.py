"""A figure of a page, drawn from the page's link without a browser."""

import json
from pathlib import Path

import pytest

from probing.core.errors import FigureError
from probing.ui.page_figures import page_figure
from tests.pages.conftest import PAGES


@pytest.fixture
def stored(family, tmp_path, monkeypatch):
    """The app's results are the planted family's."""
    monkeypatch.setenv("PROBING_SNAPSHOT", str(family))
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))


def values(figure: dict) -> list:
    return [(trace.get("name"), trace.get("x"), trace.get("y")) for trace in figure["data"]]


@pytest.mark.parametrize(
    ("page", "name", "query"),
    [
        ("compare", "paired-curves", {"tuned": "nesia-mini-qa-squad-1", "k": "10", "compare_tab": "layers"}),
        ("layers", "relation-map", {"model": "nesia-mini-qa-squad-1", "k": "10"}),
    ],
)
def test_a_link_and_a_name_draw_the_figure_of_the_page(look, stored, page, name, query):
    app = look(page, **query)
    (chart,) = [one for one in app.get("plotly_chart") if f"{name}.figure" in str(one.proto.id)]
    title = Path(PAGES[page]).stem.split("_", 1)[1]
    options = "&".join(
        f"{field}={one}" for field, value in query.items() for one in ([value] if isinstance(value, str) else value)
    )
    figure = page_figure(f"http://localhost:8501/{title}?{options}", name)
    assert values(json.loads(figure.to_json())) == values(json.loads(chart.proto.spec))


def test_a_page_or_a_figure_that_is_not_there_is_named_with_those_that_are(stored):
    with pytest.raises(FigureError, match=r"got a link to Curves; expected one of Ask, .*, or none for Home"):
        page_figure("Curves?k=1", "layer-curves")
    with pytest.raises(FigureError, match="got the figure curve; expected one of layer-curves"):
        page_figure("Layers", "curve")
