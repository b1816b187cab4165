"""Reports print what they return, in every form, and every command takes the same options."""

import csv
import io
import json
import re
import shutil
from dataclasses import replace

import pandas as pd
import pytest
from pandas.api.types import is_bool, is_number

from probing.facts.forgotten import FATES
from probing.forgetting.ways import LINE
from probing.kernel.errors import StoreError
from probing.kernel.store.opening import open_database
from probing.subjects import REPORTS as KINDS
from tests import carried_planted, planted_relatives
from tests.api.stored_results import plant_all
from tests.facts.planted_forgetting import BASE, EXPOSURE, FACTS, MODEL, RUNS
from tests.planted_relatives import COLA, LAYERS
from tests.planted_store import SEVERAL_ANSWERS, PlantedRun, plant_runs
from tests.series_planted import PlantedSeries, plant_series


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """A store with the planted pair on T-REx and one further run on another probe set."""
    folder = tmp_path_factory.mktemp("planted")
    plant_runs(folder / "snapshot", [*RUNS, PlantedRun(probe_set="questions", layers=5)], EXPOSURE)
    return folder


@pytest.fixture()
def folders(at, planted):
    """That store, to be read only."""
    return at(planted)


@pytest.fixture()
def growing(at, planted, tmp_path):
    """A copy of it, which takes further runs."""
    shutil.copytree(planted / "snapshot", tmp_path / "snapshot")
    return at(tmp_path)


def test_precision_says_its_interval_and_baselines_and_null_where_none_was_measured(growing, run):
    plant_runs(growing / "snapshot" / "more", [PlantedRun(model="other-bert")])
    one = ("report", "precision", "--k", "1", "--average", "macro")
    rows = json.loads(run(*one, "--json").stdout)
    assert all(row["low"] <= row["value"] <= row["high"] and 0 <= row["majority"] <= 1 for row in rows)
    # The planted facts of the pair all have the same answer, and questions have no subject: nothing can be swapped.
    assert {(row["model"], row["probe_set"], row["swapped_n"]) for row in rows} == {
        ("other-bert", "trex", 10),
        (BASE.model, "trex", None),
        (MODEL.model, "trex", None),
        (BASE.model, "questions", None),
    }
    assert all((row["swapped"] is None) == (row["swapped_n"] is None) for row in rows)
    assert all(row["majority"] is None for row in json.loads(run("report", "precision", "--k", "10", "--json").stdout))
    table = list(csv.DictReader(io.StringIO(run(*one, "--csv").stdout)))
    assert [float(row["swapped"]) if row["swapped"] else None for row in table] == [row["swapped"] for row in rows]
    caption, *lines = run(*one).stdout.splitlines()
    assert caption == "head tied, seed 0, k 1, average macro"
    assert lines[0].split() == ["model", "probe_set", "layer", "n", "value", "low", "high", "swapped"]
    assert {len(line.split()) for line in lines} == {8} and max(map(len, lines)) < 120
    assert any(line.endswith(" -") for line in lines)


def test_json_holds_the_planted_transitions(folders, run):
    (row,) = json.loads(run("report", "transitions", "--k", "1", "--json").stdout)
    assert (row["base"], row["model"], row["head"], row["seed"], row["probe_set"], row["k"]) == (
        "nesia-mini",
        "nesia-mini-qa-squad-1",
        "tied",
        0,
        "trex",
        1,
    )
    assert [row[name] for name in ("kept", "gained", "lost", "never")] == [7, 3, 17, 19]
    assert [row[name] for name in FATES] == [4, 3, 5, 3, 2]


def test_a_long_table_for_a_paper_names_the_filters_that_narrow_it(folders, run):
    whole = run("report", "precision", "--latex").stderr
    assert (
        whole.startswith("note: ") and f"--model ({BASE.model}, {MODEL.model})" in whole and "--k (1, 10, 100)" in whole
    )
    assert "--head" not in whole and "--probe-set (questions, trex)" in whole
    one = ("report", "precision", "--model", MODEL.model, "--k", "1", "--average", "micro")
    assert not run(*one, "--latex").stderr and not run("report", "precision").stderr


