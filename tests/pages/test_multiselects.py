"""Every multiselect of every page, with all of its options in the link: no page ends, however many the menu allows."""

import pytest
import streamlit as st

from probing.ui.frame import selection
from tests.models.tiny_models import save
from tests.pages.conftest import PAGES
from tests.pages.every_tab import links_to_tabs
from tests.store.planted import PlantedRun, plant_runs

MODELS = ("base", *(f"tuned-{n}" for n in range(7)))


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    """A base with seven models fine-tuned from it, on two probe sets and through two heads."""
    runs = [
        PlantedRun(model, head=head, probe_set=probe_set, base="" if model == "base" else "base")
        for model in MODELS
        for head in ("tied", "logit_lens")
        for probe_set in ("trex", "common_sense")
    ]
    return plant_runs(tmp_path_factory.mktemp("crowd"), runs)


@pytest.mark.parametrize("page", PAGES)
def test_a_multiselect_accepts_a_link_with_all_of_its_options(visit, monkeypatch, tmp_path, crowd, page):
    for n in range(5):
        save("bert", tmp_path / "cache" / "models" / f"tiny-{n}")
    menus, bound = {}, selection.bound

    def noted(widget, label, field, *arguments, **options):
        if widget == st.multiselect:
            menus[field] = list(options["options"])
        return bound(widget, label, field, *arguments, **options)

    monkeypatch.setattr(selection, "bound", noted)

    def opened(query: dict):
        first = (
            {"live_model": "tiny-0", "live_head": "logit_lens"} if page == "live" else {"model": "tuned-0"} if page in ("facts",) else {}
        )
        app = visit(page, query=first | query, run=False)
        monkeypatch.setenv("PROBING_SNAPSHOT", str(crowd))
        return app.run()

    for tab in links_to_tabs(page):
        assert not opened(tab).exception
    found = dict(menus)
    assert bool(found) == (
        page not in ("reproduction", "methods", "pipeline", "edge_sentences", "sentence_probes", "fine_tuning", "forgetting")
    )
    for field, options in found.items():
        local = [name for name in options if not str(name).startswith("nesia")] if field == "live_models" else options
        for tab in links_to_tabs(page):
            app = opened({field: local} | tab)
            assert not app.exception, field
            chosen = app.multiselect(key=f"{page}.{field}")
            assert chosen.value == local[: chosen.proto.max_selections or None]


def test_models_beyond_the_maximum_for_a_fact_are_listed(visit, monkeypatch, crowd):
    app = visit("facts", query={"model": "tuned-0", "fact_models": MODELS[2:]}, run=False)
    monkeypatch.setenv("PROBING_SNAPSHOT", str(crowd))
    app.run()
    assert app.multiselect(key="facts.fact_models").value == list(MODELS[2:5])
    assert any("Ignored" in note.value and r"tuned\-6" in note.value for note in app.info)


def test_relations_beyond_the_limit_of_the_figure_are_listed(visit, monkeypatch, crowd):
    monkeypatch.setattr("probing.ui.relations.overview.MAX_LINES", 1)

    def opened(query: dict):
        app = visit("relations", query=query, run=False)
        monkeypatch.setenv("PROBING_SNAPSHOT", str(crowd))
        return app.run()

    menus, bound = {}, selection.bound
    monkeypatch.setattr(
        selection,
        "bound",
        lambda widget, label, field, *rest, **options: (
            menus.update({field: options.get("options")}) or bound(widget, label, field, *rest, **options)
        ),
    )
    opened({})
    app = opened({"relations": menus["relations"]})
    assert len(menus["relations"]) > 1 and app.multiselect(key="relations.relations").value == menus["relations"][:1]
    assert any("Ignored" in note.value for note in app.info)
