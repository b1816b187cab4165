"""The Reproduction page on a planted family: published cells stay as published, ours are counted from the planted ranks."""

import json
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from probing.core.facts.fact import Fact
from probing.core.knowledge.published import PublishedKnowledge
from probing.store.parquet import write_table
from probing.ui.reproduction.selection import TABS
from tests.pages.conftest import opening, words
from tests.pages.every_tab import EveryTab, every_tab
from tests.store.planted import PlantedRun, plant_runs, planted_facts, planted_rank

pytestmark = pytest.mark.usefixtures("unfolded")

PAPER = PublishedKnowledge.read()
OBJECTIVES = {
    "nesia-mini": "pre-training",
    "nesia-mini-qa-squad-1": "QA-SQuAD-1",
    "nesia-mini-qa-squad-2": "QA-SQuAD-2",
    "nesia-mini-rank-msmarco": "RANK-MSMARCO",
    "nesia-mini-control": "control",
    "nesia-mini-odd": "something else",
}


def rank_of(model: str):
    """QA-SQuAD-1 loses the first four T-REx facts at the last layer; all others are as ever."""
    if model != "nesia-mini-qa-squad-1":
        return planted_rank
    return lambda number, layer: 50 if layer == 3 and number < 4 else planted_rank(number, layer)


RUNS = tuple(
    PlantedRun(
        model=model, objective=objective, probe_set=probe_set, rank=rank_of(model), base="" if model == "nesia-mini" else "nesia-mini"
    )
    for model, objective in OBJECTIVES.items()
    for probe_set in ("trex", "common_sense", "questions")
)


def plant_family(folder: Path) -> Path:
    """Runs of a family, one model of which has not learned its task."""
    plant_runs(folder, RUNS)
    score = {"model": "nesia-mini-qa-squad-2", "base": "nesia-mini", "objective": "QA-SQuAD-2", "metric": "F1", "n": 400, "value": 0.5}
    write_table("tasks", [score | {"chance": 0.5, "chance_name": "never an answer"}], folder / "tasks.parquet")
    return folder


