"""Every declared report has the same rows in every form, and every command takes the same options of form."""

import csv
import io
import json

import pytest

from probing.reports.declarations import KINDS
from probing.store.opening import open_database
from tests.api.stored_results import plant_all
from tests.planted_relatives import COLA

REPORTS = [report for kind in KINDS.values() for report in kind.every]
COMMANDS = {"knowledge": ("report",), **{kind: (kind, "report") for kind in KINDS if kind != "knowledge"}}
#: Report -> what it is asked for, if it needs a name.
GIVEN = {("knowledge", "facts"): {"model": COLA.name}, ("forgetting", "facts"): {"model": COLA.name}}


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory):
    return plant_all(tmp_path_factory.mktemp("reports"))


@pytest.fixture(scope="module")
def tables(snapshot):
    """(Kind, report) -> its frame."""
    with open_database(snapshot) as db:
        yield {
            (one.kind, one.name): KINDS[one.kind].table(
                db, KINDS[one.kind].choose(one.name, GIVEN.get((one.kind, one.name)))
            )
            for one in REPORTS
        }


@pytest.mark.parametrize("report", REPORTS, ids=lambda one: f"{one.kind}-{one.name}")
def test_a_report_has_the_same_rows_in_every_form(tables, report):
    table = tables[report.kind, report.name]
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
    assert len(lines) == 1 + len(table) + note
    assert latex[0].startswith(r"\begin{tabular}{l") and latex[-1] == r"\end{tabular}" and len(latex) == len(table) + 6
    columns = latex[2].removesuffix(r" \\").replace(r"\_", "_").split(" & ")
    assert set(lines[0].split()) <= set(columns) and latex[0].count("l") - "begin{tabular}".count("l") == len(columns)
    assert all(line.count(" & ") == len(columns) - 1 for line in latex[4:-2])


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """A folder with nothing stored in ``snapshot``."""
    folder = tmp_path_factory.mktemp("empty")
    (folder / "snapshot").mkdir()
    return folder


@pytest.mark.parametrize("report", [one for one in REPORTS if not one.needs], ids=lambda one: f"{one.kind}-{one.name}")
def test_an_empty_store_reports_nothing(empty, monkeypatch, run, report):
    monkeypatch.setenv("PROBING_SNAPSHOT", str(empty / "snapshot"))
    monkeypatch.setenv("PROBING_CACHE", str(empty / "cache"))
    assert "no rows" in run(*COMMANDS[report.kind], report.name).stdout
    reports = KINDS[report.kind]
    with open_database(empty / "snapshot") as db:
        found, _ = reports.written(db, reports.choose(report.name), "json")
    assert json.loads(found) == ({name: [] for name in reports.together} if report.name in reports.together else [])


def test_a_report_takes_every_form_by_two_options_and_is_written_to_a_file(snapshot, monkeypatch, run, tmp_path):
    monkeypatch.setenv("PROBING_SNAPSHOT", str(snapshot))
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    words = ("report", "tasks")
    for form in ("csv", "latex", "json"):
        assert run(*words, "--as", form).stdout == run(*words, f"--{form}").stdout != ""
    assert run(*words).stdout == run(*words, "--as", "text").stdout
    assert "give one of them" in run(*words, "--json", "--as", "csv", code=2).output
    assert "expected one of text, csv, latex, json" in run(*words, "--as", "xml", code=2).output
    path = tmp_path / "deep" / "report.json"
    run(*words, "--json", "--out", path)
    assert path.read_text(encoding="utf-8") == run(*words, "--json").stdout


@pytest.mark.parametrize("kind", KINDS)
def test_a_filter_is_refused_by_the_reports_that_do_not_have_it(kind):
    for one in (one for one in KINDS[kind].filters if one.only):
        for report in (report for report in KINDS[kind].every if report.name not in one.only):
            with pytest.raises(Exception, match="reports that have it: " + ", ".join(one.only)):
                KINDS[kind].choose(report.name, {one.name: True if one.of is bool else (one.known or ("x",))[0]})
