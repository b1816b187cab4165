"""Figures of what fine-tuning changed, and of decoding heads: panels with one cursor, fates, drift, losses by kind of
head.
"""

import json
from typing import Any

import pandas as pd
import pytest

from probing.changes.figures import evidence_panels
from probing.finetuning.report_evidence import EVIDENCE_COLUMNS
from probing.kernel.figures import theme
from probing.sentences.figures_changes import FATE_COLOURS, fate_bars
from probing.sentences.numbers import AS_BEFORE, FATES, NOT_FOUND
from tests.kernel.colours import colours_of

BASE, TUNED, CONTROL = "nesia-mini", "nesia-mini-qa-squad-1", "nesia-mini-control"
COLOURS = colours_of(BASE, TUNED, CONTROL)
LOOKS: dict[str, Any] = {"names": (TUNED, BASE, CONTROL), "colours": (COLOURS[TUNED], COLOURS[BASE])}


def evidence(panels=("facts", "probe:bigram-shift", "perplexity", "likeness")) -> pd.DataFrame:
    lines = {
        "probe": ("first", "mean"),
        "perplexity": ("none", "last", "first", "single"),
        "likeness": ("cka-mean", "cka-first"),
    }
    rows = [
        {
            "panel": panel,
            "line": line,
            "layer": layer,
            "value": value,
            "low": value * 0.9,
            "high": value * 1.1,
            "base_value": value / 2,
        }
        | {
            "control_value": value * 0.8,
            "seed_low": value * 0.95,
            "seed_high": value * 1.05,
            "seeds": 3,
            "inside_control": layer == 2,
        }
        for panel in panels
        for line in lines.get(panel.split(":")[0], ("",))
        for layer in range(1, 9)
        for value in [(1 if panel != "perplexity" else 100) * (0.1 + 0.1 * layer)]
    ]
    return pd.DataFrame(rows).reindex(columns=list(EVIDENCE_COLUMNS))


def test_a_point_inside_the_controls_change_is_grey_and_says_what_it_is_held_against():
    figure = evidence_panels(evidence(("facts",)), **LOOKS)
    (line,) = [trace for trace in figure.data if trace.mode == "lines+markers" and trace.x[0] is not None]
    assert list(line.marker.color) == [theme.NEUTRAL if layer == 2 else COLOURS[TUNED] for layer in range(1, 9)]
    assert list(line.y) == pytest.approx([100 * (0.1 + 0.1 * layer) for layer in range(1, 9)])
    assert line.hovertext[0] == "layer 1: 20.0 % (control 16.0 %)"
    assert list(line.error_y.array) == pytest.approx([0.05 * y for y in line.y]) and not line.error_y.symmetric
    legend = {trace.name for trace in figure.data if trace.showlegend}
    assert legend == {TUNED, CONTROL, "no more than the control"}


def test_every_fate_has_a_colour_of_its_own_and_bars_are_as_long_as_all_cells():
    assert list(FATE_COLOURS) == list(FATES) and len(set(FATE_COLOURS.values())) == len(FATES)
    rows = [
        {"task": "t", "pooling": pooling, "fate": fate, "cells": n, "of": 4, "share": n / 4}
        for pooling in ("first", "mean")
        for fate, n in zip(FATES, (1, 0, 0, 3, 0), strict=True)
    ]
    figure = fate_bars(pd.DataFrame(rows), titles={"t": "<i>T"})
    assert [bar.name.replace("<br>", " ") for bar in figure.data] == [AS_BEFORE, NOT_FOUND], (
        "fates without a cell have no swatch"
    )
    assert sum(bar.x[0] for bar in figure.data) == 100 and list(figure.data[1].text) == ["3", "3"]
    assert "&lt;i&gt;T" in figure.layout.yaxis.ticktext[0]
    assert "beat the commonest answer nowhere" in json.dumps(
        fate_bars(pd.DataFrame(rows).assign(of=0)).to_dict(), default=str
    )
