"""Lines of ranks of several models and words."""

import pandas as pd

from probing.figures.tokens.rank_lines import rank_lines

LINES = pd.DataFrame(
    {
        "name": ["a · x"] * 3 + ["a · y"] * 3 + ["b · x"] * 3,
        "layer": [0, 1, 2] * 3,
        "rank": [1.0, 7, 5, 90, 3, 3, 4, 2, 9],
    }
)
COLOURS = {"a · x": "#111111", "a · y": "#111111", "b · x": "#222222"}


def test_one_colour_is_one_marker_and_words_differ_in_their_dashes():
    figure = rank_lines(LINES, colours=COLOURS, dashes={"a · y": "dot"})
    assert [line.marker.symbol for line in figure.data] == ["circle", "circle", "square"]
    assert [line.line.dash for line in figure.data] == ["solid", "dot", "solid"]


def test_rings_stand_at_the_first_of_the_best_transformer_layers():
    ring = rank_lines(LINES, best=True).data[-1]
    assert ring.name == "best layer"
    # Rank 1 of the embeddings does not count.
    assert sorted(zip(ring.x, ring.y, strict=True)) == [(1, 2), (1, 3), (2, 5)]
