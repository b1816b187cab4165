"""The page of the pipeline on planted stores: its numbers are recomputed from the planted probabilities."""

import base64
import json

import numpy as np
import pytest

from probing.core.edges.published import PublishedEdges
from tests.edges_planted import POS, ROLES, RUNS, SRL, PlantedEdgeRun, answers, plant_edge_runs, planted_gold, planted_part
from tests.edges_planted import planted_probabilities as probabilities
from tests.pages.conftest import opening, visited, words
from tests.pages.every_tab import EveryTab, links_to_tabs, whole
from tests.pages.planted_family import charts
from tests.store.planted import SEVERAL, plant_runs

pytestmark = pytest.mark.usefixtures("unfolded")

COMMAND = "python -m probing edges train"


@pytest.fixture(scope="module")
def edges(tmp_path_factory):
    return plant_edge_runs(tmp_path_factory.mktemp("edges") / "runs")


@pytest.fixture(scope="module")
def look(edges, tmp_path_factory):
    return visited(edges, tmp_path_factory.mktemp("visits"))


def f1(run: PlantedEdgeRun, part: str = "dev", unseen: bool = False, seen: bool = False) -> np.ndarray:
    """Micro F1 of every probe of a run, counted answer by answer."""
    data = planted_part(run.task, part)
    kept = data.seen if seen else ~data.seen if unseen else np.ones(len(data.seen), dtype=bool)
    said, gold = answers(probabilities(run, part))[:, kept], planted_gold(run, part)[kept]
    found = []
    for one in said[:, :, run.task.counted]:
        true = gold[:, run.task.counted]
        tp, fp, fn = (one & true).sum(), (one & ~true).sum(), (~one & true).sum()
        missed = data.unknown[kept].sum() if run.labels == "task" else 0
        found.append(2 * tp / (2 * tp + fp + fn + missed))
    return np.array(found)


def mean_f1(task, **more) -> np.ndarray:
    """The same of nesia-mini's cumulative probes, mean over seeds."""
    runs = [run for run in RUNS if (run.model, run.kind, run.encoder, run.labels) == ("nesia-mini", "cumulative", "trained", "task")]
    return np.mean([f1(run, **more) for run in runs if run.task is task], axis=0)


def numbers(values) -> list[float]:
    """The numbers of a trace, which Plotly may have packed."""
    if isinstance(values, dict):
        values = np.frombuffer(base64.b64decode(values["bdata"]), dtype=np.dtype(values["dtype"])).tolist()
    return [float("nan") if one is None else float(one) for one in values]


def traces(figure: dict, name: str) -> list[dict]:
    """The traces of a name; those that are in the legend only are left out."""
    return [trace for trace in figure["data"] if trace.get("name") == name and trace["x"] != [None]]


def said(app) -> str:
    return words(app).replace("\\", "").replace("**", "")


def table_of(app, *columns: str):
    """The first table that has these columns."""
    return next(one.value for one in app.dataframe if set(columns) <= set(one.value))


@pytest.mark.parametrize(("query", "more"), [({}, {}), ({"edge_part": "test", "unseen": "1"}, {"part": "test", "unseen": True})])
def test_f1_and_its_yardsticks_are_those_of_the_stored_answers(look, query, more):
    app = look("grammar", edge_models="nesia-mini", **query)
    (last,) = [one for one in traces(charts(app)[1], "nesia-mini") if one["mode"] == "markers"]
    (first,) = traces(charts(app)[1], "nesia-mini: P(0)")
    wanted = [mean_f1(task, **more) for task in (POS, SRL, ROLES)]
    assert numbers(last["x"]) == pytest.approx([100 * one[-1] for one in wanted])
    assert numbers(first["x"]) == pytest.approx([100 * one[0] for one in wanted])
    (random,) = traces(charts(app)[1], "random encoder, P(L)")
    runs = [PlantedEdgeRun(task=task, encoder="random") for task in (POS, SRL, ROLES)]
    assert numbers(random["x"]) == pytest.approx([100 * f1(run, **more)[-1] for run in runs])
    assert traces(charts(app)[1], "memory") and traces(charts(app)[1], "majority label") and traces(charts(app)[1], "ceiling")
    assert dict(app.query_params).keys() == {"edge_models", *query}


