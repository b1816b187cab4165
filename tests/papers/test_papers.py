"""Our numbers next to the papers' and the judge of their claims, on planted and shipped results, and how to cite."""

import math
import re
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

import probing
import probing.choices  # the tabs of every page
from probing.facts.published import PublishedFacts
from probing.kernel.app import selection
from probing.kernel.app.selection import PAGES
from probing.kernel.citations import RELEASED, SOFTWARE, Reference
from probing.kernel.published import Check, Claim
from probing.kernel.report import Filter, Report, Reports
from probing.kernel.store.database import Database
from probing.kernel.store.opening import open_database
from probing.kernel.store.parquet import write_table
from probing.papers import claims as judging
from probing.papers import edge_probing as tables
from probing.papers import papers
from probing.papers.claims import (
    FAILS,
    HOLDS,
    UNSURE,
    UNTESTED,
    Interval,
    Reproduction,
    Subject,
    apart,
    claims_frame,
    judge,
    share,
    verdict,
)
from probing.papers.edge_probing import EDGE_PROBING, numbers_of, published_encoders, runs_of
from probing.papers.interplay import INTERPLAY, PUT_BACK, plot
from probing.papers.papers import PAPERS
from tests.changes_planted import plant_changes, planted_value
from tests.edges_planted import (
    POS,
    RUNS,
    SRL,
    PlantedEdgeRun,
    answers,
    plant_edges,
    planted_part,
    planted_probabilities,
    run_rows,
)
from tests.planted_relatives import BASE, COLA, CONTROL, LAST, LAYERS, SEED_2, SQUAD, SST_2
from tests.sentences_planted import COORDINATION, TASKS, PlantedSentenceRun, plant_sentence_runs, right
from tests.sentences_planted import Cell as Probe
from tests.shipped import SNAPSHOT

#: (model, probe set, layer) -> value; every interval reaches 0.01 either way.
PLANTED = {
    ("base", "trex", 8): 0.50,
    ("tuned", "trex", 8): 0.40,
    ("tuned", "google_re", 8): 0.49,
    ("base", "google_re", 8): 0.50,
    ("base", "trex", 4): 0.10,
    ("tuned", "trex", 4): 0.02,
    ("guesser", "trex", 8): 0.01,
    ("control", "trex", 8): 0.45,
    ("undefined", "trex", 8): math.nan,
    ("floored", "trex", 8): 0.004,
    ("floored", "trex", 4): 0.0005,
}
SUBJECT = Subject(
    {
        name if name in ("base", "control") else name.upper(): name
        for name in dict.fromkeys(model for model, *_ in PLANTED)
    }
)
CHECK = {
    "asks": "",
    "report": "planted numbers",
    "columns": ("value", "low", "high"),
    "second": {"model": "base"},
    "relation": "<",
}


@pytest.fixture
def planted(monkeypatch):
    """Judges a check on the planted numbers; the guesser has not learned its task."""
    table = pd.DataFrame(
        [(*key, value, value - 0.01, value + 0.01) for key, value in PLANTED.items()],
        columns=["model", "probe_set", "layer", "value", "low", "high"],
    )
    paired = pd.DataFrame(
        [("tuned", "google_re", -0.01, -0.012, -0.008)], columns=["model", "probe_set", "difference", "low", "high"]
    )
    reports = Reports(
        "planted",
        (
            Report("numbers", "", lambda db, choice: table),
            Report("pairs", "", lambda db, choice: paired),
        ),
        (Filter("model"),),
        lambda db, choice: None,
    )
    monkeypatch.setattr(judging, "REPORTS", {"planted": reports})
    monkeypatch.setattr(
        judging, "learned", lambda db, models: pd.DataFrame({"model": ["guesser"], "verdict": ["not learned"]})
    )

    def judged(**check):
        claim = Claim(
            name="a claim",
            says="It is so.",
            where="Section 1",
            shown={"page": "home"},
            unchecked="" if check.get("relation", "<") else "No bound.",
            check=Check(**{**CHECK, **check}),
        )
        return judge(object(), [claim], SUBJECT)[0]

    return judged


