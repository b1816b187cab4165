"""What the Reproduction page shows of every paper: the open tab, and figures."""

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from probing.ui.reproduction.page import SECTIONS
from tests.edges_planted import plant_edge_runs
from tests.forgetting_planted import plant_forgetting
from tests.pages.conftest import opening
from tests.pages.test_reproduction_page import plant_family
from tests.sentences_planted import BASE, COLA, CONTROL, TASKS, PlantedSentenceRun, plant_changes, plant_sentence_runs

pytestmark = pytest.mark.usefixtures("unfolded")


def plant_interplay(folder: Path) -> Path:
    """Probes and measured changes of a base and two models that were fine-tuned from it."""
    models = (BASE, COLA, CONTROL)
    return plant_changes(plant_sentence_runs(folder, [PlantedSentenceRun(model, task) for model in models for task in TASKS]), models)


#: Paper -> how its store is planted.
STORES = {"bertnesia": plant_family, "edge-probing": plant_edge_runs, "interplay": plant_interplay, "forgetting": plant_forgetting}
TABS = [pytest.param(name, tab, id=f"{name} {tab}") for name, section in SECTIONS.items() for tab in list(section.tabs)[1:]]


@pytest.fixture(scope="module")
def open_page(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        visits = {
            name: opening(plant(tmp_path_factory.mktemp(name)), tmp_path_factory.mktemp("cache"), patch) for name, plant in STORES.items()
        }
        yield lambda name, **query: visits[name]("papers", paper=name, **query)


@pytest.mark.parametrize(("name", "tab"), TABS)
def test_another_tab_is_opened_by_the_link(open_page, name, tab):
    section = SECTIONS[name]
    field = section.fields[1]
    app = open_page(name, **{field: tab})
    assert not app.exception and app.session_state[f"papers.{field}"] == section.tabs[tab]
    assert app.query_params[field] in (tab, [tab])


@pytest.mark.parametrize("name", [name for name, section in SECTIONS.items() if section.alone])
def test_without_results_of_ours_every_tab_opens_and_the_command_for_them_is_shown(visit, name):
    section = SECTIONS[name]
    for tab in section.tabs:
        app = visit("papers", "empty", {"paper": name, section.fields[1]: tab})
        assert not app.exception and section.missing[1] in [code.value for code in app.code]


def _values(app: AppTest) -> list:
    """The vertical positions of all that the open tab's figures show."""
    traces = [trace for chart in app.get("plotly_chart") for trace in json.loads(chart.proto.spec)["data"]]
    return [one for trace in traces for one in trace["y"]]


@pytest.mark.parametrize(("name", "panels"), [("bertnesia", 3), ("edge-probing", 2), ("interplay", 3)])
def test_a_figure_opens_with_one_of_its_panels_and_shows_all_on_demand(open_page, name, panels):
    """A link to a panel that the figure lacks opens the first, and says so."""
    _, tab, figure, panel = SECTIONS[name].fields
    link = {tab: "figures"}
    app, every = open_page(name, **link), open_page(name, **link, **{panel: "all"})
    menu = app.selectbox(key=f"papers.{panel}")
    assert len(menu.options) == panels + 1 and menu.options[-1] == "All" and not app.info
    assert 0 < len(_values(app)) < len(_values(every))
    strange = open_page(name, **link, **{panel: "gone"})
    assert _values(strange) == _values(app) and ["gone" in note.value for note in strange.info] == [True]
    # Another figure opens with its own first panel.
    other = every.selectbox(key=f"papers.{figure}").options[1]
    every.selectbox(key=f"papers.{figure}").select(other).run()
    assert not every.exception and panel not in every.query_params and not every.info


def test_curves_open_with_one_task_and_show_all_on_demand(open_page):
    one, every = (open_page("edge-probing", pipeline_tab="tables", **link) for link in ({}, {"pipeline_task": "all"}))
    assert 0 < len(_values(one)) < len(_values(every))
