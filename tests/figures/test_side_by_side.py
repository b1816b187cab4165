"""Figures that lay models, sentences or numbers of replaced layers side by side."""

import pandas as pd

from probing.figures.tokens.entropy import entropy_lines
from probing.figures.tokens.rank_lines import rank_lines
from probing.figures.tokens.token_grid import ROW, token_grid

TOKENS = pd.DataFrame({"layer": [0, 0, 1, 1], "place": [1, 2, 1, 2], "token": list("abcd"), "probability": [0.5, 0.2, 0.4, 0.1]})
LINES = pd.DataFrame(
    {"name": ["a · x"] * 3 + ["a · y"] * 3 + ["b · x"] * 3, "layer": [0, 1, 2] * 3, "rank": [1.0, 7, 5, 90, 3, 3, 4, 2, 9]}
)
COLOURS = {"a · x": "#111111", "a · y": "#111111", "b · x": "#222222"}


def test_rows_of_a_grid_can_be_sentences_from_top_to_bottom():
    figure = token_grid(TOKENS, rows=["as typed", "negated"])
    assert list(figure.layout.yaxis.ticktext) == ["as typed", "negated"]
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]
    assert "layer" not in figure.data[1].hovertemplate


def test_columns_of_a_grid_can_be_models():
    figure = token_grid(TOKENS, names=["one-model", "another"])
    assert [name.replace("<br>", "") for name in figure.layout.xaxis.ticktext] == ["one-model", "another"]
    assert tuple(figure.layout.xaxis.range) == (0.5, 2.5)


def test_a_grid_of_two_rows_has_room_for_its_words():
    few, many = token_grid(TOKENS), token_grid(pd.concat([TOKENS, TOKENS.assign(layer=[8, 8, 7, 7])]))
    assert (many.layout.height - few.layout.height) / 7 == ROW


def test_one_colour_is_one_marker_and_words_differ_in_their_dashes():
    figure = rank_lines(LINES, colours=COLOURS, dashes={"a · y": "dot"})
    assert [line.marker.symbol for line in figure.data] == ["circle", "circle", "square"]
    assert [line.line.dash for line in figure.data] == ["solid", "dot", "solid"]


def test_rings_stand_at_the_first_of_the_best_transformer_layers():
    ring = rank_lines(LINES, best=True).data[-1]
    assert ring.name == "best layer"
    # Rank 1 of the embeddings does not count.
    assert sorted(zip(ring.x, ring.y, strict=True)) == [(1, 2), (1, 3), (2, 5)]


def test_an_axis_that_counts_replaced_layers_says_so_and_has_no_embeddings():
    figure = rank_lines(LINES, steps="last n layers put back to base")
    assert figure.layout.xaxis.title.text == "last n layers put back to base"
    assert not figure.layout.xaxis.ticktext
    assert "replaced" in figure.data[0].hovertemplate


def test_entropies_of_several_models_are_lines_in_their_colours():
    figure = entropy_lines(LINES.rename(columns={"rank": "entropy"}), colours=COLOURS)
    assert [line.line.color for line in figure.data] == ["#111111", "#111111", "#222222"]
    assert figure.layout.yaxis.title.text == "entropy, nats"
    assert not entropy_lines(LINES.iloc[:0].assign(entropy=[]), colours={}).data