def rows(model="TUNED", probe_set="trex", layer=12):
    return {"model": model, "probe_set": probe_set, "layer": layer}


@pytest.mark.parametrize(
    ("relation", "margin", "expected"),
    [
        ("<", 0.0, HOLDS),
        ("<", 0.09, UNSURE),
        ("<", 0.2, FAILS),
        (">", 0.0, FAILS),
        ("about", 0.2, HOLDS),
        ("about", 0.1, UNSURE),
        ("about", 0.05, FAILS),
    ],
)
def test_a_verdict_needs_the_whole_interval_on_one_side_of_the_margin(planted, relation, margin, expected):
    # 0.40 - 0.50 = -0.10, -0.114 to -0.086.
    assert planted(where=rows(), first={}, relation=relation, margin=margin).verdict == expected


def test_about_fails_on_either_side():
    assert {verdict(Interval(side * 0.1, side * 0.1 - 0.01, side * 0.1 + 0.01), "about", 0.05) for side in (-1, 1)} == {
        FAILS
    }


def test_the_difference_of_independent_shares_is_movers():
    # 56 of 70 against 48 of 80 with Wilson's intervals: 0.2 (0.0524 to 0.3339), Newcombe (1998), example (a), method
    # 10.
    first, second = (
        Interval(hits / n, *binomtest(hits, n).proportion_ci(method="wilson")) for hits, n in ((56, 70), (48, 80))
    )
    assert apart(first, second) == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)


def test_a_share_of_another_quantity_keeps_its_interval():
    # With an exact whole a ratio's interval is that of the part, divided.
    assert share(Interval(0.2, 0.1, 0.4), Interval(0.5, 0.5, 0.5)) == pytest.approx((0.4, 0.2, 0.8))
    # With an exact part it is the part divided by the ends of the whole.
    assert share(Interval(0.2, 0.2, 0.2), Interval(0.5, 0.4, 0.8)) == pytest.approx((0.4, 0.25, 0.5))
    assert math.isnan(share(Interval(0.2, 0.1, 0.4), Interval(0.01, 0.0, 0.02)).low)


def test_losses_by_layer_are_shares_of_what_the_base_knows_there(planted):
    by_points = planted(where=rows(), first={"layer": 12}, second={"layer": 6})
    by_shares = planted(
        where=rows(), first={"layer": 12}, second={"layer": 6}, share_of={"model": "base"}, relation=">"
    )
    assert by_points.verdict == FAILS
    assert by_shares.verdict == HOLDS
    assert by_shares.compared[["first", "second"]].iloc[0].tolist() == pytest.approx([0.8, 0.2])


def test_one_failure_decides_and_one_open_comparison_leaves_open(planted):
    sets = {"probe_set": ("trex", "google_re")}
    open_one = planted(where={"model": "TUNED", "layer": 12}, for_each=sets)
    assert open_one.verdict == UNSURE
    assert open_one.compared["verdict"].tolist() == [HOLDS, UNSURE]
    assert planted(where={"model": "TUNED", "layer": 12}, for_each=sets, margin=0.05).verdict == FAILS


def test_a_paired_difference_is_used_where_a_report_gives_it(planted):
    pairs = {"report": "planted pairs", "columns": ("difference", "low", "high")}
    found = planted(
        where={"layer": 12}, for_each={"model": ("TUNED",), "probe_set": ("trex", "google_re")}, paired=pairs
    )
    assert found.verdict == HOLDS
    assert found.compared["paired"].tolist() == [False, True]
    assert found.compared["difference_high"].iloc[1] == -0.008


def test_the_control_takes_the_bases_place_where_it_is_stored(planted):
    named = {"where": {"layer": 12}, "first": {"model": "TUNED"}, "second": {"model": "base"}, "margin": 0.04}
    alone = planted(**named, for_each={"probe_set": ("trex", "google_re")})
    found = planted(**named, for_each={"probe_set": ("trex", "google_re")}, control=True)
    # 0.40 - 0.45 and 0.40 - 0.50 on T-REx; the control was not asked the other set.
    assert alone.compared["difference"].tolist() == pytest.approx([-0.10, -0.01])
    assert found.compared["difference"].tolist() == pytest.approx([-0.05, -0.01])
    assert [words.partition(", ")[2] for words in found.compared["compared"]] == ["beside the control", ""]
    change = planted(where=rows(), second=None, control=True)
    assert change.compared[["first", "second"]].iloc[0].tolist() == [0.40, 0.45]