def test_the_expected_layer_is_that_of_the_scores_and_one_that_is_not_resolved_is_empty(look):
    app = look("grammar")
    table = table_of(app, "expected_layer", "name")
    ours = table[table["model"] == "nesia-mini"].set_index("name")
    gains = np.diff(mean_f1(SRL))
    assert ours.loc["Semantic roles", "expected_layer"] == pytest.approx((gains * np.arange(1, 5)).sum() / gains.sum())
    assert ours.loc["Semantic roles", "seeds"] == 3
    assert np.isnan(ours.loc["Proto-roles", "expected_layer"]) and "not resolved" in json.dumps(charts(app)[0])
    assert ours["expected_layer_reason"].notna().to_dict() == {"Part of speech": False, "Semantic roles": False, "Proto-roles": True}
    # Five probes of each of five runs; those of even layers were stopped.
    stopped, every = ours["probes_stopped"].sum(), ours["probes"].sum()
    assert (stopped, every) == (15, 25) and "Patience ended the training of" in said(app)
    assert ours.loc["Part of speech", "f1_last_test"] == pytest.approx(mean_f1(POS, part="test")[-1])


def test_the_paper_is_shown_by_share_of_depth_and_can_be_left_out(look):
    app = look("grammar")
    table = table_of(app, "expected_layer", "name").set_index(["name", "model"])
    assert table.loc[("Part of speech", "BERT-large (published)"), "expected_layer"] == pytest.approx(3.39, abs=0.02)
    assert table.loc[("Proto-roles", "BERT-base (published)"), "f1_last"] == pytest.approx(0.8352)
    assert "share of depth" in json.dumps(charts(app)[0]["layout"])
    curve = traces(charts(look("grammar", edge_tab="layers"))[1], "BERT-base (published)")[0]
    assert numbers(curve["y"]) == pytest.approx(list(PublishedEdges.read().task("pos").f1["base"]))
    alone = whole(look, "grammar", published="0", edge_models="nesia-mini")
    assert "published" not in json.dumps(charts(alone)) and "layer (0 = embeddings)" in json.dumps(charts(alone)[0]["layout"])


@pytest.mark.parametrize("mode", ["at", "selectivity"])
def test_the_switch_shows_each_layer_alone_and_what_is_left_of_control_labels(look, mode):
    figure = charts(look("grammar", layerwise=mode, edge_models="nesia-mini", edge_tab="layers"))[1]
    (curve, *_) = traces(figure, "nesia-mini")
    wanted = (
        f1(PlantedEdgeRun(kind="at", codes=True))
        if mode == "at"
        else mean_f1(POS, seen=True) - f1(PlantedEdgeRun(labels="control"), seen=True)
    )
    assert numbers(curve["y"]) == pytest.approx(100 * wanted)
    levels = {trace["name"] for trace in figure["data"] if trace["mode"] == "lines"}
    assert ({"memory", "ceiling"} if mode == "at" else {"no selectivity"}) <= levels


def test_compression_is_shown_with_the_uniform_code(look):
    figure = charts(look("grammar", layerwise="compression", edge_tab="layers"))[1]
    (curve,) = traces(figure, "nesia-mini")
    assert len(numbers(curve["y"])) == 5 and min(numbers(curve["y"])) > 1
    assert [shape["y0"] for shape in figure["layout"]["shapes"] if shape["type"] == "line"] == [1.0]


def test_bars_are_the_weights_of_the_probe_on_all_layers_and_its_gains(look):
    app = look("grammar", edge_models="nesia-mini", edge_tab="layers")
    weights, gains = (traces(charts(app)[2], name)[0] for name in ("mixing weight", "gain in F1"))
    assert sum(numbers(weights["customdata"])) == pytest.approx(1.0) and max(numbers(weights["y"])) == pytest.approx(1.0)
    assert numbers(gains["customdata"])[1:] == pytest.approx(100 * np.diff(mean_f1(POS)))
    table = look("grammar", edge_models="nesia-mini", normed="1", edge_tab="layers")
    assert traces(charts(table)[2], "mixing weight × norm")
    paper = look("grammar", bars_of="BERT-large (published)", edge_tab="layers")
    assert not traces(charts(paper)[2], "mixing weight") and "not published as numbers" in said(paper)
    assert numbers(traces(charts(paper)[2], "gain in F1")[0]["customdata"])[1] == pytest.approx(91.66 - 88.51)


def test_pairs_of_tasks_have_an_order_or_are_said_to_have_none(look):
    app = look("grammar", edge_tab="order")
    heat, unknown = charts(app)[1]["data"]
    assert heat["text"] == [["", "◀", ""], ["▶", "", ""], ["", "", ""]]
    assert sorted(zip(unknown["x"], unknown["y"], strict=True)) == [(0, 2), (1, 2), (2, 0), (2, 1)]
    assert "For 1 of 3 pairs of tasks the expected layers of nesia-mini lie clearly apart" in said(app)
    assert "2: an expected layer is not resolved" in said(app) and "For a task with one seed the variation over seeds" in said(app)
    between = table_of(app, "verdict", "task")
    assert set(between["first"]) == {"nesia-mini"} and set(between["second"]) == {"other-bert"}
    assert set(between["reason"]) == {"too few seeds"} and "2: too few seeds" in said(app)


