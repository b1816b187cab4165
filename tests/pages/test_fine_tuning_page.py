"""The page of what fine-tuning changed, on planted stores: full, facts only, one model, empty."""

import pytest

from probing.core.sentences.fates import ELSEWHERE, SAME_LAYER
from tests.fine_tuning_planted import plant_everything, plant_facts
from tests.pages.conftest import line_with, numbers_in, opening, visited
from tests.pages.every_tab import EveryTab, links_to_tabs, whole
from tests.pages.planted_family import FATES, charts
from tests.pages.test_grammar_page import said, table_of
from tests.planted_relatives import BASE, COLA, CONTROL, SEED_2, SST_2
from tests.sentences_planted import RUNS, plant_sentence_runs
from tests.store.planted import plant_runs

MEASURE = "python -m probing changes measure --model"
SECTIONS = ["Layer by layer", "All models", "Drift against loss"]


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    return plant_everything(tmp_path_factory.mktemp("everything") / "runs")


@pytest.fixture(scope="module")
def look(everything, tmp_path_factory):
    return visited(everything, tmp_path_factory.mktemp("visits"))


def commands(app) -> str:
    return "\n".join(one.value for one in app.main.get("code"))


def test_every_section_is_drawn_stamped_and_named_with_its_yardstick(look):
    tabs = [look("fine_tuning", changed_model=COLA.name, **tab) for tab in links_to_tabs("fine_tuning")]
    app = EveryTab(tabs)
    assert not app.exception and [one.value.replace("\\", "") for one in app.main.header] == SECTIONS
    assert [len(charts(tab)) for tab in tabs] == [2, 2, 2], "the first figure is above the tabs"
    for figure in charts(app):
        (stamp,) = [note for note in figure["layout"]["annotations"] if note.get("name") == "stamp"]
        assert stamp["text"].startswith("BERTnesia Explorer · ") and "data" in stamp["text"]
    assert f"{'python -m probing edges train --tasks all --model'} {COLA.name}" in commands(app), (
        "what is missing is named with its command"
    )
    assert MEASURE not in commands(app) and dict(tabs[0].query_params).keys() == {"changed_model"}


def test_the_answer_counts_the_cells_of_the_table_next_to_those_of_the_control(look):
    app = look("fine_tuning", changed_model=COLA.name)
    by_property = (look("fine_tuning", changed_model=one.name, tuning_tab="properties") for one in (COLA, CONTROL))
    cells, of_control = (table_of(one, "fate", "vector") for one in by_property)
    wanted = [number for table in (cells, of_control) for number in (int(table["fate"].isin(SAME_LAYER).sum()), len(table))]
    assert numbers_in(line_with(app, "was fine-tuned from").partition("was fine-tuned from")[2]) == wanted
    assert {trace["name"].replace("<br>", " ") for trace in charts(app)[0]["data"]} == set(cells["fate"]) | set(of_control["fate"])


def test_a_cell_leads_to_its_sentences(look):
    cell = {"gone_task": "coordination-inversion", "gone_pooling": "first", "gone_layer": "1"}
    app = look("fine_tuning", changed_model=COLA.name, tuning_tab="properties", **cell)
    assert f"Coordination inversion, first token, layer 1: {ELSEWHERE}" in said(app)
    (link,) = app.main.get("page_link")
    for part in (f"tuned_model={COLA.name}", "turned_task=coordination-inversion", "turned_pooling=first", "turned_layer=1"):
        assert part in link.proto.query_string


def test_all_models_are_in_one_table_with_their_roles(look):
    app = look("fine_tuning", tuning_tab="all")
    table = table_of(app, "role", "cka_last")
    assert table.set_index("id")["role"].to_dict()[SEED_2.name] == "another seed"
    assert set(table["role"]) == {"fine-tuned", "control", "another seed"}
    without = int(table["facts_lost"].isna().sum())
    assert 0 < without < len(table) and f"is empty for {without} model" in said(app)
    assert "for at least 5 fine-tuned models" in said(app) and "at most 3 models have two in common" in said(app)
    menu = app.selectbox(key="fine_tuning.changed_model").options
    assert not [name for name in menu if "seed" in name], "siblings are in the spread, not in the menu"


def test_the_loss_that_drift_is_drawn_against_is_chosen_by_link(look):
    app = look("fine_tuning", plane_loss="emd", tuning_tab="all")
    plane = charts(app)[-1]
    assert plane["layout"]["yaxis"]["title"]["text"] == "attention moved by, tokens"
    assert "A rank correlation needs at least" in said(app)


def test_another_seed_can_be_named_by_a_link_and_a_model_that_is_gone_is_ignored(look):
    assert SEED_2.name in look("fine_tuning", changed_model=SEED_2.name).selectbox(key="fine_tuning.changed_model").value
    app = look("fine_tuning", changed_model="<b>gone</b>")
    assert not app.exception and any("gone" in one.value for one in app.info)


def test_a_store_of_facts_shows_them_and_names_every_command(tmp_path, monkeypatch):
    app = whole(opening(plant_facts(tmp_path / "facts"), tmp_path / "cache", monkeypatch), "fine_tuning", changed_model=SST_2.name)
    assert not app.exception and [one.value for one in app.main.header] == ["Layer by layer", "All models"]
    assert f"{MEASURE} {SST_2.name}" in commands(app) and f"sentences train --tasks all --model {SST_2.name}" in commands(app)
    # The base and the control know the facts 0 to 5 at the last layer.
    kept = sum(FATES[number][1][-1] == 1 for number in range(6)) / 6
    assert numbers_in(line_with(app, "was fine-tuned from", "it keeps").partition("it keeps")[2]) == [round(100 * kept, 1), 100.0]


def test_one_model_alone_and_an_empty_store_name_the_command(tmp_path, monkeypatch):
    alone = plant_sentence_runs(tmp_path / "one", [run for run in RUNS if run.model is BASE][:1])
    for number, folder in enumerate((alone, plant_runs(tmp_path / "none", ()))):
        app = opening(folder, tmp_path / f"cache-{number}", monkeypatch)("fine_tuning")
        assert not app.exception and "No fine-tuned model is stored yet" in said(app)
        assert f"{MEASURE} nesia-mini-rank-msmarco" in commands(app) and not charts(app)