def test_a_comparison_in_which_nobody_knows_one_per_cent_of_the_base_cannot_be_made(planted, monkeypatch):
    shares = {"where": rows("FLOORED"), "first": {"layer": 12}, "second": {"layer": 6}, "share_of": {"model": "base"}}
    named = {"where": {"probe_set": "trex", "layer": 12}, "first": {"model": "FLOORED"}, "second": {"model": "FLOORED"}}
    monkeypatch.setattr(judging, "REPORTS", judging.REPORTS | {"facts": judging.REPORTS["planted"]})
    for check in (shares, named | {"report": "facts numbers"}):
        found = planted(**check)
        assert found.verdict == UNTESTED and found.compared["missing"].item() == judging.NOTHING
    assert planted(**named | {"report": "facts numbers", "second": {"model": "base"}}).verdict == HOLDS


def test_ours_is_shown_beside_the_papers_where_nothing_decides_and_decided_claims_are_first(planted):
    shown = planted(where=rows(), relation="", second=None)
    shown = replace(shown, claim=shown.claim.model_copy(update={"numbers": (0.1, 0.3)}))
    holds, unsure = planted(where=rows()), planted(where=rows(), margin=0.09)
    lacking = planted(where=rows("OTHER"))
    order = papers.telling_first([lacking, shown, unsure, holds])
    assert order == (holds, unsure, shown, lacking) and shown.verdict == ""
    table = papers.tiles(order).set_index("verdict")
    assert table["reason"].tolist()[1:3] == ["Of 1 comparisons 1 within chance.", "No bound."]
    assert table[["paper_low", "paper_high", "here_low", "here_high"]].iloc[2].tolist() == [0.1, 0.3, 0.4, 0.4]
    assert papers.counts(order) == {"claims": 4, "checked": 3, HOLDS: 1, FAILS: 0, UNSURE: 1, UNTESTED: 1}
    # A claim without a number of its own reaches from its margin to the end of the line.
    lines = [papers.on_a_line(tile) for tile in table.to_dict("records")]
    places = [{of: [float(n) for n in re.findall(r"[\d.]+", css)] for of, css in line.items()} for line in lines]
    left, width = places[0]["paper"]
    assert places[3] == {} and left == 0 and width == pytest.approx(places[0]["zero"][0], abs=0.2)
    assert places[2]["zero"][0] < places[2]["paper"][0] < sum(places[2]["paper"]) < places[2]["here"][0] < 100


def test_values_in_turn_are_compared_with_the_next(planted):
    found = planted(
        where={"probe_set": "trex", "layer": 12}, second=None, in_turn={"model": ("base", "TUNED")}, relation=">"
    )
    assert found.verdict == HOLDS
    assert found.compared[["compared", "first", "second"]].iloc[0].tolist() == ["base, TUNED", 0.5, 0.4]


@pytest.mark.parametrize(
    ("named", "missing"),
    [
        ({"model": ("TUNED", "OTHER")}, "OTHER"),
        ({"probe_set": ("trex", "squad")}, "squad"),
        ({"model": ("TUNED", "GUESSER")}, "GUESSER (not shown to have learned its task)"),
    ],
)
def test_what_a_claim_names_in_vain_is_named_and_the_claim_cannot_be_tested(planted, named, missing):
    found = planted(where=rows(), for_each=named)
    assert found.verdict == UNTESTED
    assert found.compared["verdict"].tolist() == [HOLDS, UNTESTED]
    row = claims_frame([found]).iloc[0]
    assert row["missing"] == missing
    # The numbers of what is there are shown all the same.
    assert row["first"] == "0.4 (0.39 to 0.41)"