def lost_by_hand() -> set[tuple]:
    """The planted facts that the model lost at rank 1: their names, both ranks at the last layer, and their fate."""
    lost = [one for one in FACTS if one.truth(1) in FATES]
    return {(one.fact.relation, one.fact.subject, one.case.base[-1], one.case.model[-1], one.truth(1)) for one in lost}


def test_the_facts_themselves_are_those_that_were_planted_with_both_ranks_and_answers(folders, run):
    rows = json.loads(run("report", "facts", "--model", MODEL.model, "--lost", "--json").stdout)
    assert {
        (row["relation"], row["subject"], row["base_rank"], row["rank"], row["fate"]) for row in rows
    } == lost_by_hand()
    assert len(rows) == 17 and {(row["base"], row["model"], row["head"], row["k"], row["part"]) for row in rows} == {
        (BASE.model, MODEL.model, "tied", 1, "lost")
    }
    # The base has the right answer first, the model has another token there.
    assert {row["base_answer"] for row in rows} == {"paris"} and "paris" not in {row["answer"] for row in rows}
    assert all(row["object"] == "paris" and row["prompt"] and 0 < row["base_probability"] <= 1 for row in rows)
    for option, truth in (("--kept", "kept"), ("--gained", "gained")):
        shown = json.loads(run("report", "facts", "--model", MODEL.model, option, "--k", "10", "--json").stdout)
        assert sorted(row["subject"] for row in shown) == sorted(
            one.fact.subject for one in FACTS if one.truth(10) == truth
        )


def test_the_listed_facts_are_as_many_as_the_page_counts_in_every_form(folders, run):
    counted = {
        row["k"]: row for row in json.loads(run("report", "transitions", "--model", MODEL.model, "--json").stdout)
    }
    words = ("report", "facts", "--model", MODEL.model, "--k", "1", "--k", "10", "--k", "100")
    rows = json.loads(run(*words, "--json").stdout)
    for k, row in counted.items():
        for part in ("kept", "lost", "gained"):
            assert sum((one["k"], one["part"]) == (k, part) for one in rows) == row[part]
    assert [{key: str(value) for key, value in row.items() if value is not None} for row in rows[:20]] == [
        {key: value for key, value in row.items() if value}
        for row in list(csv.DictReader(io.StringIO(run(*words, "--csv").stdout)))[:20]
    ]
    text, latex = (
        run("report", "facts", "--model", MODEL.model, "--lost", *form).stdout.splitlines()
        for form in ((), ("--latex",))
    )
    assert len(text) == 2 + 17 and len(latex) == 1 + 17 + 6
    assert "part lost" in text[0] and "object paris" in text[0]
    assert text[1].split() == ["relation", "subject", "rank", "fate"]
    assert run(*words).stdout.splitlines()[1].split()[0] == "k", "rows of several k state theirs"


def test_any_two_models_are_compared_fact_by_fact_and_what_cannot_be_is_named(growing, run):
    rows = json.loads(run("report", "facts", "--model", BASE.model, "--base", MODEL.model, "--gained", "--json").stdout)
    assert {(row["relation"], row["subject"]) for row in rows} == {
        (relation, subject) for relation, subject, *_ in lost_by_hand()
    }
    with pytest.raises(StoreError, match=r"nesia-mini has no stored base; .*--base"):
        run("report", "facts", "--model", BASE.model, "--lost")
    with pytest.raises(StoreError, match="no run with --base nobody"):
        run("report", "facts", "--model", MODEL.model, "--base", "nobody")
    with pytest.raises(StoreError, match="no such run with the same head and probe set"):
        run("report", "facts", "--model", MODEL.model, "--probe-set", "questions")
    plant_runs(growing / "snapshot" / "twin", [replace(MODEL, model="twin", base="")], EXPOSURE)
    assert "none of the facts" in run("report", "facts", "--model", MODEL.model, "--base", "twin", "--lost").stdout
    for words, expected in (
        (("facts",), "name exactly one (--model)"),
        (("total", "--lost"), "got --lost"),
        (("total", "--base", BASE.model), "got --base"),
    ):
        assert expected in run("report", *words, code=2).output


REPORTS = [(kind, one) for kind, reports in KINDS.items() for one in reports.every]
COMMANDS = {kind: ("report",) if kind == "facts" else (kind, "report") for kind in KINDS}
#: Report -> what it is asked for, if it needs a name.
GIVEN = {("facts", "facts"): {"model": COLA.name}, ("forgetting", "facts"): {"model": COLA.name}}


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory):
    return plant_all(tmp_path_factory.mktemp("reports"))


