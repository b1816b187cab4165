"""Stored results in a notebook: a report holds what the command of the same name prints as JSON, and has its figure."""

import gc
import json
from contextlib import suppress

import duckdb
import numpy as np
import pandas as pd
import pytest

from probing.api.figures import FIGURES
from probing.api.results import REPORTS, Results
from probing.kernel.errors import FigureError, OptionError, ProbingError, StoreError
from probing.kernel.figures import theme
from probing.kernel.store.kinds import KINDS
from tests.pages.conftest import app_at
from tests.planted_relatives import BASE, COLA, SST_2
from tests.planted_store import PlantedRun, plant_runs

#: Filters that some figures need in the planted store.
DRAWN = {("edges", "labels"): {"task": "pos"}, ("forgetting", "falls"): {"k": 1}, ("forgetting", "outcome"): {"k": 1}}


def test_every_declared_figure_is_drawn_and_the_list_of_reports_says_which(results):
    listed = results.reports().set_index(["kind", "name"])
    assert set(listed.index[listed["figure"]]) == set(FIGURES) and len(listed) == sum(
        len(one.every) for one in REPORTS.values()
    )
    for kind, name in FIGURES:
        report = results.report(kind, name, **DRAWN.get((kind, name), {}))
        light, dark = (report.figure(dark=dark) for dark in (False, True))
        assert report.figure(width="text").layout.width == 6.75 * 96, (kind, name)
        assert light.data or light.layout.annotations, (kind, name)
        assert light.layout.font.color != dark.layout.font.color, (kind, name)
    with pytest.raises(FigureError, match=r"no page draws a figure of edges models; .* are facts precision"):
        results.report("edges", "models").figure()


def test_lines_are_the_values_of_the_table(results):
    precision = results.report("facts", "precision", model=COLA.name, k=1, average="macro")
    (line,) = [one for one in precision.figure().data if one.mode == "lines+markers"]
    assert list(line.x) == list(precision.table["layer"])
    assert list(line.y) == pytest.approx(list(precision.table["value"] * 100))
    assert repr(precision) == f"StoredReport('facts', 'precision', {len(precision.table)} rows)"
    assert f"<td>{COLA.name}</td>" in precision._repr_html_()


def test_half_of_the_lost_facts_are_at_most_the_median_margin_below_the_first_word(results):
    report = results.report("forgetting", "falls")
    margins = [float(np.interp(50, one.y, one.x)) for one in report.figure().data]
    assert sorted(margins) == pytest.approx(sorted(report.table["margin"]), abs=0.1)


def test_a_definition_keeps_the_forgotten_relations(results):
    report = results.report("facts", "forgotten", model=COLA.name, k=10, definition="caption")
    assert len(report.figure().data[0].z) == len(report.table["names"].iloc[0]) > 0
    (none,) = results.report("facts", "forgotten", model=BASE.name, definition="strict").figure().layout.annotations
    assert "has forgotten no relation" in none.text


def test_the_call_that_a_page_shows_draws_the_figure_of_the_page(results, snapshot, tmp_path, monkeypatch):
    monkeypatch.setenv("PROBING_SNAPSHOT", str(snapshot))
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path))
    app = app_at("compare", {"tuned": SST_2.name, "change_kind": "mean", "compare_tab": "beyond"})
    app.session_state["sentence-change.Save"] = True
    app.run()
    (call,) = [one.value.splitlines()[-1] for one in app.code if "probing.results().report" in one.value]
    (chart,) = [one for one in app.get("plotly_chart") if "sentence-change.figure" in str(one.proto.id)]
    drawn = eval(call.replace("probing.results()", "results"), {"results": results})
    assert theme.finished(drawn)["data"] == json.loads(chart.proto.spec)["data"]


def test_numbers_of_numpy_and_columns_of_pandas_are_filters_like_others(results):
    wanted = results.report("facts", "precision", model=[BASE.name], k=1).table
    assert results.report("facts", "precision", model=pd.Series([BASE.name]), k=np.int64(1)).table.equals(wanted)


def test_whatever_is_given_to_a_filter_is_used_or_refused_in_words(results, odd):
    for kind, reports in REPORTS.items():
        for one in reports.filters:
            with suppress(ProbingError):
                results.report(kind, (one.only or (reports.every[0].name,))[0], **{one.name: odd})
    with pytest.raises(ProbingError):
        Results(odd)


