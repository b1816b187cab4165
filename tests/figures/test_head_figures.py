"""Figures of decoding heads: losses by layer, and points lost by model and kind."""

import pandas as pd
import pytest

from probing.core.head_kinds import HEADS
from probing.figures import theme
from probing.figures.knowledge.loss_points import loss_points

from .colours import colours_of

MODELS = ("nesia-mini-qa-squad-1", "nesia-mini-control")
COLOURS = colours_of("nesia-mini", *MODELS)


def lost(heads=("tied",), above: bool = True) -> pd.DataFrame:
    rows = []
    for place, model in enumerate(MODELS):
        for number, head in enumerate(heads):
            value, over = 0.2 - 0.1 * place, (0.15 - 0.1 * place - 0.01 * number) if above else None
            ends = {"lost_above": over, "lost_above_low": over and over - 0.02, "lost_above_high": over and over + 0.02}
            rows.append(
                {"model": model, "head": head, "lost": value, "lost_low": value - 0.01, "lost_high": value + 0.01}
                | ends
            )
    return pd.DataFrame(rows)


@pytest.mark.parametrize("heads", [("tied",), ("tied", "logit_lens"), HEADS])
def test_every_model_and_kind_has_its_two_points_with_their_intervals_and_no_two_share_a_row(heads):
    figure = loss_points(lost(heads), k=1, colours=COLOURS, controls=MODELS[1:])
    points = {trace.name: trace for trace in figure.data if trace.mode == "markers" and trace.hovertext}
    assert set(points) == {"lost", "lost beyond the blind guess"}
    for trace in points.values():
        assert len(trace.x) == len(set(trace.y)) == 2 * len(heads)
    assert sorted(points["lost"].x) == pytest.approx(sorted([20.0] * len(heads) + [10.0] * len(heads)))
    whiskers = [trace for trace in figure.data if trace.mode == "lines"]
    assert len(whiskers) == 4 * len(heads)
    low, high = figure.layout.yaxis.range[1], figure.layout.yaxis.range[0]
    assert all(low < y < high for trace in points.values() for y in trace.y)
    # Colour is the model's where one kind is shown, else the kind's.
    wanted = {COLOURS[model] for model in MODELS} if len(heads) == 1 else {theme.head_colour(head) for head in heads}
    assert set(points["lost"].marker.color) == wanted


def test_without_a_swapped_subject_only_the_whole_loss_is_drawn():
    figure = loss_points(lost(above=False), k=1, colours=COLOURS)
    assert {trace.name for trace in figure.data if trace.mode == "markers"} == {"lost"}
