"""Figures of what fine-tuning changed: panels with one cursor, each point held against the control."""

from typing import Any

import pandas as pd
import pytest

from probing.changes.figures import evidence_panels
from probing.compared.report_evidence import EVIDENCE_COLUMNS
from probing.kernel.figures import theme
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


def test_a_mean_over_tasks_says_over_how_many():
    figure = evidence_panels(evidence(("edges",)).assign(of="entities, relations"), **LOOKS)
    assert "mean over 2 tasks" in figure.layout.annotations[0].text
