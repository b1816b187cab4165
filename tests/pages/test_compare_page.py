"""The page Compare models on stores in which the fate of every fact, or its way back, is planted."""

import re

import numpy as np
import pytest

from data.making.card_family import family_lines
from probing.compared import page_beyond as sentence_words
from probing.facts.runs import choose
from probing.facts.store_facts import count_facts
from probing.forgetting import recover, report_outcome
from probing.forgetting.report import FORGETTING as REPORTS
from probing.forgetting.report_outcome import any_in_words, by_chance, facts, hundred, in_words, stored_runs
from probing.forgetting.report_savings import stored_words
from probing.forgetting.ways import (
    AS_IN_BASE,
    GAINED,
    KEPT,
    LAYERS_BACK,
    LINE,
    MOVED,
    NOT_RECOVERED,
    OTHER_LAYER,
    WAYS,
    called,
)
from probing.kernel.store.opening import open_database
from probing.own_model.report import result_of
from probing.sentences.examples import FIRST, MEAN, SentenceData
from probing.sentences.numbers import FATES, Cell
from tests import forgetting_planted as planted
from tests.fine_tuning_planted import plant_everything, plant_facts, rank_of
from tests.pages.conftest import answers, charts, numbers, opening, plain, table_of, visited, words
from tests.planted_relatives import BASE, COLA, CONTROL, LAST, SST_2
from tests.planted_store import PlantedRun, plant_runs
from tests.sentences_planted import BIGRAM, ODD, PlantedSentenceRun, examples, plant_sentence_runs, right
from tests.series_planted import PREVENTED, SERIES, STEPS, PlantedSeries, ids, plant_series
from tests.shipped import SNAPSHOT

TUNED = "nesia-mini-qa-squad-1"


@pytest.fixture(scope="module")
def look(family, tmp_path_factory):
    return visited(family, tmp_path_factory.mktemp("visits"))


@pytest.fixture(scope="module")
def lost(tmp_path_factory):
    """Opens the page on a store that has ways back, and no answers of single facts."""
    folder = planted.plant_forgetting(tmp_path_factory.mktemp("forgetting") / "runs")
    look = visited(folder, tmp_path_factory.mktemp("visits"))
    return lambda **query: look("compare", **query)


def sentence(app) -> str:
    return answers(app)[0]


def clickable(chart: dict) -> set[str]:
    return {point[0] for trace in chart["data"] for point in trace.get("customdata") or []}


@pytest.mark.parametrize("model", planted.MODELS, ids=lambda model: model.name)
def test_the_sentence_has_the_numbers_of_the_picture_and_their_null(lost, model):
    app = lost(tuned=model.name)
    assert not app.exception
    rows, known = planted.lost_facts(model), sum(planted.KNOWN.values())
    left = sum(one["way"] == NOT_RECOVERED for one in rows)
    kept, back, *wrong = (int(one) for one in re.findall(r"\d+(?= %)", sentence(app)))
    counted = [100 * n / known for n in (known - len(rows), len(rows) - left, left)]
    assert kept == pytest.approx(counted[0], abs=0.5) and bool(wrong) == ("guesses" not in sentence(app))
    assert wrong or back == pytest.approx(100 - 100 * left / len(rows), abs=0.5)
    flow = charts(app)[0]
    labels = {
        " ".join(text.split("</span> ")[1:]): int(re.search(r"<b>(\d+)", text)[1])
        for trace in flow["data"]
        for text in trace.get("text", [])
    }
    parts = [labels["kept"], labels["come back"], labels["not back"]]
    assert sum(parts) == 100 and parts == pytest.approx(counted, abs=1.5)
    assert (
        labels["at another layer"] + labels["refitted head"] + labels["layers put back"] + labels["relearned"]
        == parts[1]
    )
    assert clickable(flow) == {KEPT, *WAYS, NOT_RECOVERED}


def test_the_lost_facts_of_a_way_are_listed_with_all_their_ways(lost):
    fact = next(one for one in planted.lost_facts(COLA) if one["way"] == LAYERS_BACK)
    app = lost(tuned=COLA.name, lost_way=LAYERS_BACK, lost_relation=fact["relation"])
    listed = table_of(app, "margin").set_index("subject").loc["Subject 3"]
    assert (listed["layers_back"], listed["after_15"].count("1")) == (1, 1)
    inner = lost(tuned=COLA.name, lost_way=OTHER_LAYER)
    (table,) = [one.value for one in inner.dataframe if "margin" in one.value.columns]
    assert set(table["way"].str.split(",").str[0]) == {OTHER_LAYER}


