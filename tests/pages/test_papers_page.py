"""The page of the papers on planted stores: published numbers as published, ours counted from what was planted, and
every claim.
"""

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from probing.kernel.fact import Fact
from probing.kernel.store.parquet import write_table
from probing.papers.papers import PAPERS
from tests.edges_planted import plant_edge_runs
from tests.forgetting_planted import plant_forgetting
from tests.pages.conftest import answers, numbers_in, opening, plain, visited
from tests.planted_store import PlantedRun, plant_runs, planted_facts, planted_rank
from tests.sentences_planted import BASE, COLA, CONTROL, TASKS, PlantedSentenceRun, plant_changes, plant_sentence_runs

OBJECTIVES = {
    "nesia-mini": "pre-training",
    "nesia-mini-qa-squad-1": "QA-SQuAD-1",
    "nesia-mini-qa-squad-2": "QA-SQuAD-2",
    "nesia-mini-rank-msmarco": "RANK-MSMARCO",
    "nesia-mini-control": "control",
    "nesia-mini-odd": "something else",
}
FIGURES = {
    name: [str(one.number) for one in paper.numbers.figures] for name, paper in PAPERS.items() if name != "forgetting"
}


def rank_of(model: str):
    """QA-SQuAD-1 loses the first four T-REx facts at the last layer; all others are as ever."""
    if model != "nesia-mini-qa-squad-1":
        return planted_rank
    return lambda number, layer: 50 if layer == 3 and number < 4 else planted_rank(number, layer)


def plant_family(folder: Path) -> Path:
    """Runs of a family, one model of which has not learned its task."""
    sets = ("trex", "common_sense", "questions")
    runs = [
        PlantedRun(
            model=model,
            objective=objective,
            probe_set=one,
            rank=rank_of(model),
            base="" if model == "nesia-mini" else "nesia-mini",
        )
        for model, objective in OBJECTIVES.items()
        for one in sets
    ]
    plant_runs(folder, runs)
    score = {
        "model": "nesia-mini-qa-squad-2",
        "base": "nesia-mini",
        "objective": "QA-SQuAD-2",
        "metric": "F1",
        "n": 400,
        "value": 0.5,
    }
    write_table("tasks", [score | {"chance": 0.5, "chance_name": "never an answer"}], folder / "tasks.parquet")
    return folder


def plant_interplay(folder: Path) -> Path:
    """Probes and measured changes of a base and two models that were fine-tuned from it."""
    models = (BASE, COLA, CONTROL)
    return plant_changes(
        plant_sentence_runs(folder, [PlantedSentenceRun(model, task) for model in models for task in TASKS]), models
    )


#: Paper -> how its store is planted.
STORES = {
    "bertnesia": plant_family,
    "edge-probing": plant_edge_runs,
    "interplay": plant_interplay,
    "forgetting": plant_forgetting,
}


@pytest.fixture(scope="module")
def see(tmp_path_factory) -> Callable[..., AppTest]:
    """Opens a paper on a store of its own, each link once."""
    folders = {name: plant(tmp_path_factory.mktemp(name)) for name, plant in STORES.items()}
    look = visited(folders["bertnesia"], tmp_path_factory.mktemp("caches"))
    return lambda name, **query: look("papers", folders[name], paper=name, **query)


def table(app: AppTest, *columns: str):
    """The one table that has these columns."""
    (found,) = [frame.value for frame in app.dataframe if set(columns) <= set(frame.value.columns)]
    return found


def tiles(app: AppTest) -> str:
    """The claims, as HTML."""
    (found,) = [one.proto.body for one in app.get("html") if 'class="claims"' in one.proto.body]
    return found


def values(app: AppTest) -> list:
    """The vertical positions of all that the figures show."""
    return [
        one for chart in app.get("plotly_chart") for trace in json.loads(chart.proto.spec)["data"] for one in trace["y"]
    ]


@pytest.mark.parametrize("name", PAPERS)
def test_every_claim_is_a_tile_with_a_verdict_and_the_sentence_counts_them(see, name):
    app = see(name)
    assert not app.exception and not app.main.code
    shown, claims = tiles(app), PAPERS[name].numbers.claims
    assert shown.count("<details") == shown.count('class="why"') == len(claims)
    n, checked, *made = numbers_in(answers(app)[0])
    assert (n, checked) == (len(claims), sum(not claim.unchecked for claim in claims)) and len(made) in (0, 3)
    verdicts = re.findall(r"<span>(Holds|Does not hold|Undecided) ·", shown)
    assert len(verdicts) == n and verdicts == sorted(verdicts, key="Undecided".__eq__), "decided claims are first"
    # Ours is on the line of every tile that has a number of ours.
    assert shown.count('class="line"') == shown.count('<span class="here">Here')


