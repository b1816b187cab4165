"""The page of grammar on planted stores: its numbers are recomputed from the planted probabilities."""

import numpy as np
import pandas as pd
import pytest

from probing.edges import page_words as found_words
from probing.edges.page_sentence import most_revised, right_labels
from probing.edges.report import PUBLISHED_MODELS
from probing.edges.report import published_scores as scores
from probing.edges.tasks import read_task
from tests.edges.edge_files import conllu, write_ewt
from tests.edges_planted import (
    POS,
    ROLES,
    RUNS,
    SRL,
    PlantedEdgeRun,
    answers,
    own_too,
    plant_edge_runs,
    planted_gold,
    planted_part,
)
from tests.edges_planted import planted_probabilities as probabilities
from tests.pages.conftest import charts, numbers, numbers_in, opening, plain, visited, words

pytestmark = pytest.mark.usefixtures("unfolded")

COMMAND = "python -m probing edges train"


@pytest.fixture(scope="module")
def edges(tmp_path_factory):
    return plant_edge_runs(tmp_path_factory.mktemp("edges") / "runs")


@pytest.fixture(scope="module")
def look(edges, tmp_path_factory):
    return visited(edges, tmp_path_factory.mktemp("visits"))


def f1(run: PlantedEdgeRun, seen: bool = False) -> np.ndarray:
    """Micro F1 on dev of every probe of a run, counted answer by answer."""
    data = planted_part(run.task, "dev")
    kept = data.seen if seen else np.ones(len(data.seen), dtype=bool)
    said, gold = answers(probabilities(run, "dev"))[:, kept], planted_gold(run, "dev")[kept]
    found = []
    for one in said[:, :, run.task.counted]:
        true = gold[:, run.task.counted]
        tp, fp, fn = (one & true).sum(), (one & ~true).sum(), (~one & true).sum()
        missed = data.unknown[kept].sum() if run.labels == "task" else 0
        found.append(2 * tp / (2 * tp + fp + fn + missed))
    return np.array(found)


def mean_f1(task, **more) -> np.ndarray:
    """The same of nesia-mini's cumulative probes, mean over seeds."""
    runs = [
        run
        for run in RUNS
        if (run.model, run.kind, run.encoder, run.labels) == ("nesia-mini", "cumulative", "trained", "task")
    ]
    return np.mean([f1(run, **more) for run in runs if run.task is task], axis=0)


def traces(figure: dict, name: str) -> list[dict]:
    """The traces of a name; those that are in the legend only are left out."""
    return [trace for trace in figure["data"] if trace.get("name") == name and trace["x"] != [None]]


def test_the_sentence_and_the_picture_have_the_layers_with_half_of_what_the_stored_answers_gain(look):
    def half(f1) -> int:
        return next(layer for layer, value in enumerate(f1) if layer and value - f1[0] >= (f1[-1] - f1[0]) / 2)

    app = look("grammar", edge_models="nesia-mini")
    ours = [mean_f1(task) for task in (POS, SRL, ROLES)]
    every = scores()
    theirs = every[(every["model"] == PUBLISHED_MODELS["base"]) & every["task"].isin(["pos", "srl", "proto-roles"])]
    published = {half(list(line["value"])) for _, line in theirs.groupby("task")}
    (dots, gains) = traces(charts(app)[0], "nesia-mini")
    told = [float(value) for value in numbers(dots["x"]) if not np.isnan(value)]
    assert len(gains["text"]) == 3 and told
    for f1, gain, layer in zip(ours, gains["text"], numbers(dots["x"]), strict=True):
        assert f"{100 * (f1[-1] - f1[0]):+.1f} points".replace("-", "−") in gain
        assert np.isnan(layer) == ("cannot be told" in gain) and (np.isnan(layer) or layer == half(f1))
    (line,) = [one.value.replace("*", "") for one in app.main.markdown if "Half of what" in one.value]
    layers = numbers_in(line.replace("BERT-base", ""))
    assert set(layers) == {min(told), max(told), min(published), max(published)}
    assert traces(charts(app)[0], "BERT-base (published)")
    assert not traces(charts(look("grammar", edge_models="nesia-mini", published="0"))[0], "BERT-base (published)")


@pytest.mark.parametrize("mode", ["cumulative", "at", "selectivity", "compression"])
def test_the_switch_shows_layers_one_by_one_what_control_labels_leave_and_code_lengths(look, mode):
    app = look("grammar", layerwise=mode, edge_models="nesia-mini")
    (curve, *_) = traces(charts(app)[2], "nesia-mini")
    levels = {trace["name"] for trace in charts(app)[2]["data"] if trace["mode"] == "lines"}
    if mode == "compression":
        assert (
            min(numbers(curve["y"])) > 1 and "uniform code" in levels and "Stored for Part of speech only" in plain(app)
        )
        return
    wanted = {
        "cumulative": lambda: mean_f1(POS),
        "at": lambda: f1(PlantedEdgeRun(kind="at", codes=True)),
        "selectivity": lambda: mean_f1(POS, seen=True) - f1(PlantedEdgeRun(labels="control"), seen=True),
    }[mode]()
    assert numbers(curve["y"]) == pytest.approx(100 * wanted)
    assert ({"no selectivity"} if mode == "selectivity" else {"memory", "ceiling"}) <= levels


