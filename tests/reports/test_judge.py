"""The judge of claims, on planted quantities and on the shipped results."""

import math
from dataclasses import fields
from pathlib import Path

import pandas as pd
import pytest
from scipy.stats import binomtest

from probing.core.claims import Check, Claim
from probing.core.errors import PublishedError
from probing.core.knowledge.published import PublishedKnowledge
from probing.core.sentences.published import PublishedSentences
from probing.reports.report import Filter, Report, Reports
from probing.reports.reproduction import judge as judging
from probing.reports.reproduction.judge import (
    FAILS,
    HOLDS,
    UNSURE,
    UNTESTED,
    Interval,
    Subject,
    apart,
    claims_frame,
    judge,
    share,
    verdict,
)
from probing.reports.reproduction.papers import PAPERS
from probing.reports.reproduction.tiles import counts, missing, tiles
from probing.store.opening import open_database
from probing.ui.frame import selection
from probing.ui.frame.navigation import PAGES
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
}
SUBJECT = Subject(
    {"base": "base", "TUNED": "tuned", "GUESSER": "guesser", "UNDEFINED": "undefined", "CONTROL": "control"}
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
            Report("planted", "numbers", "", lambda db, choice: table),
            Report("planted", "pairs", "", lambda db, choice: paired),
        ),
        (Filter("model"),),
        lambda db, choice: None,
    )
    monkeypatch.setattr(judging, "KINDS", {"planted": reports})
    monkeypatch.setattr(
        judging, "learned", lambda db, models: pd.DataFrame({"model": ["guesser"], "verdict": ["not learned"]})
    )

    def judged(**check):
        claim = Claim(
            name="a claim",
            says="It is so.",
            where="Section 1",
            shown={"page": "home"},
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


def test_a_yardstick_stands_beside_a_comparison_and_does_not_decide(planted):
    named = {"for_each": {"probe_set": ("trex", "google_re")}, "where": {"layer": 12}, "first": {"model": "TUNED"}}
    alone, found = planted(**named), planted(**named, beside={"model": "CONTROL"})
    assert found.verdict == alone.verdict and alone.compared["beside"].isna().all()
    # 0.45 - 0.50 on T-REx; the control was not asked the other set, which is nobody's fault.
    assert found.compared["beside"].iloc[0] == pytest.approx(-0.05) and math.isnan(found.compared["beside"].iloc[1])
    assert found.compared["missing"].tolist() == ["", ""]


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


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"report": "planted nothing"}, "nothing"),
        ({"report": "unheard numbers"}, "unheard"),
        ({"columns": ("value", "low", "upper")}, "upper"),
        ({"where": {**rows(), "colour": "red"}}, "colour"),
        ({"where": {"probe_set": "trex"}, "first": {"model": "TUNED"}}, "2 rows"),
    ],
)
def test_a_check_on_what_no_report_has_is_refused_by_name(planted, wrong, named):
    with pytest.raises(PublishedError, match=named):
        planted(**{"where": rows(), **wrong})


def test_without_results_only_checks_have_a_verdict():
    claims = PublishedKnowledge.read().claims
    found = judge(None, claims, None)
    assert {one.verdict for one in found if one.claim.check} == {UNTESTED}
    assert {one.verdict for one in found if not one.claim.check} == {""}


def test_shipped_claims_about_facts_have_the_numbers_of_the_counts(repo_root: Path):
    models = {
        name: f"nesia-mini-{name.lower()}"
        for name in ("QA-SQuAD-1", "QA-SQuAD-2", "MLM-SQuAD", "MLM-MSMARCO", "NER-CoNLL")
    }
    with open_database(SNAPSHOT) as db:
        found = judge(
            db, PublishedKnowledge.read().claims, Subject({"base": "nesia-mini"} | models, ({"head": "tied"},))
        )
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
    assert (row["verdict"], bool(row["paired"])) == (HOLDS, False)


def test_shipped_claims_about_sentences_are_as_the_numbers_say(repo_root: Path):
    models = {name: f"nesia-mini-{name.lower()}" for name in ("CoLA", "SST-2", "RTE", "QA-SQuAD-1")}
    with open_database(SNAPSHOT) as db:
        found = judge(
            db, PublishedSentences.read().claims, Subject({"base": "nesia-mini"} | models, ({"protocol": "ours"},))
        )
    named = {one.claim.name: one for one in found}
    assert named["rte improves coordination"].verdict == UNTESTED
    stored = pd.read_parquet(repo_root / "data" / "snapshot" / "perplexity.parquet")
    runs = pd.read_parquet(repo_root / "data" / "snapshot" / "change_runs.parquet").set_index("model")["run_id"]
    whole = stored[stored["replaced"] == "none"].set_index("run_id")
    values = [
        math.exp(whole.at[runs[one], "cross_entropy"] / whole.at[runs[one], "masked"])
        for one in ("nesia-mini", models["CoLA"], models["SST-2"])
    ]
    rises = named["perplexity rises"]
    assert rises.verdict == HOLDS
    assert rises.compared["first"].astype(float).tolist() == pytest.approx(values[:2])
    assert rises.compared["second"].astype(float).tolist() == pytest.approx(values[1:])
    # The entropy of the first token falls in the last layers, surely and everywhere.
    entropy = named["entropy of the first token rises"]
    assert entropy.verdict == FAILS
    assert (entropy.compared["difference_high"].astype(float) < 0).all()


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


def test_a_tile_says_both_sides_and_why_a_claim_is_undecided(planted):
    failed = planted(
        first={"model": "base", "probe_set": "trex"},
        second={"model": "TUNED", "probe_set": "trex"},
        where={"layer": 12},
    )
    undecided = planted(for_each={"model": ("TUNED", "GUESSER")}, where={"probe_set": "trex", "layer": 12})
    table = tiles([failed, undecided])
    assert list(table["verdict"]) == [FAILS, "undecided"] and counts(table) == (0, 1, 1)
    assert "GUESSER" in table["reason"][1] and "1 holds" in table["reason"][1] and "TUNED" in table["here"][1]


def test_a_tile_names_the_layer_of_ours_and_what_is_missing(planted):
    # Layer 6 of the paper's 12 is layer 4 of our 8.
    found = planted(
        for_each={"layer": (6,)}, where={"probe_set": "trex"}, first={"model": "base"}, second={"model": "TUNED"}
    )
    assert "(layer 4 of 8)" in tiles([found])["here"].item()
    told = planted(for_each={"model": ("GUESSER", "OTHER"), "probe_set": ("trex", "squad")}, where={"layer": 12})
    assert missing(told) == "OTHER, and a model that learned GUESSER, and the paper's facts of SQuAD"
    assert missing(planted(where=rows(), for_each={"probe_set": ("trex", "squad")})) == "the paper's facts of SQuAD"