@pytest.fixture(scope="module")
def tables(snapshot, tmp_path_factory):
    """(Kind, report) -> its frame."""
    several = tmp_path_factory.mktemp("several")
    lens = {"head": "logit_lens", "layers": len(LAYERS), "facts": tuple(carried_planted.FACTS), "swapped": False}
    base_name = planted_relatives.BASE.name
    lost = PlantedRun(COLA.name, base=base_name, rank=lambda number, layer: 2, **lens)
    base = PlantedRun(base_name, rank=lambda number, layer: 1, **lens)
    plant_runs(several, [PlantedRun(model="several", facts=SEVERAL_ANSWERS), base, lost])
    plant_series(several, [PlantedSeries(COLA, LINE, facts=False)])
    with open_database(snapshot, several) as db:
        yield {
            (kind, one.name): KINDS[kind].table(db, KINDS[kind].choose(one.name, GIVEN.get((kind, one.name))))
            for kind, one in REPORTS
        }


@pytest.mark.parametrize(("kind", "report"), REPORTS, ids=[f"{kind}-{one.name}" for kind, one in REPORTS])
def test_a_report_has_the_same_rows_in_every_form(tables, kind, report):
    table = tables[kind, report.name]
    assert len(table)
    rows = list(csv.DictReader(io.StringIO(report.written(table, "csv"))))
    found = json.loads(report.written(table, "json"))
    assert len(rows) == len(table) and len(found) == len(report.json_table(table))
    assert all(list(row) == list(found[0]) and set(row) <= set(table.columns) for row in found)
    if len(found) == len(rows):
        for name in set(found[0]) & set(rows[0]):
            for one, other in zip(found, rows, strict=True):
                if isinstance(one[name], float | int) and not isinstance(one[name], bool):
                    assert float(other[name]) == one[name]
    lines, latex = report.written(table, "text").splitlines(), report.written(table, "latex").splitlines()
    note = len(report.note(table).splitlines()) if report.note else 0
    shared = latex.pop(0).removeprefix(r"% \caption{").removesuffix("}") if latex[0].startswith("%") else ""
    assert len(lines) - bool(report.latex) <= 1 + len(table) + note + bool(shared) <= len(lines) + bool(report.latex)
    assert latex[-1] == r"\end{tabular}" and len(latex) == len(table) + 6
    kinds = re.fullmatch(r"\\begin\{tabular\}\{([lr]+)\}", latex[0])[1]
    columns = latex[2].removesuffix(r" \\").replace(r"\_", "_").split(" & ")
    assert len(kinds) == len(columns) and all(line.count(" & ") == len(columns) - 1 for line in latex[4:-2])
    # Whatever is printed of a result has its interval beside it.
    assert not {"low", "high"} & set(table.columns) - set(columns)
    for name, kind in zip(columns, kinds, strict=True):
        cells = [one for one in table[name] if isinstance(one, tuple) or pd.notna(one)]
        assert not cells or (kind == "r") == all(is_number(one) and not is_bool(one) for one in cells), name
        same = len(table) > 1 and table[name].map(str).nunique() == 1
        assert not same or name.endswith(("value", "low", "high"))
    for name in (one.split()[0].replace(r"\_", "_") for one in shared.split(", ") if one):
        assert table[name].map(str).nunique() == 1


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """A folder with nothing stored in ``snapshot``."""
    folder = tmp_path_factory.mktemp("empty")
    (folder / "snapshot").mkdir()
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_store_reports_nothing(empty, monkeypatch, run, kind):
    monkeypatch.setenv("PROBING_SNAPSHOT", str(empty / "snapshot"))
    monkeypatch.setenv("PROBING_CACHE", str(empty / "cache"))
    reports = KINDS[kind]
    names = [one.name for one in reports.every if not one.needs]
    with open_database(empty / "snapshot") as db:
        for name in names:
            found, _ = reports.written(db, reports.choose(name), "json")
            assert json.loads(found) == ({one: [] for one in reports.together} if name in reports.together else [])
    assert "no rows" in run(*COMMANDS[kind], names[0]).stdout