@pytest.mark.parametrize(("model", "figures"), [(COLA, 2), (SST_2, 1)])
def test_lessons_and_savings_are_of_the_chosen_model_beside_controls_alone(lost, model, figures):
    rows = [
        chart["layout"]["yaxis"].get("ticktext", []) for chart in charts(lost(tuned=model.name, compare_tab="when"))
    ]
    named = [[row for row in of_chart if row.startswith("<b>")] for of_chart in rows]
    assert len(named) == figures and all(len(of_chart) == 1 and model.objective in of_chart[0] for of_chart in named)


def test_the_facts_of_a_way_back_are_listed_on_the_page_of_facts_until_its_chip_is_removed(tmp_path, monkeypatch):
    run = {"model": "nesia-mini-ner-conll", "head": "logit_lens", "probe_set": "trex"}
    with open_database(SNAPSHOT) as db:
        recovered = stored_runs(db, [run["model"]], [run["probe_set"]], [1])["run_id"].iloc[0]
        asked = facts(db, recovered, (AS_IN_BASE, MOVED))
        everything = count_facts(db, choose(db, *([one] for one in run.values()))["run_id"].iloc[0])
    app = opening(SNAPSHOT, tmp_path / "cache", monkeypatch)("facts", **run, way_back=OTHER_LAYER)
    assert not app.exception and 0 < len(asked) < everything and f"{len(asked):,} facts" in plain(app)
    (listed,) = [one.value for one in app.dataframe if "answer" in one.value.columns]
    assert set(zip(listed["subject"], listed["answer"], strict=True)) <= set(
        zip(asked["subject"], asked["object"], strict=True)
    )
    app.button(key="facts.way_back.chip").click().run()
    assert not app.exception and f"{everything:,} facts" in plain(app)


def test_a_model_that_ships_as_counts_opens_with_its_ways_back_and_is_not_among_those_compared_by_fact(
    tmp_path, monkeypatch
):
    look = opening(SNAPSHOT, tmp_path / "cache", monkeypatch)
    for end in ("QA-SQuAD-2", "SST-2"):
        app = look("compare", tuned=f"nesia-mini-{end.lower()}")
        assert not app.exception and re.match(rf"{end} keeps .* come back by one of four ways; so do", sentence(app))
    assert "Of 3 models stored fact by fact, control keeps most" in plain(look("compare", compare_tab="models"))


def test_without_ways_back_the_sentence_counts_what_was_planted_and_the_page_has_the_command(look):
    app = look("compare")
    assert not app.exception
    # The base knows the facts 0 to 5 at its last layer, the model 0 and 6.
    assert sentence(app) == "QA-SQuAD-1 keeps 1 of the 6 facts that nesia-mini knew, and gains 1."
    assert f"python -m probing forgetting recover --k 1 --model {TUNED}" in [one.value for one in app.code]
    assert clickable(charts(app)[0]) == {
        KEPT,
        "lost",
        GAINED,
        "still_inside",
        "moved",
        "suppressed",
        "displaced",
        "not_read",
    }
    links = {one.proto.label: one.proto.query_string.split("&") for one in app.get("page_link")}
    for part in (KEPT, "lost", GAINED):
        assert {f"model={TUNED}", "versus=nesia-mini", f"part={part}"} <= set(links[part])


def test_relations_are_sorted_by_the_share_that_was_lost(look):
    app = look("compare")
    slopes = charts(app)[1]
    open_dots, filled_dots = (
        next(trace for trace in slopes["data"] if trace.get("marker", {}).get("symbol") == one)
        for one in ("circle-open", "circle")
    )
    # Facts 0 to 3 are P19's, 4 to 6 P103's, 7 to 9 P36's: of 4 known, 3 are lost; of 2, 2; of 0, none.
    assert [one[0] for one in open_dots["customdata"]] == ["P103", "P19", "P36"]
    assert numbers(open_dots["x"]) == pytest.approx([200 / 3, 100, 0]) and numbers(filled_dots["x"]) == pytest.approx(
        [100 / 3, 25, 0]
    )
    assert [trace["text"] for trace in slopes["data"] if trace.get("mode") == "text"] == [["−100 %", "−75 %", ""]]


def test_layer_by_layer_has_the_planted_difference_alone(look):
    app = look("compare", compare_tab="layers")
    assert not app.exception
    difference = next(trace for trace in charts(app)[0]["data"] if trace.get("name") == "difference")
    assert numbers(difference["y"])[-1] == pytest.approx(-40)
    assert answers(app) == ["They lie furthest apart at layer 2: QA-SQuAD-1 knows 10 % of the facts, nesia-mini 60 %."]


def test_an_empty_store_and_a_strange_link_say_what_to_do(lost, tmp_path, monkeypatch):
    app = opening(plant_runs(tmp_path / "base", [PlantedRun()]), tmp_path / "cache", monkeypatch)("compare")
    assert not app.exception and any("finetune" in one.value for one in app.main.get("code"))
    app = lost(tuned="<b>strange</b>", lost_relation="P0")
    assert not app.exception and any("Ignored" in one.value for one in app.main.info)


