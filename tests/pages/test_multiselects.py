"""Every multiselect of every page, with all of its options in the link: no page ends, however many the menu allows."""

import itertools

import pytest
import streamlit as st

from probing.ui.frame import selection
from tests.models.tiny_models import save
from tests.pages.conftest import PAGES, opening
from tests.pages.every_tab import links_to_tabs
from tests.store.planted import PlantedRun, plant_runs

#: Pages without a multiselect of this store's models or facts.
WITHOUT = ("home", "papers", "methods", "grammar", "own_model")
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


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A cache with models to ask."""
    folder = tmp_path_factory.mktemp("cache")
    for n in range(5):
        save("bert", folder / "models" / f"tiny-{n}")
    return folder


@pytest.fixture
def look(crowd, cache, monkeypatch):
    return opening(crowd, cache, monkeypatch)


@pytest.fixture
def menus(monkeypatch) -> dict[str, list]:
    """Field of a link -> the options of its multiselect, of the pages that were opened."""
    found, bound = {}, selection.bound

    def noted(widget, label, field, *arguments, **options):
        if widget == st.multiselect:
            found[field] = list(options["options"])
        return bound(widget, label, field, *arguments, **options)

    monkeypatch.setattr(selection, "bound", noted)
    return found


@pytest.mark.parametrize("page", [page for page in PAGES if page not in WITHOUT])
def test_a_multiselect_accepts_a_link_with_all_of_its_options(look, menus, page):
    first = {"ask": {"live_model": "tiny-0", "live_head": "logit_lens"}, "facts": {"model": "tuned-0"}}.get(page, {})
    assert not look(page, **first).exception and menus
    every = {
        field: [name for name in options if not str(name).startswith("nesia") or field != "live_models"]
        for field, options in menus.items()
    }
    missed = set(every)
    for tab in links_to_tabs(page):
        app = look(page, **first, **every, **tab)
        assert not app.exception
        drawn = {one.key for one in app.multiselect}
        for field, options in every.items():
            if f"{page}.{field}" not in drawn:
                continue
            chosen = app.multiselect(key=f"{page}.{field}")
            assert chosen.value == options[: chosen.proto.max_selections or None]
            missed.discard(field)
    assert not missed, "a tab may have no such menu, but one of them has"


def test_models_beyond_the_maximum_for_a_fact_are_listed(look):
    app = look("facts", model="tuned-0", fact_models=MODELS[2:])
    assert app.multiselect(key="facts.fact_models").value == list(MODELS[2:6])
    assert any("Ignored" in note.value and r"tuned\-6" in note.value for note in app.info)