def test_what_both_sides_lack_is_named_once_and_a_probe_set_before_a_layer(planted):
    found = planted(
        where=rows("OTHER"), for_each={"layer": (6, 12)}, second={"probe_set": "squad", "layer": 6, "model": "base"}
    )
    assert claims_frame([found])["missing"].item() == "OTHER; squad"


def test_a_number_that_is_not_defined_leaves_open(planted):
    assert planted(where=rows("UNDEFINED")).verdict == UNSURE


def test_the_numbers_shown_are_those_that_decide(planted):
    found = planted(where={"probe_set": "trex"}, for_each={"layer": (12, 6)}, first={"model": "TUNED"})
    row = claims_frame([found]).iloc[0]
    assert (found.verdict, row["compared"], row["counts"]) == (HOLDS, "layer 4 of 8", "holds 2")


def test_without_results_only_checks_have_a_verdict():
    claims = PublishedFacts.read().claims
    found = judge(None, claims, None)
    assert {(one.verdict, bool(one.claim.unchecked)) for one in found} == {(UNTESTED, False), ("", True)}


def test_shipped_claims_about_facts_have_the_numbers_of_the_counts(repo_root: Path):
    models = {
        name: f"nesia-mini-{name.lower()}"
        for name in ("QA-SQuAD-1", "QA-SQuAD-2", "MLM-SQuAD", "MLM-MSMARCO", "NER-CoNLL")
    }
    with open_database(SNAPSHOT) as db:
        found = judge(db, PublishedFacts.read().claims, Subject({"base": "nesia-mini"} | models, ({"head": "tied"},)))
    named = {one.claim.name: one for one in found}
    always = named["fine-tuning always forgets"]
    assert always.verdict == UNTESTED
    missing = claims_frame([always])["missing"].iloc[0]
    assert all(name in missing for name in ("conceptnet", "squad", "RANK-MSMARCO", "QA-SQuAD-2 (not"))
    row = always.compared.set_index("compared").loc["MLM-SQuAD, trex"]
    counts = pd.read_parquet(repo_root / "data" / "snapshot" / "total_counts.parquet")
    runs = pd.read_parquet(repo_root / "data" / "snapshot" / "runs.parquet")
    run = runs[(runs["model"] == "nesia-mini-mlm-squad") & (runs["head"] == "tied") & (runs["probe_set"] == "trex")][
        "run_id"
    ].item()
    sums = counts.loc[counts["run_id"] == run, ["last_1", "n"]].sum()
    low, high = binomtest(int(sums["last_1"]), int(sums["n"])).proportion_ci(method="wilson")
    expected = (sums["last_1"] / sums["n"], low, high)
    assert tuple(row[["first", "first_low", "first_high"]].astype(float)) == pytest.approx(expected)
    assert (row["verdict"], bool(row["paired"])) == (UNSURE, False)


@pytest.mark.parametrize("name", PAPERS)
def test_every_shipped_claim_names_what_there_is(name):
    paper = PAPERS[name]
    with open_database(SNAPSHOT) as db:
        found = paper.compare(db, "nesia-mini", *(["tied"] if name == "bertnesia" else []))
        # A report, column or filter that does not exist raises an error.
        judged = paper.judge(db, found.ours)
    claims = [one.claim for one in judged]
    assert {claim.shown.table for claim in claims} <= {"", *found.tables}
    assert {claim.shown.page for claim in claims} <= {"", *(page for page, *_ in PAGES.values())}
    for shown in (claim.shown for claim in claims if claim.shown.tab):
        tabs = next(one for one in fields(selection._OWN[shown.page]) if one.name == f"{shown.page}_tab")
        assert shown.tab in tabs.metadata["choices"]
    published = paper.numbers
    of_paper = {one.name for one in getattr(published, "models", ())} | {
        one.objective for one in getattr(published, "tuned", ())
    }
    rows = [
        rows
        for claim in claims
        if claim.check
        for one in claim.check.comparisons()
        for rows in (one.first, one.second or {})
    ]
    assert {row[column] for row in rows for column in ("model", "base") if column in row} <= {"base", *of_paper}