@pytest.mark.parametrize("model", (COLA, SST_2), ids=lambda model: model.name)
def test_card_command_report_and_page_say_the_same_of_guesses_and_of_the_test(run, monkeypatch, tmp_path, model):
    rows = planted.forgetting_rows(model)
    monkeypatch.setattr(recover, "recover", lambda request, say: rows)
    command = run("forgetting", "recover", "--model", model.name, "--savings").output
    monkeypatch.setattr("probing.own_model.report.MIN_FACTS", 1)
    with open_database(planted.plant_forgetting(tmp_path / "runs"), plant_facts(tmp_path / "facts")) as db:
        runs, own = stored_runs(db, [model.name]), result_of(db, model.name, "trex")
        tests, beside = report_outcome.memory(db, runs), any_in_words(report_outcome.ways(db, runs))
        report = REPORTS.written(db, REPORTS.choose("memory", {"model": model.name}), "text")[0]
        card, saved = "\n".join(family_lines(db, BASE.name)), stored_words(db, model.name, "trex", 1)
        every = report_outcome.memory(db, stored_runs(db))
        counted, by_way = report_outcome.outcome(db, runs), report_outcome.ways(db, runs)
    page = opening(tmp_path / "runs", tmp_path / "cache", monkeypatch)("compare", tuned=model.name)
    assert [int(n) for n in re.findall(r"(?<=answers )\d+|(?<=facts )\d+(?= come)", beside)] == [
        int(n) for n in re.findall(r"\d+(?= %)", sentence(page))[1:]
    ]
    assert beside and beside in command and own.details[-1].endswith(f"{beside} {saved[-1]}")
    assert "beside counterfeits, per cent first" in card and "".join(f"\n- {line}" for line in saved) in command
    data = set(hundred(counted, tests, by_way)["test"]) - {""}
    assert len(tests) == 5 and data and data <= set(map(in_words, tests.itertuples()))
    for test in tests.itertuples():
        line = in_words(test)
        assert line.startswith(test.verdict) and test.verdict in report
        assert f"- {called(test.way, test.protocol)}: {line}\n" in command and f"| {line} |" in card
    assert by_chance(tests) in command and by_chance(tests) in report and by_chance(every) in card
    flow = charts(page)[0]
    assert not [trace for trace in flow["data"] if trace.get("fillpattern") or trace["type"] == "bar"]


TABS = ("when", "prevention", "beyond", "models")


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    folder = plant_everything(tmp_path_factory.mktemp("everything") / "runs")
    plant_series(folder / "series", [*SERIES, *PREVENTED, PlantedSeries(COLA, LINE, facts=False)])
    return folder


@pytest.fixture(scope="module")
def look_at_tabs(everything, tmp_path_factory):
    opened = visited(everything, tmp_path_factory.mktemp("visits"))
    return lambda tab, tuned=COLA, **query: opened("compare", compare_tab=tab, tuned=tuned.name, **query)


def named(app, name: str) -> dict:
    """The figure with these marks among its names."""
    return next(one for one in charts(app) if any(trace.get("name") == name for trace in one["data"]))


def commands(app) -> str:
    return "\n".join(one.value for one in app.main.get("code"))


def test_the_time_course_is_that_of_the_tuned_model_beside_its_control(look_at_tabs):
    app = look_at_tabs("when")
    lost = [trace for trace in named(app, "known again")["data"] if trace["name"] == "lost"]
    assert len(lost) == 2 and len(lost[0]["customdata"]) == len(STEPS)
    assert app.selectbox(key="compare.lost_training").value.startswith(COLA.name)
    other = look_at_tabs("when", lost_training=f"{CONTROL.name} trex", followed_fact=ids()[0])
    assert other.selectbox(key="compare.lost_training").value.startswith(CONTROL.name)
    assert other.selectbox(key="compare.followed_fact").value == ids()[0]


def test_recipes_of_the_task_are_points(look_at_tabs):
    drawn = named(look_at_tabs("prevention"), "control")["data"]
    names = {trace["name"] for trace in drawn if trace.get("mode") == "markers" and "name" in trace}
    assert {"50 % old weights", "lowest 2 layers frozen"} <= names and "control" not in names
    assert len([trace for trace in drawn if trace["name"] == "mean of both weights"]) == 1
    assert charts(look_at_tabs("prevention", protected=f"{BASE.name} {COLA.objective}"))
    assert ", without protection" in words(look_at_tabs("prevention"))


