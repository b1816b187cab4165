"""A link carries all that changes what is seen, also with every option; choices hold on the next page."""

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from probing.kernel.app import selection
from probing.kernel.app.blocks import EMPTY
from probing.kernel.app.page_figures import page_figure
from probing.kernel.figures import theme
from tests.edges_planted import plant_edge_runs
from tests.fine_tuning_planted import plant_everything
from tests.forgetting_planted import plant_forgetting
from tests.pages.conftest import PAGES, answers, opening, words
from tests.pages.every_tab import links_to_tabs
from tests.planted_store import VARIANTS, PlantedRun, plant_runs

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
def open_page(planted, monkeypatch) -> Callable[[str, dict], AppTest]:
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


#: Forms, lists and reference.
WITHOUT_ANSWER = {"own", "new", "space", "figures"}


@pytest.mark.parametrize("page", [page for page in PAGES if page != "methods"])
def test_every_tab_has_a_sentence_with_numbers_of_its_own_or_says_what_is_missing(open_page, page):
    said = []
    for tab in links_to_tabs(page):
        app = open_page(page, tab)
        if not {*tab.values()} & WITHOUT_ANSWER:
            of_tab = answers(app)[-1:]
            lacking = app.main.get("info") or app.main.code
            assert lacking or re.search(r"\d", "".join(of_tab)), (tab, of_tab)
            said += [] if lacking else of_tab
    assert len({*said}) == len(said)


@pytest.mark.parametrize("page", PAGES)
def test_a_fresh_session_sees_what_its_link_was_copied_from(open_page, page):
    app = open_page(page, GIVEN.get(page, {}))
    first, done = seen(app), set()
    for tab in links_to_tabs(page):
        for name, value in tab.items():
            app.query_params[name] = value
            app.run()
        while choose(app, page, done):
            app.run()
            assert not app.exception, done
        after = seen(app)
        again = open_page(page, dict(app.query_params))
        assert not again.exception and dict(again.query_params) == dict(app.query_params)
        assert seen(again) == after
        assert all(table.proto.placeholder == EMPTY for table in again.dataframe), (
            "a cell without a value would say None"
        )
        assert not done or after != first
    assert done or page in GIVEN


@pytest.mark.parametrize("page", ["layers", "methods"])
def test_a_field_that_the_page_does_not_have_is_named_on_it(open_page, page):
    (known, *_) = selection.PAGE_FIELDS[page]
    app = open_page(page, {f"{known}_": "x"})
    assert [note.value for note in app.info if f"`{known}_`" in note.value and f"`{known}`" in note.value]
    app.run()
    assert [note.value for note in app.info if f"`{known}_`" in note.value], "another run of the page does not hide it"


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


MODELS = ("base", *(f"tuned-{n}" for n in range(7)))


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    """A base with seven models fine-tuned from it; two of the eight are on two probe sets and through two heads."""
    runs = [
        PlantedRun(model, head=head, probe_set=probe_set, base="" if model == "base" else "base")
        for head, probe_set in itertools.product(("tied", "logit_lens"), ("trex", "common_sense"))
        for model in (MODELS if (head, probe_set) == ("tied", "trex") else MODELS[:2])
    ]
    return plant_runs(tmp_path_factory.mktemp("crowd"), runs)


@pytest.fixture
def look_at_menus(crowd, cache, monkeypatch):
    return opening(crowd, cache, monkeypatch)


@pytest.fixture
def menus(monkeypatch) -> dict[str, list]:
    """Field of a link -> the options of its multiselect, of the pages that were opened."""
    found, multiselect = {}, st.multiselect

    def noted(label, *, key, options, **more):
        found[key.partition(".")[2]] = list(options)
        return multiselect(label, key=key, options=options, **more)

    monkeypatch.setattr(st, "multiselect", noted)
    return found


@pytest.mark.parametrize("page", ["layers", "facts"])
def test_a_multiselect_accepts_a_link_with_all_of_its_options(look_at_menus, menus, page):
    first = {"facts": {"model": "tuned-0"}}.get(page, {})
    assert not look_at_menus(page, **first).exception and menus
    every, missed = dict(menus), set(menus)
    for tab in links_to_tabs(page):
        app = look_at_menus(page, **first, **every, **tab)
        assert not app.exception
        drawn = {one.key for one in app.multiselect}
        for field, options in every.items():
            if f"{page}.{field}" not in drawn:
                continue
            chosen = app.multiselect(key=f"{page}.{field}")
            assert chosen.value == options[: chosen.proto.max_selections or None]
            missed.discard(field)
    assert not missed, "a tab may have no such menu, but one of them has"


def test_models_beyond_the_maximum_for_a_fact_are_listed(look_at_menus):
    app = look_at_menus("facts", model="tuned-0", fact_models=MODELS[2:])
    assert app.multiselect(key="facts.fact_models").value == list(MODELS[2:6])
    assert any("Ignored" in note.value and r"tuned\-6" in note.value for note in app.info)


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
    assert values(theme.finished(figure)) == values(json.loads(chart.proto.spec))