def test_weights_stand_beside_gains_and_a_matrix_is_drawn_where_a_pair_has_an_order(look):
    app = look("grammar", grammar_tab="order")
    heat, unknown = charts(app)[1]["data"]
    assert heat["text"] == [["", "◀", ""], ["▶", "", ""], ["", "", ""]]
    assert sorted(zip(unknown["x"], unknown["y"], strict=True)) == [(0, 2), (1, 2), (2, 0), (2, 1)]
    weights, gains = (traces(charts(app)[2], name)[0] for name in ("mixing weight", "gain in F1"))
    assert sum(numbers(weights["customdata"])) == pytest.approx(1.0)
    assert numbers(gains["customdata"])[1:] == pytest.approx(100 * np.diff(mean_f1(POS)))
    assert traces(charts(look("grammar", grammar_tab="order", normed="1"))[2], "mixing weight × norm")
    none = look("grammar", grammar_tab="order", edge_tasks=["pos", "proto-roles"], edge_models="nesia-mini")
    assert "Of 1 pair of tasks, none can be put in an order in nesia-mini" in plain(none) and len(charts(none)) == 3


def test_without_probes_published_gains_are_the_example_and_the_command_is_named(visit):
    app = visit("grammar", "one model")
    assert not app.exception and COMMAND in words(app) and len(charts(app)) == 1
    assert {one["name"] for one in charts(app)[0]["data"]} == {"BERT-base (published)"}


def test_a_damaged_file_is_named(tmp_path, monkeypatch):
    broken = plant_edge_runs(tmp_path / "broken", [PlantedEdgeRun()])
    path = next(broken.rglob("edge_scores-*.parquet"))
    path.write_bytes(path.read_bytes()[:100])
    app = opening(broken, tmp_path / "cache", monkeypatch)("grammar")
    assert not app.exception and "edge_scores" in app.warning[0].value.replace("\\", "")


def texts(*tasks) -> set[str]:
    return {record.text for task in tasks for record in planted_part(task, "dev").records}


def number_of_sentences(app) -> int:
    (line,) = [one.value for one in app.main.header if "to choose from" in one.value]
    return int(line.split()[0].replace(",", ""))


def everything(app) -> str:
    """All that the page shows: words, tables, figures."""
    headings = "".join(one.value for one in app.header)
    tables = [one.value.to_csv() for one in app.dataframe]
    return words(app) + headings + str(tables) + "".join(str(one.proto.spec) for one in app.get("plotly_chart"))


def test_words_appear_once_their_data_set_is_fetched_and_no_other_task_is_read(tmp_path, monkeypatch):
    def blank(table: str, rows: list[dict]) -> list[dict]:
        return [row | {"text": None} for row in rows] if table == "edge_sentences" else rows

    bare = plant_edge_runs(tmp_path / "bare", [PlantedEdgeRun(task=task) for task in (POS, SRL)], change=blank)
    records = planted_part(POS, "dev").records
    query = {"grammar_tab": "sentence", "text_hash": records[0].sha256}
    look = opening(bare, tmp_path / "cache", monkeypatch)
    before = look("grammar", **query)
    assert records[0].text not in everything(before) and f"text {records[0].sha256[:12]}" in everything(before)
    assert "`python -m probing fetch ud-english-ewt` fetches the words" in words(before) and ": word" in everything(
        before
    )
    rows = {f"dev-{number}": [(word, "NN", 0, "root") for word in one.words] for number, one in enumerate(records)}
    write_ewt(tmp_path / "cache" / "downloads" / "ud-english-ewt", dev=conllu(rows))
    asked = []
    monkeypatch.setattr(found_words, "read_task", lambda name, folder: asked.append(name) or read_task(name, folder))
    after = look("grammar", **query)
    assert not after.exception and records[0].text in everything(after) and "sha256" not in words(after)
    assert asked == ["pos"], "srl has the same sentences, so it need not be read"
    look("grammar", **query)
    assert asked == ["pos"], "unchanged files are read once"


def test_our_own_sentences_come_first_with_their_tasks(look, tmp_path, monkeypatch):
    with_own = opening(plant_edge_runs(tmp_path / "own", change=own_too), tmp_path / "cache", monkeypatch)
    app = with_own("grammar", grammar_tab="sentence")
    assert not app.exception and app.selectbox(key="grammar.trace_task").options == [
        "any",
        "Part of speech",
        "Semantic roles",
    ]
    assert number_of_sentences(app) == len(texts(POS, SRL))
    choice = next(one for one in app.get("button_group") if one.key == "grammar.trace_part")
    assert [one.content.replace("\\", "") for one in choice.proto.options] == ["our own", "dev", "test"]
    app = look("grammar", grammar_tab="sentence", trace_part="own")
    assert "not in these results: our own" in words(app) and number_of_sentences(app) == len(texts(POS, SRL, ROLES))


def test_the_sentence_of_a_trace_says_when_the_latest_of_its_right_labels_was_right():
    begin = "2 of 3 labels are right at the last layer"
    assert right_labels(pd.Series([1, 3, None]), 8) == f"{begin}, and all of these from layer 3 on."
    assert right_labels(pd.Series([1, 8, None]), 8) == f"{begin}, 1 of these not yet at the one before."
    assert right_labels(pd.Series([None, None]), 8) == "0 of 2 labels are right at the last layer."


def test_of_more_panels_than_fit_those_with_most_revisions_are_drawn_in_their_order():
    rows = [
        {"panel": f"pos.{target}.0", "revisions": revisions, "layer": layer}
        for target, revisions in enumerate([0, 3, 0, 1] + [2] * 10)
        for layer in range(3)
    ]
    drawn = most_revised(pd.DataFrame(rows), 12)
    assert (
        list(dict.fromkeys(drawn["panel"])) == [f"pos.{target}.0" for target in (1, 3, *range(4, 14))]
        and len(drawn) == 36
    )
