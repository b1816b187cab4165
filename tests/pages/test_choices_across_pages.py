"""A choice on one page holds on the next: shared choices everywhere, a page's own when the user comes back."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import PAGES


@pytest.fixture
def go(visit) -> Callable[..., AppTest]:
    """A visit that begins on a page of the store with several models."""

    def begun(page: str, query: dict | None = None) -> AppTest:
        return visit(page, "several", query)

    return begun


def linked(app: AppTest, name: str) -> list[str]:
    """A field's values in the page's link."""
    values = dict(app.query_params).get(name, [])
    return values if isinstance(values, list) else [values]


def turn_to(app: AppTest, page: str) -> AppTest:
    """As a click on the link in the sidebar does."""
    place = Path(PAGES[page]).stem.partition("_")[2]
    (link,) = [one for one in app.sidebar.get("page_link") if one.proto.page == place]
    app.switch_page(PAGES[page])
    app.query_params.clear()
    for name, values in parse_qs(link.proto.query_string).items():
        app.query_params[name] = values
    app.run()
    assert not app.exception
    return app


def test_shared_filters_and_the_run_hold_on_the_next_page(go):
    app = go("facts")
    other = "nesia-mini-qa"
    assert app.selectbox(key="facts.model").value != other
    app.selectbox(key="facts.model").set_value(other).run()
    app.multiselect(key="facts.exposures").set_value(["unseen"]).run()
    turn_to(app, "layers")
    assert app.selectbox(key="layers.model").value == other
    assert app.multiselect(key="layers.exposures").value == ["unseen"]
    assert linked(app, "model") == [other] and linked(app, "exposures") == ["unseen"]


def test_a_page_of_one_run_follows_the_overviews_and_its_link_has_the_run_it_shows(go):
    page = "facts"
    app = go("layers")
    models, heads = (app.multiselect(key=f"layers.{name}") for name in ("models", "heads"))
    other, head = models.options[-1], heads.options[-1]
    assert (other, head) != (models.value[0], heads.value[0])
    models.set_value([other]).run()
    app.multiselect(key="layers.heads").set_value([head]).run()
    turn_to(app, page)
    assert app.selectbox(key=f"{page}.model").value == other and linked(app, "model") == [other]
    assert linked(app, "head") == [app.selectbox(key=f"{page}.head").value]
    copied = go(page, dict(app.query_params))
    assert (copied.selectbox(key=f"{page}.model").value, linked(copied, "head")) == (other, linked(app, "head"))
    turn_to(app, "layers")
    app.multiselect(key="layers.models").set_value(models.options[:1]).run()
    turn_to(app, page)
    assert app.selectbox(key=f"{page}.model").value == models.options[0]


def test_a_pages_own_choice_is_kept_when_the_user_comes_back(go):
    app = go("facts")
    app.selectbox(key="facts.order").set_value("fact").run()
    turn_to(app, "ask")
    assert not linked(app, "order")
    turn_to(app, "facts")
    assert app.selectbox(key="facts.order").value == "fact" and linked(app, "order") == ["fact"]


def test_another_run_resets_its_choices_on_every_page(go):
    page, app = "layers", go("facts")
    relation = next(one for one in app.selectbox(key="facts.relation").options if one != "all relations")
    app.selectbox(key="facts.relation").select(relation).run()
    next(one for one in app.button if one.label == "Random").click().run()
    assert linked(app, "fact")
    chosen = linked(app, "relation")
    turn_to(app, page)
    models = app.selectbox(key=f"{page}.model")
    app.selectbox(key=f"{page}.model").set_value(next(name for name in models.options if name != models.value)).run()
    turn_to(app, "facts")
    assert linked(app, "relation") == chosen != [], "a relation is of the probe set, not of the model"
    assert not linked(app, "fact")
    turn_to(app, page)
    sets = app.selectbox(key=f"{page}.probe_set")
    sets.select_index(next(n for n in range(len(sets.options)) if n != sets.index)).run()
    turn_to(app, "facts")
    assert app.selectbox(key="facts.relation").value == "" and not linked(app, "relation")