PAPER = EDGE_PROBING.numbers
TUNED = PlantedEdgeRun(model="nesia-mini-tuned", task=POS, base="nesia-mini")


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    with open_database(plant_edges(tmp_path_factory.mktemp("edges"), (*RUNS, TUNED))) as db:
        yield db


@pytest.fixture(scope="module")
def ours(database):
    return numbers_of(database, "nesia-mini", PAPER)


def cumulative(task, model: str = "nesia-mini") -> list[PlantedEdgeRun]:
    wanted = (task, model, "cumulative", "trained", "task")
    return [run for run in RUNS if (run.task, run.model, run.kind, run.encoder, run.labels) == wanted]


def f1_of(run: PlantedEdgeRun) -> np.ndarray:
    """(layers,) F1 on dev, from the planted answers."""
    said, gold, counted = (
        answers(planted_probabilities(run, "dev")),
        planted_part(run.task, "dev").gold,
        run.task.counted,
    )
    right = (said & gold)[..., counted].sum(axis=(1, 2))
    return 2 * right / (said[..., counted].sum(axis=(1, 2)) + gold[:, counted].sum())


def weights_of(run: PlantedEdgeRun) -> np.ndarray:
    """(layers,) mixing weights of the probe on all layers."""
    return np.array([row["weight"] for row in run_rows(run)["edge_mix"] if row["layer"] == run.layers - 1])


@pytest.mark.parametrize("task", [POS, SRL], ids=lambda task: task.name)
def test_curves_are_the_mean_over_seeds_of_the_planted_f1s(ours, task):
    runs = cumulative(task)
    assert len(runs) == (3 if task is SRL else 1)
    assert ours.curves[task.name].values == pytest.approx(np.mean([f1_of(run) for run in runs], axis=0))
    assert ours.beside["random"][task.name] == pytest.approx(
        f1_of(next(run for run in RUNS if run.task == task and run.encoder == "random"))[-1]
    )


def test_the_runs_behind_the_numbers_are_the_cumulative_ones_of_the_trained_encoder(database):
    ids = {run.run_id for task in (POS, SRL) for run in cumulative(task)}
    found = runs_of(database, "nesia-mini", PAPER)
    assert ids <= set(found["run_id"]) and len(found) == len(ids) + 1
    assert set(EDGE_PROBING.compare(database, "nesia-mini").ours.run_ids) == set(found["run_id"])


def test_tables_compare_ours_with_the_papers(database, ours):
    compared = EDGE_PROBING.compare(database, "nesia-mini")
    scores = compared.tables["scores"].set_index(["task", "encoder"])
    assert scores.loc[("pos", "nesia-mini"), "P(4)"] == pytest.approx(100 * f1_of(cumulative(POS)[0])[-1])
    summary = compared.tables["summary"].set_index(["row", "model"])
    mine, theirs = summary.loc[("pos", "nesia-mini")], summary.loc[("pos", "BERT-large")]
    assert mine["f1_last_low"] < mine["f1_last"] < mine["f1_last_high"] and np.isnan(theirs["f1_last_low"])
    assert theirs["memory"] != theirs["memory"] and mine["memory"] > 0
    mixed = np.mean([weights_of(run) for run in cumulative(SRL)], axis=0)
    assert (
        ours.centres["srl"]
        == pytest.approx(mixed @ np.arange(len(mixed)))
        == summary.loc[("srl", "nesia-mini"), "centre_of_gravity"]
    )
    # Proto-roles do not gain, so they have no expected layer.
    assert np.isnan(summary.loc[("proto-roles", "nesia-mini"), "expected_layer"])
    bars = tables.bars(["pos", "srl"], ours).set_index(["task", "layer"])
    assert bars.loc["pos", "weight"].sum() == pytest.approx(1)
    assert bars.loc["pos", "gain"].sum() == pytest.approx(mine["f1_last"] - mine["f1_first"])
    assert tables.bars(["pos", "srl"], published_encoders(PAPER)[1])["weight"].isna().all()
    assert len(compared.tables["points"]) == 3 * 5 + 8 * 13 + 8 * 25