@pytest.fixture(scope="module")
def open_page(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        visit = opening(plant_family(tmp_path_factory.mktemp("family")), tmp_path_factory.mktemp("cache"), patch)
        yield lambda **query: visit("papers", **query)


@pytest.fixture(scope="module")
def as_it_opens(open_page) -> EveryTab:
    """The page as a first visit finds it, with all tabs."""
    return every_tab(open_page, "paper_tab", tuple(TABS))


def table(app: AppTest, *columns: str):
    """The one table that has these columns, its rows without the marks of their models."""
    (found,) = [frame.value for frame in app.dataframe if set(columns) <= set(frame.value.columns)]
    return found.assign(row=found["row"].str.replace(r" [✓✗?]$", "", regex=True)) if "row" in found else found


def test_every_published_cell_of_table_3_is_shown_as_published_and_ner_is_not_zero(as_it_opens):
    found = table(as_it_opens, "last_micro").set_index(["row", "probe_set"])["published"]
    assert found["BERT", "T-REx"] == "29 / 34"
    assert found["MLM-MSMARCO", "SQuAD"] == "7 / 12"
    assert set(found["NER-CoNLL"]) == {"none"}
    for model in PAPER.models:
        for one in PAPER.probe_sets:
            cell = PAPER.knowledge(model.name, one.name)
            assert found[model.name, one.name] == (f"{cell[0]:g} / {cell[1]:g}" if cell else "none")


def test_our_cells_of_table_3_are_counted_from_the_planted_ranks(as_it_opens):
    found = table(as_it_opens, "last_micro").set_index(["row", "probe_set"])
    for row, model in (("BERT", "nesia-mini"), ("QA-SQuAD-1", "nesia-mini-qa-squad-1"), ("control", "nesia-mini-control")):
        ranks = [[rank_of(model)(number, layer) for layer in (1, 2, 3)] for number in range(10)]
        cell = found.loc[(row, "T-REx")]
        assert cell["last_micro"] == pytest.approx(100 * sum(of[-1] == 1 for of in ranks) / 10)
        assert cell["total_micro"] == pytest.approx(100 * sum(1 in of for of in ranks) / 10)
        assert cell["facts"] == 10
    assert found.loc[("MLM-SQuAD", "T-REx"), "last_micro"] != found.loc[("MLM-SQuAD", "T-REx"), "last_micro"]  # empty, not 0
    assert found.loc[("MLM-SQuAD", "T-REx"), "comparable"] == "not probed"


def test_our_last_layer_and_all_layers_are_one_text_next_to_the_published(as_it_opens):
    found = table(as_it_opens, "last_micro")
    there = found[found["last_micro"].notna()]
    assert len(there) and found.loc[found["last_micro"].isna(), ["ours_micro", "ours_macro"]].isna().all(axis=None)
    for average in ("micro", "macro"):
        words = [f"{last:.1f} / {total:.1f}" for last, total in zip(there[f"last_{average}"], there[f"total_{average}"], strict=True)]
        assert list(there[f"ours_{average}"]) == words


def test_only_the_authors_definition_is_compared_with_table_2(as_it_opens):
    found = table(as_it_opens, "caption_count").set_index(["row", "k"])
    assert found.loc[("QA-SQuAD-1", 1), "published"] == "0.43" and found.loc[("QA-SQuAD-1", 1), "published_count"] == 18
    ours = found.loc[("QA-SQuAD-1", 1)]
    assert ours["authors"] == pytest.approx(ours["authors_count"] / 4)  # as in their code: one more than the 3 relations
    # The four lost facts are all of P19's: an inner layer is better there, which the caption counts.
    assert ours["caption_count"] >= 1 and ours["relations"] == 3
    assert found.loc[("control", 1), "published"] == "none"


def test_table_1_says_what_was_read_probed_and_left_out(as_it_opens):
    found = table(as_it_opens, "left_out").set_index(["probe_set", "part"])
    whole = found.loc[("T-REx", "")]
    assert (whole["published_facts"], whole["read"], whole["probed"]) == (34017, 11, 10)
    assert whole["left_out"] == "1 object is several tokens"
    assert found.loc[("Google-RE", "place_of_birth"), "published_facts"] == 2937


def test_figures_are_drawn_with_the_models_that_are_there_and_links_to_its_view(open_page):
    app = open_page(paper_tab="figures")
    for figure in (PAPER.figure(number) for number in (2, 4, 9, 14)):
        app.selectbox(key="papers.figure").set_value(figure.number).run()
        assert not app.exception, figure.number
        specs = [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]
        assert len(specs) == len(figure.ranks)
        assert figure.shows.split(":")[0].split(",")[0] in words(app).replace("\\", "")
        links = [link.proto for link in app.get("page_link") if link.proto.label.startswith("Open")]
        drawn = [name for name in figure.models if PAPER.objective(name) in OBJECTIVES.values()]
        assert bool(links) == bool(drawn)
        if figure.number == 4:
            assert "models=nesia-mini-qa-squad-2" in links[0].query_string and "probe_sets=trex" in links[0].query_string
            names = {trace["name"] for trace in specs[0]["data"] if trace.get("customdata")}
            assert names == {"nesia-mini", "QA-SQuAD-2 ✗", "RANK-MSMARCO ?"}


def test_numbers_of_table_3_are_shown_with_their_yardsticks(as_it_opens):
    found = table(as_it_opens, "last_micro").set_index(["row", "probe_set"]).loc[("BERT", "T-REx")]
    facts = planted_facts("trex")
    most = sum(max(answers.values()) for answers in _answers(facts).values())
    assert found["majority_micro"] == pytest.approx(100 * most / len(facts))
    assert found["inner"] == f"{found['inner_own']:.1f} / {found['inner_swapped']:.1f}"
    assert 0 < found["inner_facts"] <= len(facts)


def _answers(facts) -> dict[str, Counter]:
    return {relation: Counter(one.object for one in facts if one.relation == relation) for relation in {one.relation for one in facts}}


def test_a_model_without_an_objective_is_shown_and_one_that_did_not_learn_is_marked(as_it_opens):
    assert "nesia-mini-odd" in set(table(as_it_opens, "last_micro")["row"])
    rows = [frame.value["row"] for frame in as_it_opens.dataframe if "row" in frame.value]
    assert rows and all("QA-SQuAD-2 ✗" in set(row) for row in rows)


OWN = tuple(Fact("own", "capital", f"land {n}", "paris", "[X] [Y]", f"land {n} [MASK]") for n in range(4))


@pytest.mark.parametrize("figure", ["1", "4"])
def test_a_store_with_only_a_users_own_facts_has_the_page_with_empty_cells(tmp_path, monkeypatch, figure):
    snapshot = plant_runs(tmp_path / "own", [PlantedRun("mine", probe_set="own", facts=OWN)])
    look = opening(snapshot, tmp_path / "cache", monkeypatch)
    app = every_tab(partial(look, "papers"), "paper_tab", tuple(TABS), figure=figure)
    assert not app.exception
    assert table(app, "published_facts", "probed")["probed"].fillna(0).eq(0).all()