def test_each_measurement_is_drawn_and_a_missing_one_comes_with_its_command(look_at_tabs):
    app = look_at_tabs("beyond", beyond_measure="perplexity")
    assert f"edges train --tasks all --model {COLA.name}" in commands(app) and "changes measure" not in commands(app)
    panels = [note["text"] for one in charts(app) for note in one["layout"].get("annotations", ())]
    assert any(text.startswith("<b>Perplexity") for text in panels)
    assert {trace.get("name", "").replace("<br>", " ") for one in charts(app) for trace in one["data"]} & set(FATES)


def turned(task, pooling: str, layer: int) -> dict[str, str]:
    """Name of each sentence that turned -> which way."""
    before, after = (right(PlantedSentenceRun(one, task), Cell(pooling, layer)) for one in (BASE, COLA))
    found = [one.sha256[:16] for one in examples(task, "ours")]
    return {
        name: "right" if now else "wrong" for name, was, now in zip(found, before, after, strict=True) if was != now
    }


def test_the_sentences_of_a_cell_are_listed_if_they_may_be_shown(look_at_tabs):
    cell = {"gone_task": ODD.name, "gone_pooling": FIRST, "gone_layer": "2"}
    table, wanted = table_of(look_at_tabs("beyond", **cell), "sentence", "turned"), list(turned(ODD, FIRST, 2).values())
    assert table["turned"].tolist() == wanted and all(
        sentence.startswith("Sentence ") for sentence in table["sentence"]
    )
    only = table_of(look_at_tabs("beyond", **cell, turned_way="right"), "sentence", "turned")
    assert len(only) == wanted.count("right")


def test_sentences_that_are_not_shipped_are_left_out_until_they_are_fetched(
    look_at_tabs, everything, tmp_path, monkeypatch
):
    cell = {"gone_task": BIGRAM.name, "gone_pooling": MEAN, "gone_layer": "3"}
    app = look_at_tabs("beyond", **cell)
    assert "These sentences are not shipped" in words(app) and "probing fetch x-probe" in commands(app)
    assert not [one for one in app.dataframe if "sentence" in one.value]
    (tmp_path / "cache" / "downloads" / "x-probe").mkdir(parents=True)
    (tmp_path / "cache" / "downloads" / "x-probe" / "any.txt").write_text("here")
    data = SentenceData(BIGRAM.name, "ours", {"test": examples(BIGRAM, "ours")})
    monkeypatch.setattr(sentence_words, "read_task", lambda task, downloads, protocol: (None, data))
    app = opening(everything, tmp_path / "cache", monkeypatch)("compare", compare_tab="beyond", tuned=COLA.name, **cell)
    assert len(table_of(app, "sentence", "turned")) == len(turned(BIGRAM, MEAN, 3)) and "not shipped" not in words(app)


def test_all_models_stand_in_figure_and_table_in_the_order_of_what_they_kept(look_at_tabs):
    app = look_at_tabs("models", plane_loss="emd")
    bars = named(app, "kept")
    shown = dict(zip([point[0] for point in bars["data"][0]["customdata"]], numbers(bars["data"][0]["x"]), strict=True))
    for model in (COLA, SST_2, CONTROL):
        known = [number for number in range(10) if rank_of(BASE, number, LAST) == 1]
        assert shown[model.name] == pytest.approx(
            100 * np.mean([rank_of(model, number, LAST) == 1 for number in known])
        )
    assert list(shown.values()) == sorted(shown.values(), reverse=True)
    table = table_of(app, "kept", "net")
    assert len(table) >= 4 and table["kept"].notna().sum() == 3
    titles = [one["layout"]["yaxis"].get("title", {}).get("text") for one in charts(app)]
    assert "attention moved by, tokens" in titles


def test_a_store_of_facts_and_an_empty_one_say_what_is_missing(tmp_path, monkeypatch):
    for folder, tabs in ((plant_facts(tmp_path / "facts"), TABS), (plant_runs(tmp_path / "none", ()), TABS[:1])):
        for tab in tabs:
            app = opening(folder, tmp_path / f"cache-{folder.name}", monkeypatch)("compare", compare_tab=tab)
            assert not app.exception and ("python -m probing" in commands(app) or charts(app))


def test_a_file_of_counts_that_is_cut_short_is_named_and_the_page_is_drawn(tmp_path, monkeypatch):
    """Other kinds of runs still know both models, and of a base no base."""

    def without_base(table, rows):
        return [row | {"base": row["base"] or None} for row in rows] if table == "sentence_runs" else rows

    runs = [PlantedSentenceRun(BASE, ODD), PlantedSentenceRun(COLA, ODD)]
    folder = plant_runs(plant_sentence_runs(tmp_path / "runs", runs, without_base))
    for path in folder.rglob("layer_counts-*.parquet"):
        path.write_bytes(path.read_bytes()[:-100])
    app = opening(folder, tmp_path / "cache", monkeypatch)("compare")
    assert not app.exception
    assert any("layer\\_counts\\-" in one.value and "truncated" in one.value for one in app.warning)