def test_a_folder_under_the_authors_name_replaces_our_data(tmp_path):
    own = replace(POS, name="edges-pos-ontonotes", title="edges-pos-ontonotes")
    runs = (PlantedEdgeRun(task=own), PlantedEdgeRun(task=POS))
    with open_database(plant_edges(tmp_path, runs)) as db:
        found = numbers_of(db, "nesia-mini", PAPER)
        assert found.curves["pos"].values == pytest.approx(f1_of(runs[0])) and list(found.curves) == ["pos"]
        assert "pos" in found.beside["memory"] and EDGE_PROBING.compare(db, "nesia-mini").ours.run_ids == (
            runs[0].run_id,
        )


MODELS = (BASE, COLA, SEED_2, SST_2, SQUAD, CONTROL)
SCORES = [
    ("planted-cola", "CoLA", "Matthews correlation", 0.4, 1043, 0.0, "no correlation"),
    ("planted-sst-2", "SST-2", "task accuracy", 0.51, 872, 0.509, "majority label"),
]


@pytest.fixture(scope="module")
def db(tmp_path_factory) -> Iterator[Database]:
    folder = tmp_path_factory.mktemp("interplay")
    plant_sentence_runs(folder / "runs", [PlantedSentenceRun(model, task) for model in MODELS for task in TASKS])
    plant_changes(folder / "runs", MODELS)
    columns = ("model", "objective", "metric", "value", "n", "chance", "chance_name")
    rows = [dict(zip(columns, row, strict=True)) | {"base": "planted"} for row in SCORES]
    write_table("tasks", rows, folder / "runs" / "tasks-planted.parquet")
    with open_database(folder / "runs") as found:
        yield found


@pytest.fixture(scope="module")
def compared(db) -> Reproduction:
    return INTERPLAY.compare(db, "planted")


def share_right(model, task, pooling: str, layer: int) -> float:
    return float(right(PlantedSentenceRun(model, task), Probe(pooling, layer)).mean())


def test_the_model_with_the_least_seed_stands_for_an_objective(db):
    (family,) = INTERPLAY.subjects(db).values()
    assert (family.base, family.depth, family.protocol) == ("planted", LAST, "ours")
    assert family.members == {
        "CoLA": "planted-cola",
        "SST-2": "planted-sst-2",
        "QA-SQuAD-1": "planted-squad",
        "control": "planted-control",
    }


