"""Figures of edge probing: scores, places, bars, curves, order, traces and spans that are chosen live."""

import numpy as np
import pandas as pd
import plotly.io as pio
import pytest

from probing.edges.figures import NOT_RESOLVED, YARDSTICKS, order_matrix, place_rows, score_rows
from probing.edges.figures_layers import layer_bars
from probing.edges.figures_spans import COLOURS, span_bars, trace_bars
from probing.edges.report_panels import label_rows, panel_rows, said_rows
from probing.edges.words import SpanTrace
from tests.kernel.colours import colours_of

MODELS = ("nesia-mini", "nesia-mini-qa-squad-1")
EDGE_COLOURS = colours_of(*MODELS)
PAPER = "BERT-large (published)"
TASKS = ("pos", "entities", "relations")
TITLES = {"pos": "part of speech"}
LAST = {**dict.fromkeys(MODELS, 8), PAPER: 24}


def summary() -> pd.DataFrame:
    rows = []
    for place, task in enumerate(TASKS):
        for model in (*MODELS, PAPER):
            ours, resolved = model != PAPER, (task, model) != ("relations", MODELS[1])
            rows.append(
                {
                    "row": task,
                    "model": model,
                    "last": LAST[model],
                    "f1_first": 0.5 + place / 10,
                    "f1_last": 0.6 + place / 10,
                    "f1_last_low": 0.58 + place / 10 if ours else None,
                    "f1_last_high": 0.62 + place / 10 if ours else None,
                    "memory": 0.4 if ours else None,
                    "majority": 0.1 if ours else None,
                    "ceiling": 0.95 if ours else None,
                    "random": 0.45 if ours else None,
                    "centre_of_gravity": 4.0 if ours else None,
                    "expected_layer": 2.0 + place if resolved else None,
                    "expected_layer_low": 1.5 + place if ours and resolved else None,
                    "expected_layer_high": 2.5 + place if ours and resolved else None,
                }
            )
    return pd.DataFrame(rows)


def named(figure, name: str):
    return [trace for trace in figure.data if trace.name == name]


def test_every_f1_stands_in_the_row_of_its_yardsticks():
    table = summary()
    figure = score_rows(table, colours=EDGE_COLOURS, titles=TITLES)
    for model in MODELS:
        (last,) = [trace for trace in named(figure, model) if trace.mode == "markers"]
        assert list(last.x) == pytest.approx([60.0, 70.0, 80.0]) and last.marker.color == EDGE_COLOURS[model]
        (first,) = named(figure, f"{model}: P(0)")
        assert list(first.x) == pytest.approx([50.0, 60.0, 70.0]) and list(first.y) == list(last.y)
        assert list(last.error_x.array) == pytest.approx([2.0] * 3)
    ours = sorted(y for model in MODELS for trace in named(figure, model) for y in trace.y)
    for name, _ in YARDSTICKS.values():
        (marks,) = [trace for trace in named(figure, name) if trace.x[0] is not None]
        assert sorted(marks.y) == ours, name
    assert figure.layout.yaxis.ticktext[0] == "part of speech"


def test_an_expected_layer_that_is_not_resolved_is_said_and_not_drawn():
    figure = place_rows(summary(), colours=EDGE_COLOURS)
    (words,) = named(figure, f"{MODELS[1]}: {NOT_RESOLVED}")
    assert list(words.text) == [NOT_RESOLVED]
    marked = summary().assign(
        expected_layer_reason="already at layer 0", weights_near_uniform=[True, *[False] * 7, None]
    )
    figure = place_rows(marked, colours=EDGE_COLOURS)
    (words,) = named(figure, f"{MODELS[1]}: {NOT_RESOLVED}")
    assert list(words.text) == [NOT_RESOLVED]
    opacities = [list(named(figure, model)[0].marker.opacity) for model in MODELS]
    assert opacities[0][0] < 0.5 and opacities[0][1:] == [1.0] * 2 and opacities[1] == [1.0] * 3
    (expected,) = named(figure, f"{MODELS[1]}: expected layer")
    assert list(expected.x) == [2.0, 3.0]
    (centre,) = named(figure, MODELS[1])
    assert list(centre.x) == [4.0] * 3 and NOT_RESOLVED in centre.hovertext[2]


def bars(weights: bool = True, gains: bool = True) -> pd.DataFrame:
    gain = [np.nan, 0.06, 0.03, -0.01]
    rows = [
        {
            "task": task,
            "layer": layer,
            "weight": [0.1, 0.2, 0.4, 0.3][layer] if weights else None,
            "normed": 0.25,
            "gain": gain[layer] if gains else None,
        }
        for task in TASKS
        for layer in range(4)
    ]
    return pd.DataFrame(rows)


def test_weights_are_solid_gains_outlined_and_each_is_a_share_of_its_largest():
    figure = layer_bars(bars(), colour=EDGE_COLOURS[MODELS[0]], titles=TITLES, notes={"pos": " · K(s) 0.10"})
    solid, outlined = figure.data[:2]
    assert list(solid.y) == pytest.approx([0.25, 0.5, 1.0, 0.75]) and solid.marker.color == EDGE_COLOURS[MODELS[0]]
    assert list(outlined.y)[1:] == pytest.approx([1.0, 0.5, -1 / 6]) and list(outlined.customdata)[1:] == pytest.approx(
        [6, 3, -1]
    )
    assert outlined.marker.color == "rgba(0,0,0,0)" and len(figure.data) == 6
    assert figure.layout.annotations[0].text == "part of speech · K(s) 0.10"
    assert {trace.name for trace in layer_bars(bars(), colour="#000000", weights="normed").data} == {
        "mixing weight × norm",
        "gain in F1",
    }


