"""The figures of a sentence that is asked live."""

import numpy as np
import pandas as pd

from probing.figures.tokens.attention_map import attention_map, head_map
from probing.figures.tokens.attention_panels import attention_panels
from probing.figures.tokens.verdict_map import verdict_map


def test_a_token_is_a_row_and_its_markup_is_text():
    shares = np.array([[0.7, 0.3], [0.1, 0.9]])
    figure = attention_map(shares, ["<b>", "x"], maximum=0.9, marked=1)
    np.testing.assert_allclose(np.array(figure.data[0].z), shares.T)
    assert list(figure.data[0].x) == [1, 2] and figure.layout.yaxis.ticktext == ("&lt;b&gt;", "<b>x</b>")


def test_a_click_on_a_head_gives_its_number():
    figure = head_map(np.array([[1.0, 2.0], [3.0, 4.0]]), what="distance", unit="tokens", maximum=4, marked=0)
    points = figure.data[1]
    assert [(x, y, own[0]) for x, y, own in zip(points.x, points.y, points.customdata, strict=True)] == [
        (1, 1, 1),
        (2, 1, 1),
        (1, 2, 2),
        (2, 2, 2),
    ]
    assert points.text[1] == "3.00 tokens"


def test_each_measure_that_is_there_has_a_panel_and_equal_attention_its_line():
    rows = [("tiny", measure, layer, 0.1 * layer) for measure in ("entropy", "first", "self") for layer in (1, 2)]
    values = pd.DataFrame(rows, columns=["name", "measure", "layer", "value"])
    figure = attention_panels(values, colours={}, dashes={}, yardsticks={"entropy": 2.0})
    assert [note.text for note in figure.layout.annotations] == [
        "entropy, nats",
        "share on the first token",
        "share on itself",
    ]
    equal = [trace for trace in figure.data if trace.name == "equal attention"]
    assert len(equal) == 1 and set(equal[0].y) == {2.0}


def test_tasks_of_one_title_have_rows_of_their_own_and_probes_at_chance_are_grey():
    rows = [
        (task, "Same title", pooling, layer, "no", 0, 0.75, 2, layer == 0, "words")
        for task in ("one", "two")
        for pooling in ("first", "mean")
        for layer in (0, 1)
    ]
    names = ["task", "title", "pooling", "layer", "label", "number", "p", "classes", "chance", "hover"]
    figure = verdict_map(pd.DataFrame(rows, columns=names))
    grey, label, text = figure.data
    assert grey.colorscale[0][1] == grey.colorscale[1][1]
    assert [[cell is not None for cell in row] for row in grey.z] == [[True, False]] * 4
    assert [row[1] for row in label.z] == [0.5] * 4 and set(text.text) == {"no<br>75"}