@pytest.mark.parametrize("model", [COLA, SQUAD], ids=lambda one: one.name)
@pytest.mark.parametrize("task", TASKS, ids=lambda one: one.name)
@pytest.mark.parametrize("pooling", ["first", "mean"])
def test_a_cell_of_tables_2_and_5_is_the_mean_change_of_its_layers(compared, model, task, pooling):
    mine = compared.tables["changes"]
    named = INTERPLAY.numbers.objectives[model.objective]
    mine = mine[mine["tuned"].eq(named) & mine["task"].eq(task.name) & mine["pooling"].eq(pooling)].set_index("group")
    for group, layers in (("lower", range(LAST // 2 + 1)), ("upper", range(LAST // 2 + 1, LAST + 1))):
        wanted = np.mean(
            [share_right(model, task, pooling, layer) - share_right(BASE, task, pooling, layer) for layer in layers]
        )
        assert mine.at[group, "ours"] == pytest.approx(100 * wanted)
        assert mine.at[group, "low"] <= mine.at[group, "ours"] <= mine.at[group, "high"]
    assert mine["control"].notna().all() and (mine["why"] == "").all()


def test_published_cells_are_next_to_ours_and_six_are_empty(compared):
    table = compared.tables["changes"].set_index(["tuned", "task", "pooling", "group"])
    assert len(table) == 4 * 3 * 2 * 2
    assert table.at[("CoLA", "bigram-shift", "mean", "upper"), "RoBERTa"] == 1.74
    assert table[["BERT", "RoBERTa", "ALBERT"]].isna().sum().sum() == 6


def test_table_1_has_ours_with_interval_and_what_it_has_to_beat(compared):
    table = compared.tables["scores"].set_index(["tuned", "metric"])
    row = table.loc[("CoLA", "Matthews correlation")]
    assert (row["ours"], row["baseline"], row["baseline_name"], row["BERT"]) == (40.0, 0.0, "no correlation", 59.5)
    assert row["low"] < 40 < row["high"] and row["Devlin et al. (2019)"] == 52.1
    assert table.at[("SQuAD", "F1"), "why"] == "its task score is not stored" and len(table) == 5


def test_a_model_that_did_not_learn_is_marked(compared):
    assert compared.ours.about.learned["SST-2"] == "not learned"
    rows = compared.tables["changes"][compared.tables["changes"]["tuned"] == "SST-2"]
    assert set(rows["why"]) == {"trained, not learned"}


def test_stars_are_the_first_token_after_against_the_mean_before(compared):
    stars = plot(compared.ours.about, "first").stars
    mine = stars[stars["objective"].eq("CoLA") & stars["panel"].eq(COORDINATION.name)].set_index("x")
    for layer in LAYERS:
        assert mine.at[layer, "value"] == pytest.approx(
            share_right(COLA, COORDINATION, "first", layer) - share_right(BASE, COORDINATION, "mean", layer)
        )
        assert mine.at[layer, "low"] <= mine.at[layer, "value"] <= mine.at[layer, "high"]
    assert plot(compared.ours.about, "mean").stars.empty


def test_figures_have_our_points_with_yardsticks(compared):
    accuracy = plot(compared.ours.about, "accuracy")
    assert len(accuracy.points) == len(TASKS) * 2 * (LAST + 1) and set(accuracy.levels["name"]) == {
        "majority",
        "surface",
    }
    entropy = plot(compared.ours.about, "entropy").points
    assert set(entropy["objective"]) == {"pre-training", "CoLA", "control"}
    mine = entropy[entropy["objective"] == "CoLA"].set_index("x")["value"]
    assert mine[LAST] == pytest.approx(planted_value(COLA, "entropy-first", LAST, 255))
    replaced = plot(compared.ours.about, "replaced")
    assert set(replaced.points["panel"]) == set(PUT_BACK.values()) and set(replaced.points["x"]) == set(LAYERS)
    cola = compared.ours.about.perplexities[compared.ours.about.perplexities["objective"] == "CoLA"]
    n0 = float(cola.loc[cola["replaced"] == "none", "perplexity"].iloc[0])
    points = replaced.points[replaced.points["objective"] == "CoLA"]
    assert (points.loc[points["x"] == 0, "value"] == n0).all() and (points["low"] <= points["value"]).all()
    assert set(plot(compared.ours.about, "epochs").points["x"]) == {0.0, 0.5, 1.0}


def test_settings_of_the_paper_are_next_to_those_of_our_objectives(compared):
    table = compared.tables["settings"].set_index("setting")
    assert table.at["Learning rate", "published"] == "2e-5"
    assert [table.at["Learning rate", one] for one in ("CoLA", "SST-2", "RTE")] == ["2e-05"] * 3
    assert table.at["Epochs", "SST-2"] == "1.0" and table.at["Learning rate schedule", "CoLA"] == "constant"


@pytest.fixture(scope="module")
def citation(repo_root):
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((repo_root / "CITATION.cff").read_text(encoding="utf-8"))


def names(authors: list[dict]) -> list[tuple[str, str]]:
    """Authors of the file as the references have them."""
    return [(one.get("given-names", ""), one.get("family-names") or one.get("alias") or one["name"]) for one in authors]


def entry(reference: Reference) -> dict[str, str]:
    """The fields of a BibTeX entry, read back."""
    return dict(re.findall(r"^  (\w+) = \{(.*)\},$", reference.bibtex, re.MULTILINE))


def test_the_citation_file_names_this_version_its_day_and_its_licence(citation):
    assert citation["cff-version"] == "1.2.0"
    assert (str(citation["version"]), str(citation["date-released"])) == (probing.__version__, RELEASED)
    assert (citation["title"], citation["license"]) == (SOFTWARE.title, SOFTWARE.field("license"))
    assert names(citation["authors"]) == list(SOFTWARE.authors)
    assert citation["message"]