def test_every_published_cell_of_table_3_is_shown_and_ours_is_counted_from_the_planted_ranks(see):
    found, paper = table(see("bertnesia"), "last_macro").set_index(["row", "probe_set"]), PAPERS["bertnesia"].numbers
    for model in paper.models:
        for one in paper.probe_sets:
            cell = paper.knowledge(model.name, one.name)
            assert found.loc[(model.name, one.name), "published"] == (f"{cell[0]:g} / {cell[1]:g}" if cell else "none")
    for row, model in (
        ("BERT", "nesia-mini"),
        ("QA-SQuAD-1", "nesia-mini-qa-squad-1"),
        ("control", "nesia-mini-control"),
    ):
        ranks = [[rank_of(model)(number, layer) for layer in (1, 2, 3)] for number in range(10)]
        last, total = (100 * sum(known) / 10 for known in ([of[-1] == 1 for of in ranks], [1 in of for of in ranks]))
        assert (
            found.loc[(row, "T-REx"), "last_micro"] == f"{last:.1f} / {total:.1f}"
            and found.loc[(row, "T-REx"), "facts"] == 10
        )
    assert (
        pd.isna(found.loc[("MLM-SQuAD", "T-REx"), "last_micro"])
        and found.loc[("MLM-SQuAD", "T-REx"), "comparable"] == "not probed"
    )
    facts = planted_facts("trex")
    most = [
        Counter(one.object for one in facts if one.relation == relation) for relation in {one.relation for one in facts}
    ]
    yardstick = 100 * sum(max(answers.values()) for answers in most) / len(facts)
    assert found.loc[("BERT", "T-REx"), "majority_micro"] == pytest.approx(yardstick)


def test_tables_1_and_2_of_bertnesia(see):
    app = see("bertnesia")
    found = table(app, "caption_count").set_index(["row", "k"])
    ours = found.loc[("QA-SQuAD-1", 1)]
    assert (ours["published"], ours["published_count"]) == ("43", 18) and found.loc[
        ("control", 1), "published"
    ] == "none"
    assert ours["authors"] == pytest.approx(
        100 * ours["authors_count"] / 4
    )  # as in their code: one more than the 3 relations
    # The four lost facts are all of P19's: an inner layer is better there, which the caption counts.
    assert ours["caption_count"] >= 1 and ours["relations"] == 3
    facts = table(app, "left_out").set_index(["probe_set", "part"])
    assert tuple(facts.loc[("T-REx", ""), ["published_facts", "read", "probed", "left_out"]]) == (
        34017,
        11,
        10,
        "1 object is several tokens",
    )
    assert facts.loc[("Google-RE", "place_of_birth"), "published_facts"] == 2937
    tables = [frame.value.set_index("row") for frame in app.dataframe if "row" in frame.value]
    assert tables and all(set(one.loc["QA-SQuAD-2", "model"]) == {"QA-SQuAD-2 ✗"} for one in tables)


@pytest.mark.parametrize(
    ("name", "figure"), [(name, one) for name in FIGURES for one in FIGURES[name]] + [("edge-probing", "curves")]
)
def test_every_figure_is_drawn_with_ours_and_says_what_the_papers_shows(see, name, figure):
    app = see(name, papers_tab="figures", figure=figure, panel="all")
    assert not app.exception
    drawn = {trace.get("name") for chart in app.get("plotly_chart") for trace in json.loads(chart.proto.spec)["data"]}
    assert app.get("plotly_chart")
    said = [one.shows for one in PAPERS[name].numbers.figures if str(one.number) == figure]
    assert all(one in plain(app) for one in said)
    if (name, figure) == ("bertnesia", "4"):
        assert {"nesia-mini", "QA-SQuAD-2 ✗", "RANK-MSMARCO ?"} <= drawn
        (link,) = [one.proto for one in app.main.get("page_link") if one.proto.label.startswith("The same")]
        assert link.page.startswith("Layers")
    if (name, figure) == ("edge-probing", "A.2"):
        assert {"BERT-base (published)", "BERT-large (published)", "nesia-mini"} <= drawn


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_opens_with_one_of_its_panels_and_a_strange_panel_or_figure_is_a_note(see, name):
    one, every = see(name, papers_tab="figures"), see(name, papers_tab="figures", panel="all")
    assert 0 < len(values(one)) < len(values(every)) and not one.info
    strange = see(name, papers_tab="figures", panel="gone", figure="99")
    assert (
        values(strange) == values(one) and sum("gone" in note.value or "99" in note.value for note in strange.info) == 2
    )


OWN = tuple(Fact("own", "capital", f"land {n}", "paris", "[X] [Y]", f"land {n} [MASK]") for n in range(4))


def test_a_store_with_only_a_users_own_facts_has_the_page_with_empty_cells(tmp_path, monkeypatch):
    snapshot = plant_runs(tmp_path / "own", [PlantedRun("mine", probe_set="own", facts=OWN)])
    look = opening(snapshot, tmp_path / "cache", monkeypatch)
    app = look("papers")
    assert not app.exception and answers(app)[0].startswith("Of 15 claims 9 name")
    assert table(app, "published_facts", "probed")["probed"].fillna(0).eq(0).all()
    assert not look("papers", papers_tab="figures", figure="4").exception
