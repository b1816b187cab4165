"""Figures of sentence probes and of a sentence that is asked live: accuracy by layer, changes and learning curves."""

import itertools

import numpy as np
import pandas as pd
import pytest

from probing.changes.figures_attention import attention_map, head_map
from probing.sentences.figures import layer_panels
from probing.sentences.figures_changes import change_map, drawn_cells
from tests.kernel.colours import colours_of

BASE, TUNED, CONTROL = "nesia-mini", "nesia-mini-qa-squad-1", "nesia-mini-control"
COLOURS = colours_of(BASE, TUNED, CONTROL)
TASKS = {"bigram-shift": "Bigram shift", "tree-depth": "Tree depth", "mine": "<b>mine</b>"}
LAYERS = 9


def accuracies() -> pd.DataFrame:
    rows = []
    for task, model, pooling, layer in itertools.product(TASKS, (BASE, TUNED), ("first", "mean"), range(LAYERS)):
        share, siblings = 0.5 + layer / 50 + (0.03 if pooling == "mean" else 0), model == TUNED
        rows.append(
            {"model": model, "task": task, "pooling": pooling, "layer": layer, "portion": 1}
            | {"accuracy": share, "low": share - 0.02, "high": share + 0.02, "majority": 0.5, "surface": 0.55}
            | {"n_train": 1600, "n_test": 600, "seeds": 3 if siblings else 1}
            | {"seed_low": share - 0.01 if siblings else None, "seed_high": share + 0.03 if siblings else None}
        )
    return pd.DataFrame(rows).astype({"seed_low": "float64", "seed_high": "float64"})


def changes(layers: int = LAYERS) -> pd.DataFrame:
    rows = []
    for task in TASKS:
        for pooling in ("first", "mean"):
            for layer in range(layers):
                change = -0.01 * layer if pooling == "first" else 0.002 * layer
                rows.append(
                    {
                        "task": task,
                        "pooling": pooling,
                        "layer": layer,
                        "base_accuracy": 0.7,
                        "accuracy": 0.7 + change,
                        "change": change,
                        "low": change - 0.01,
                        "high": change + 0.01,
                        "p": 0.01,
                        "q": 0.04 if layer > 3 else 0.5,
                        "family": 54,
                        "mean_change": change - 0.02,
                        "mean_q": 0.01 if layer > 1 else 0.2,
                        "control_change": -0.045,
                        "inside_control": abs(change) <= 0.045,
                        "seed_low": change,
                        "seed_high": change,
                    }
                )
    return pd.DataFrame(rows)


def traces(figure, name: str) -> list:
    return [trace for trace in figure.data if trace.name == name and trace.x is not None and trace.x[0] is not None]


def cells_of(figure) -> dict[tuple, dict]:
    """(task, pooling, layer) -> the text of a map's cell."""
    return {
        tuple(place): {"text": trace.text[number], "hover": trace.hovertext[number], "colour": trace.textfont.color}
        for trace in figure.data
        if trace.customdata is not None
        for number, place in enumerate(trace.customdata)
    }


def panels(figure) -> list[str]:
    return [note.text.split("<b>", 1)[1].split("</b>")[0] for note in figure.layout.annotations if note.name == "title"]


def test_whiskers_are_the_seeds_and_only_where_there_are_several():
    figure = layer_panels(accuracies(), colours=COLOURS, titles=TASKS)
    (line, *_) = traces(figure, f"{TUNED}, first token")
    assert list(line.error_y.array) == pytest.approx([3.0] * LAYERS) and list(line.error_y.arrayminus) == pytest.approx(
        [1.0] * LAYERS
    )
    assert "3 seeds of fine-tuning" in line.hovertext[0]
    (alone, *_) = traces(figure, f"{BASE}, first token")
    assert alone.error_y.array is None and "seeds" not in alone.hovertext[0]


def test_a_cell_counts_where_it_is_significant_and_outside_the_controls_change():
    cells = drawn_cells(changes(), "first")
    assert set(cells.loc[cells["counts"], "layer"]) == {5, 6, 7, 8}, (
        "layer 4 is significant, and inside the control's change"
    )
    assert not drawn_cells(changes(), "mean")["counts"].any()
    against_mean = drawn_cells(changes(), "base-mean")
    assert set(against_mean["pooling"]) == {"first"} and set(against_mean.loc[against_mean["counts"], "layer"]) == {
        2,
        3,
        4,
        5,
        6,
        7,
        8,
    }


def test_every_cell_carries_its_number_its_place_and_what_it_is_held_against():
    figure = change_map(changes(), titles=TASKS, model="QA ✗", base=BASE)
    one = cells_of(figure)["bigram-shift", "first", 8]
    assert one["text"] == "−8.0" and len(cells_of(figure)) == 3 * LAYERS
    assert all(words in one["hover"] for words in ("control: -4.5 points", "q = 0.04", "McNemar p = 0.01"))
    deep = change_map(changes(layers=25), titles=TASKS)
    assert deep.data[-1].mode == "markers", "no room for numbers"


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
