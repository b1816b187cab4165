"""The figure of spans that are chosen live."""

import numpy as np
import plotly.io as pio
import pytest

from probing.core.edges.traces import SpanTrace
from probing.figures.edges.span_bars import COLOURS, span_bars
from probing.reports.edges.span_answers import label_rows, panel_rows, said_rows

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