def test_a_task_label_by_label(look):
    app = look("grammar", labels_of="srl", edge_models="nesia-mini", edge_tab="order")
    table = table_of(app, "label", "counts").set_index("label")
    run = [run for run in RUNS if run.task is SRL and run.model == "nesia-mini" and run.kind == "cumulative" and run.encoder == "trained"]
    place = SRL.labels.index("ARG1")
    gold = planted_part(SRL, "dev").gold[:, place]
    scores = []
    for one in run:
        given = answers(probabilities(one, "dev"))[-1][:, place]
        scores.append(2 * (given & gold).sum() / (given.sum() + gold.sum()))
    mine = table[table["encoder"] == "trained"]
    assert mine.loc["ARG1", "f1_last"] == pytest.approx(np.mean(scores)) and mine.loc["ARG1", "n"] == gold.sum()
    assert not mine.loc["R-ARG0", "counts"]
    assert "ARG1" in charts(app)[2]["layout"]["yaxis"]["ticktext"]


def test_a_number_opens_its_targets_in_the_same_choice(look):
    app = look("grammar", edge_models="nesia-mini", edge_part="test", unseen="1", labels_of="srl", edge_tab="order")
    targets = [one.proto.query_string for one in app.main.get("page_link")]
    wanted = {"trace_model=nesia-mini", "trace_part=test", "trace_unseen=1"}
    assert len(targets) == 2 and all(wanted <= set(query.split("&")) for query in targets)
    assert "trace_task=srl" in targets[0]


def test_names_that_are_not_stored_are_ignored(look):
    query = {"edge_models": ["nobody", "nesia-mini"], "edge_tasks": "none"}
    app = look("grammar", **query)
    assert not app.exception and "Ignored, not in these results: nobody, none" in said(app) and len(charts(app)) == 2


def test_without_probes_the_page_names_the_command(visit):
    app = EveryTab([visit("grammar", "one model", tab) for tab in links_to_tabs("grammar")])
    assert not app.exception and COMMAND in words(app) and not charts(app)


def test_a_store_of_one_run_is_enough(tmp_path, monkeypatch):
    one = plant_edge_runs(tmp_path / "one", [PlantedEdgeRun()])
    app = whole(opening(one, tmp_path / "cache", monkeypatch), "grammar")
    assert not app.exception and "An order needs cumulative probes of at least two tasks" in said(app)


def test_a_damaged_file_is_named(tmp_path, monkeypatch):
    broken = plant_edge_runs(tmp_path / "broken", [PlantedEdgeRun()])
    path = next(broken.rglob("edge_scores-*.parquet"))
    path.write_bytes(path.read_bytes()[:100])
    app = opening(broken, tmp_path / "cache", monkeypatch)("grammar")
    assert not app.exception and "edge_scores" in app.warning[0].value.replace("\\", "")


def test_a_model_has_one_colour_whatever_it_was_asked(tmp_path, monkeypatch):
    both = plant_runs(tmp_path / "both", SEVERAL)
    plant_edge_runs(both / "edges", [PlantedEdgeRun(), PlantedEdgeRun(model="bert-base-uncased"), PlantedEdgeRun(model="own")])
    look = opening(both, tmp_path / "cache", monkeypatch)
    facts = {
        trace["name"].split(" · ")[0]: trace["line"]["color"]
        for trace in charts(look("layers"))[0]["data"]
        if trace.get("mode") == "lines+markers"
    }
    probes = {trace["name"]: trace["marker"]["color"] for trace in charts(look("grammar"))[0]["data"] if trace["mode"] == "markers"}
    assert facts["nesia-mini"] == probes["nesia-mini"]
    assert len({probes[name] for name in ("nesia-mini", "bert-base-uncased", "own")}) == 3
    menu = look("layers").multiselect(key="layers.models")
    assert "own" not in menu.options, "it was asked no facts"


def test_a_link_with_too_many_models_lists_those_that_are_ignored(tmp_path, monkeypatch):
    models = [f"model-{number}" for number in range(6)]
    crowd = plant_edge_runs(tmp_path / "crowd", [PlantedEdgeRun(model=model) for model in models])
    app = opening(crowd, tmp_path / "cache", monkeypatch)("grammar", edge_models=models)
    assert not app.exception and app.sidebar.multiselect(key="grammar.edge_models").value == models[:4]
    assert "At most 4 models are shown. Ignored: model-4, model-5" in said(app)