#: ``my-bert`` and ``loner`` have no tied heads; ``loner`` was probed on other facts.
MIXED = (
    PlantedRun(),
    PlantedRun(probe_set="common_sense"),
    PlantedRun(head="logit_lens"),
    PlantedRun(model="my-bert", head="logit_lens", rank=lambda number, layer: 1 + number),
    PlantedRun(model="loner", head="logit_lens", probe_set="questions"),
)


def test_a_named_model_without_the_usual_heads_has_a_line_and_any_two_models_a_flow(tmp_path):
    with Results(plant_runs(tmp_path / "runs", MIXED)) as found:
        report = found.report
        both = report("facts", "precision", model=["my-bert", "nesia-mini"], probe_set="trex").figure()
        assert {one.name for one in both.data if one.mode == "lines+markers"} == {"my-bert", "nesia-mini"}
        with pytest.raises(StoreError, match="no run on facts has model my-bert, head tied together"):
            report("facts", "precision", model=["my-bert", "nesia-mini"], head="tied").figure()
        flow = report("facts", "transitions", model="nesia-mini", base="my-bert", k=1)
        (row,) = flow.table.to_dict("records")
        assert (row["base"], row["head"], row["probe_set"]) == ("my-bert", "logit_lens", "trex") and flow.figure().data


def test_the_predictions_of_a_run_have_a_row_per_fact_and_layer(results):
    runs = results.runs
    (run_id,) = runs.loc[(runs["what"] == "facts") & (runs["model"] == COLA.name), "run_id"]
    rows = results.predictions(run_id)
    assert rows["layer"].tolist() == 10 * list(range(rows["layer"].max() + 1))
    last = rows[rows["layer"] == rows["layer"].max()]
    precision = results.report("facts", "precision", model=COLA.name, k=1, average="micro").table
    assert (last["rank"] == 1).mean() == pytest.approx(precision["value"].iloc[-1])
    with pytest.raises(OptionError, match="got run_id='0'; expected a run on facts"):
        results.predictions("0")


def test_models_and_runs_are_listed_and_shown(results):
    models = results.models.set_index("model")
    assert models.at[COLA.name, "base"] == BASE.name and models.at[COLA.name, "changes"]
    assert models.at[BASE.name, "heads"] == ("tied",) and models.at[BASE.name, "probe_sets"] == ("trex",)
    assert set(models.at["nesia-mini", "edge_tasks"]) == {"pos", "srl", "proto-roles"}
    assert results.runs["run_id"].is_unique and set(results.runs["what"]) == set(KINDS) == {*REPORTS, "carried"}
    assert f"{len(models)} models; heads: tied; probe sets: trex" in repr(results)
    assert results.fingerprint in repr(results) and f"<td>{COLA.name}</td>" in results._repr_html_()


def test_results_close_at_the_end_of_the_block_and_by_themselves(snapshot):
    with Results(snapshot) as found:
        pass
    assert repr(found) == "Results(closed)" and "closed" in found._repr_html_()
    with pytest.raises(StoreError, match=r"these results are closed; open them again with probing\.results\(\)"):
        found.report("facts", "precision")
    found = Results(snapshot)
    database = found.database
    del found
    gc.collect()
    with pytest.raises((duckdb.Error, StoreError)):
        database.query("SELECT 1")


def test_the_named_folders_are_opened_instead_of_the_usual_ones(tmp_path, monkeypatch):
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PROBING_SNAPSHOT", str(plant_runs(tmp_path / "usual", [PlantedRun()])))
    other = plant_runs(tmp_path / "other", [PlantedRun(model="other-bert")])
    with Results() as usual, Results([other]) as found, Results(str(other)) as again:
        assert set(usual.models["model"]) == {"nesia-mini"} and set(found.models["model"]) == {"other-bert"}
        assert found.fingerprint == again.fingerprint != usual.fingerprint
        assert found.report("edges", "summary").table.empty
        with pytest.raises(FigureError, match="no probes are stored; make some with: python -m probing edges train"):
            found.report("edges", "summary").figure()
