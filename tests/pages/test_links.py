"""A link carries everything that changes what is seen: a fresh session that opens it sees the same."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from probing.ui.frame import selection
from tests.edges_planted import plant_edge_runs
from tests.fine_tuning_planted import plant_everything
from tests.forgetting_planted import plant_forgetting
from tests.pages.conftest import PAGES, opening, words
from tests.pages.every_tab import links_to_tabs
from tests.store.planted import VARIANTS, plant_runs

#: How a store is planted -> the pages that show it.
STORES: dict[Callable, tuple[str, ...]] = {
    lambda folder: plant_runs(folder, VARIANTS["several"]): (
        "home",
        "layers",
        "compare",
        "facts",
        "ask",
        "methods",
        "own_model",
    ),
    plant_edge_runs: ("grammar",),
    plant_everything: ("papers", "grammar", "compare"),
    plant_forgetting: ("compare",),
}
#: Choices that no widget of a first visit offers, as a link has them.
GIVEN = {
    "home": {"example": "2"},
    "facts": {"facts_tab": "own", "own_head": "tied"},
    "methods": {"methods_tab": "cite"},
    "ask": {"prompt": "[MASK] is in [MASK].", "mask": "0", "gap": "2", "live_head": "logit_lens"},
    "own_model": {"my_model": "nesia-mini"},
    "papers": {"paper": "interplay", "papers_tab": "figures"},
}
#: Keys of tabs.
OPEN = [
    f"{page}.{name}"
    for page, names in selection.PAGE_FIELDS.items()
    for name in names
    if name.endswith("tab") or name == "gap"
]
KINDS = ("selectbox", "segmented_control", "toggle", "multiselect")


@pytest.fixture(scope="module")
def planted(tmp_path_factory) -> Callable[[str], tuple[Path, Path]]:
    """The store of a page, which is planted once, and its cache."""
    folders: dict[Callable, tuple[Path, Path]] = {}

    def found(page: str) -> tuple[Path, Path]:
        plant = next(plant for plant, pages in STORES.items() if page in pages)
        if plant not in folders:
            folders[plant] = plant(tmp_path_factory.mktemp("store") / "runs"), tmp_path_factory.mktemp("cache")
        return folders[plant]

    return found


@pytest.fixture
def look(planted, monkeypatch) -> Callable[[str, dict], AppTest]:
    """Opens a page on its store by a link, in a fresh session."""
    return lambda page, query: opening(*planted(page), monkeypatch)(page, **query)


def seen(app: AppTest) -> dict:
    """All that a user sees: text, values of widgets, figures and tables."""
    return {
        "text": words(app),
        "widgets": {one.key: one.value for kind in KINDS for one in getattr(app, kind)},
        "open": {key: app.session_state[key] for key in OPEN if key in app.session_state},
        "figures": [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")],
        "tables": [one.value.to_csv() for one in app.dataframe],
    }


def choose(app: AppTest, page: str, done: set[str]) -> bool:
    """Sets every widget of the page's link that was not set before to another value; whether there was one."""
    fields, before = selection._fields_of(page), len(done)
    for kind in KINDS:
        for one in getattr(app, kind):
            of_page, _, name = str(one.key).partition(".")
            if of_page != page or name not in fields or one.key in done or one.disabled:
                continue
            done.add(one.key)
            if kind == "toggle":
                one.set_value(not one.value)
            elif kind == "multiselect":
                one.set_value(one.value[:-1] or one.value)
            elif kind == "selectbox":
                one.select_index(len(one.options) - 1)
            elif choices := fields[name].metadata.get("choices"):
                one.set_value(next(value for value in reversed(choices) if value != one.value and value != ""))
    return len(done) > before


@pytest.mark.parametrize("page", PAGES)
def test_a_fresh_session_sees_what_its_link_was_copied_from(look, page):
    app = look(page, GIVEN.get(page, {}))
    first, done = seen(app), set()
    for tab in links_to_tabs(page):
        for name, value in tab.items():
            app.query_params[name] = value
            app.run()
        while choose(app, page, done):
            app.run()
            assert not app.exception, done
        after = seen(app)
        again = look(page, dict(app.query_params))
        assert not again.exception and dict(again.query_params) == dict(app.query_params)
        assert seen(again) == after
        assert not done or after != first
    assert done or page in GIVEN


@pytest.mark.parametrize("page", ["layers", "methods"])
def test_a_field_that_the_page_does_not_have_is_named_on_it(look, page):
    (known, *_) = selection.PAGE_FIELDS[page]
    app = look(page, {f"{known}_": "x"})
    assert [note.value for note in app.info if f"`{known}_`" in note.value and f"`{known}`" in note.value]
    app.run()
    assert [note.value for note in app.info if f"`{known}_`" in note.value], "another run of the page does not hide it"