def test_an_order_is_read_from_both_sides_and_an_unresolved_one_has_no_side():
    pairs = pd.DataFrame(
        [
            ("pos", "entities", "earlier", -1.0, -1.5, -0.5),
            ("pos", "relations", "order not resolved", -0.2, -1.0, 0.6),
            ("entities", "relations", "later", 0.9, 0.1, 1.7),
        ],
        columns=["first", "second", "verdict", "difference", "low", "high"],
    )
    heat, unknown = order_matrix(pairs, titles=TITLES).data
    assert [list(line) for line in heat.text] == [["", "◀", ""], ["▶", "", "▶"], ["", "◀", ""]]
    assert list(zip(unknown.x, unknown.y, unknown.text, strict=True)) == [(2, 0, "?"), (0, 2, "?")]
    assert "difference +1.00 layers<br>interval +0.50 to +1.50" in heat.hovertext[1][0]
    assert heat.hovertext[0][2].startswith("part of speech and relations: order not resolved")


def test_a_trace_shows_the_right_label_upwards_and_the_best_wrong_one_downwards():
    rows = [
        {
            "panel": panel,
            "title": "entities: Toronto",
            "gold": "ORG",
            "wrong": "GPE",
            "layer": layer,
            "p_gold": layer / 4,
            "p_wrong": 1 - layer / 4,
            "sigmoid_gold": 0.5,
            "sigmoid_wrong": 0.4,
            "right": layer > 2,
            "settled": settled,
        }
        for panel, settled in (("a", 3), ("b", None))
        for layer in range(4)
    ]
    figure = trace_bars(pd.DataFrame(rows))
    right, wrong = named(figure, "right label")[0], named(figure, "best wrong label")[0]
    assert list(right.y) == pytest.approx([0, 0.25, 0.5, 0.75]) and list(wrong.y) == pytest.approx(
        [-1, -0.75, -0.5, -0.25]
    )
    settled = [shape for shape in figure.layout.shapes if shape.type == "line"]
    assert [shape.x0 for shape in settled] == [2.5], "only the first panel has a settled layer"
    texts = [note.text for note in figure.layout.annotations]
    assert len(texts) == 2 and all(
        text.startswith("entities: Toronto") and "ORG" in text and "GPE" in text for text in texts
    )


WORDS = ("<b>he</b>", "smoked", "toronto")


@pytest.fixture(scope="module")
def traces() -> list[SpanTrace]:
    random = np.random.default_rng(0)
    labels = ("LOC", "ORG", "<i>PER</i>", "a_label_that_is_longer_than_a_telephone")
    return [
        SpanTrace("entities", "Entities", ((0, 1),), labels, random.random((9, 4)) * 0.4, (0.5,) * 9),
        SpanTrace("proto-roles", "Proto-roles", ((1, 2), (2, 3)), labels, random.random((9, 4)), (0.5,) * 9),
    ]


def test_every_task_has_a_row_with_three_labels_whose_bars_are_their_shares(traces):
    rows = panel_rows(WORDS, traces)
    figure = span_bars(rows)
    assert len(figure.data) == 6 and {bar.marker.color for bar in figure.data} == set(COLOURS)
    for trace, drawn in zip(traces, (figure.data[:3], figure.data[3:]), strict=True):
        values = trace.p if trace.several else trace.shares
        for number, bar in zip(trace.distinguished(3), drawn, strict=True):
            assert list(bar.x) == list(range(9))
            np.testing.assert_allclose(bar.y, values[:, number])
            np.testing.assert_allclose([p for p, _ in bar.customdata], trace.p[:, number])


def test_a_line_marks_the_layer_from_which_the_answer_stays(traces):
    lines = [shape.x0 for shape in span_bars(panel_rows(WORDS, traces)).layout.shapes if shape.type == "line"]
    assert lines == [trace.settled - 0.5 for trace in traces if trace.settled]


def test_words_and_labels_are_text(traces):
    shown = pio.to_json(span_bars(panel_rows(WORDS, traces)))
    assert "<i>PER" not in shown and "<b>he</b>" not in shown and "&lt;i&gt;PER" in shown
    for note in span_bars(panel_rows(WORDS, traces)).layout.annotations:
        assert all(len(line) < 260 for line in note.text.split("<br>"))


def test_the_tables_have_every_label_and_what_the_last_layer_says(traces):
    found = label_rows("tiny", traces)
    assert len(found) == 2 * 9 * 4 and set(found["span2"]) == {"", "2:3"}
    np.testing.assert_allclose(found.groupby(["task", "layer"])["share"].sum(), 1)
    said = said_rows(WORDS, "tiny", traces, {})
    assert list(said["settled"]) == [trace.settled for trace in traces] and list(said["its p"]) == [
        trace.p[-1].max() for trace in traces
    ]
    assert list(said["words"]) == ["<b>he</b>", "smoked (predicate) / toronto (argument)"] and said["F1"].eq(0.5).all()
