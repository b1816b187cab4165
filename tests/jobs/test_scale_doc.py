"""The hours in docs/scale.md follow from the measurements in the same document."""

import re
from pathlib import Path

import pytest

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "scale.md").read_text(encoding="utf-8")


def figure(name: str) -> float:
    (found,) = re.findall(rf"^\| `{name}`: .*\| ([\d.,]+) \|$", TEXT, re.MULTILINE)
    return float(found.replace(",", ""))


def test_the_hours_are_those_of_the_formula():
    models, facts = 7, 52_364
    assert "(M = 7) on 52,364 facts" in TEXT
    rows = [
        [float(cell) for cell in row]
        for row in re.findall(r"^\| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", TEXT, re.MULTILINE)
    ]
    assert [row[0] for row in rows] == [1, 4, 16]
    for workers, probing, training, together in rows:
        assert probing == pytest.approx(
            models * facts * (2 / figure("logit_lens") + 1 / figure("full")) / 3600 / workers, abs=0.051
        )
        assert training == pytest.approx(
            models * figure("B") / 8 * 2 * figure("eight") * 13 / 12 / 3600 / workers, abs=0.051
        )
        assert together == pytest.approx(probing + training, abs=0.101)
