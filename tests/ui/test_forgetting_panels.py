"""The panels on when facts are forgotten and what prevents it, on a page of their own."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.planted_relatives import COLA
from tests.series_planted import PREVENTED, SERIES, plant_series


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return plant_series(tmp_path_factory.mktemp("panels"), SERIES + PREVENTED)


def _page(folder: str, panel: str, model: str) -> None:
    from pathlib import Path

    import streamlit as st

    from probing.store.opening import open_database
    from probing.ui.forgetting import prevention, time_course
    from probing.ui.widgets.export import Stamp

    # Choices are those of a page.
    st.session_state.setdefault("probing.page", "forgetting")
    db = open_database(Path(folder))

    def stamp(ids):
        return Stamp("planted", db.data_version, tuple(ids))

    if panel == "when":
        assert set(time_course.trainings(db)["model"]) >= {model} or model == "none"
        time_course.draw(time_course.Training(db, model, "trex", 1, lambda name: f"the {name}", stamp))
    else:
        prevention.draw(db, model, 1, stamp)


def drawn(results, panel, model):
    page = AppTest.from_function(_page, default_timeout=180, args=(str(results), panel, model)).run()
    assert not page.exception, page.exception
    return page


def test_the_panel_of_a_training_has_its_figures_and_the_ranks_of_a_chosen_fact(results):
    page = drawn(results, "when", COLA.name)
    assert len(page.get("plotly_chart")) == 5
    captions = " ".join(one.value for one in page.caption)
    assert "has lost 14 of the 30 facts" in captions and "Half of the facts known before were lost once by step 40" in captions
    assert "Thin and dashed: the planted" in captions.replace("\\", "")
    (menu,) = page.selectbox
    menu.select_index(3).run()
    assert not page.exception


def test_the_panel_of_recipes_compares_those_of_one_task(results):
    page = drawn(results, "prevention", "trex")
    assert len(page.get("plotly_chart")) == 1 and "over 1 to 2 seeds" in page.caption[0].value
    empty = drawn(results, "prevention", "none")
    assert "series prevent" in empty.code[0].value
