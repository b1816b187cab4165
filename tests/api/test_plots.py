"""Figures of stored results: their values, and the call that a page shows."""

import json

import numpy as np
import pandas as pd
import pytest

from probing.core.errors import FigureError, OptionError, StoreError
from tests.pages.conftest import app_at
from tests.planted_relatives import BASE, COLA, CONTROL, SST_2


def shown(figure: dict) -> tuple:
    """What of a figure does not come from its paper."""
    axes = {name: axis for name, axis in figure["layout"].items() if name[1:].startswith("axis")}
    return figure["data"], {
        name: (axis.get("title", {}).get("text"), axis.get("ticktext")) for name, axis in axes.items()
    }


def content(figure) -> tuple:
    return shown(json.loads(figure.to_json()))


def test_the_call_that_a_page_shows_draws_the_figure_of_the_page(results, snapshot, tmp_path, monkeypatch):
    monkeypatch.setenv("PROBING_SNAPSHOT", str(snapshot))
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path))
    app = app_at("compare", {"tuned": SST_2.name, "change_kind": "mean", "compare_tab": "beyond"})
    app.session_state["sentence-change.Save"] = True
    app.run()
    (call,) = [one.value.splitlines()[-1] for one in app.code if "probing.results().plot." in one.value]
    (chart,) = [one for one in app.get("plotly_chart") if "sentence-change.figure" in str(one.proto.id)]
    assert content(eval(call.replace("probing.results()", "results"), {"results": results})) == shown(
        json.loads(chart.proto.spec)
    )


def test_lines_are_the_values_of_the_frame(results):
    table = results.curve(model=COLA.name, k=1, average="macro")
    (line,) = [one for one in results.plot.curve(model=COLA.name).data if one.mode == "lines+markers"]
    assert list(line.x) == list(table["layer"]) and list(line.y) == pytest.approx(list(table["value"] * 100))
    few = results.plot.curve(model=COLA.name, layer=[1, 2])
    assert {layer for one in few.data if one.mode == "lines+markers" for layer in one.x} == {1, 2}


def test_half_of_the_lost_facts_are_at_most_the_median_margin_below_the_first_word(results):
    table = results.forgetting("falls").set_index("model")
    traces = results.plot.forgetting("falls").data
    assert [len(table)] * 2 == [len(traces), len({one.name for one in traces})]
    margins = [float(np.interp(50, one.y, one.x)) for one in sorted(traces, key=lambda one: one.name)]
    assert sorted(margins) == pytest.approx(sorted(table["margin"]), abs=0.1)
    assert len(results.plot.forgetting("falls", model=COLA.name).data) == 1


def test_a_definition_keeps_the_forgotten_relations(results):
    (names,) = results.forgotten(model=COLA.name, k=10, definition="caption")["names"]
    assert len(results.plot.forgotten(model=COLA.name, k=10, definition="caption").data[0].z) == len(names) > 0
    (none,) = results.plot.forgotten(model=BASE.name, definition="strict").layout.annotations
    assert "has forgotten no relation" in none.text


def test_the_grid_of_a_fact_shows_what_its_frame_says(results):
    fact_id = results.facts(COLA.name, part="still_inside").loc[0, "fact_id"]
    table = results.fact(fact_id, model=COLA.name)
    figure = results.plot.fact(fact_id, model=COLA.name)
    right, words = figure.data[1:3]
    best = [token for place, (token, _) in zip(words.x, words.customdata, strict=True) if place == 1]
    assert best == list(table["token"])
    assert (right.z == 1).sum() >= (table["gold_rank"] == 1).sum()


def test_a_dark_figure_has_light_text_and_dark_cells(results):
    light, dark = results.plot.curve(), results.plot.curve(dark=True)
    assert light.layout.font.color != dark.layout.font.color and content(light) == content(dark)
    assert dark.layout.template.layout.paper_bgcolor != light.layout.template.layout.paper_bgcolor
    fact_id = results.facts(limit=1).loc[0, "fact_id"]
    assert results.plot.fact(fact_id).data[0].colorscale != results.plot.fact(fact_id, dark=True).data[0].colorscale


def test_measures_choose_the_panels_of_what_fine_tuning_changed(results):
    def panels(figure) -> list[str]:
        return [one.text for one in figure.layout.annotations if one.name == "panel"]

    assert [text.split("<br>")[0] for text in panels(results.plot.changes("perplexity", model=COLA.name))] == [
        "<b>Perplexity with the base's layers put back</b>"
    ]
    (likeness,) = panels(results.plot.changes(model=COLA.name, measure="cka-mean"))
    assert "CKA, mean" in likeness and "same token" not in likeness


@pytest.mark.parametrize(
    ("draw", "error", "words"),
    [
        (lambda p: p.curve(k=[1, 10]), FigureError, r"got k=\[1, 10\]; only one k can be shown here"),
        (lambda p: p.curve(model="bert"), StoreError, "no run with model='bert'"),
        (lambda p: p.curve(k=3), OptionError, "expected one of 1, 10, 100"),
        (lambda p: p.transitions(model=BASE.name), FigureError, "no fine-tuned model of this selection"),
        (lambda p: p.facts(text="nothing like it"), FigureError, "no fact passes these filters"),
        (lambda p: p.edges("models"), FigureError, r"no figure of models; use the table, edges\('models'\)"),
        (
            lambda p: p.edges("scores", kind="full"),
            FigureError,
            "got kind='full'; the figure shows cumulative or at probes",
        ),
        (lambda p: p.sentences(reading="mlp"), FigureError, "leave reading out"),
        (
            lambda p: p.sentences("changes", model=BASE.name),
            FigureError,
            f"{BASE.name} has no stored base; name a fine-tuned one",
        ),
        (
            lambda p: p.sentences(model=[one.name for one in (BASE, COLA, SST_2, CONTROL)] + ["x"]),
            OptionError,
            "no probes of the model",
        ),
        (lambda p: p.changes(model=BASE.name), OptionError, f"got model {BASE.name}; fine-tuned models are"),
        (lambda p: p.changes(model=COLA.name, head="full"), OptionError, "got head full; .* have tied"),
    ],
)
def test_what_a_figure_cannot_show_names_the_argument_to_narrow(results, draw, error, words):
    with pytest.raises(error, match=words):
        draw(results.plot)


def test_too_many_models_for_a_panel_are_refused(results):
    models = list(pd.unique(results.sentences()["model"]))
    assert len(models) > 4
    with pytest.raises(
        FigureError, match=f"got {len(models)} values of model; the figure shows at most 4: narrow model"
    ):
        results.plot.sentences(model=models)
