"""The benchmarks can be run, on small slices."""

import inspect
from importlib import import_module

import numpy as np
import pytest

from probing.kernel.errors import ProbingError
from tests import gpu
from tests.speed.__main__ import PARTS

pytestmark = pytest.mark.slow


def test_every_part_of_bench_can_be_imported_and_measured():
    """Without this, code that the benchmarks use could be renamed unnoticed until someone measures."""
    for part in PARTS:
        assert inspect.signature(import_module(f"tests.speed.{part}").measure).bind(quick=True), part


def test_the_script_for_a_gpu_finds_the_cpu_equal_to_itself_and_a_planted_slip(capsys, cache, monkeypatch):
    gpu.main("cpu", small=True)
    shown = capsys.readouterr().out
    ranks = [line for line in shown.splitlines() if line.count("|") == 6 and line[2:6] in ("prob", "Ask,", "cand")]
    assert len([line for line in ranks if line.endswith("| 100.000% | 0 | 0 |")]) == 6
    assert shown.count("fill-mask") >= 7 and "differ:" not in shown
    monkeypatch.setattr(gpu.Report, "timed", lambda *_: None)
    scores, turned = gpu.candidates.scores, iter((1, -1) * 2)
    slipped = lambda *asked: [one[:, ::by] for by in [next(turned)] for one in scores(*asked)]  # noqa: E731
    monkeypatch.setattr(gpu.candidates, "scores", slipped)
    with pytest.raises(ProbingError, match="differ by more than near scores allow"):
        gpu.main("cpu", small=True)


def test_ranks_may_differ_between_near_scores_alone():
    low, high = gpu.between(np.array([[3.0, 2.0 + gpu.NEAR / 2, 2.0, 1.0]]), np.array([[2.0]]))
    report, own = gpu.Report(), np.array([3])
    for there in (2, 3, 4):
        report.ranked("one", own, np.array([there]), low, high)
        assert report.wrong == (there == 4), there


def test_without_cuda_the_script_says_so(monkeypatch):
    monkeypatch.setattr(gpu.torch.cuda, "is_available", lambda: False)
    with pytest.raises(ProbingError, match="no CUDA device, so nothing is measured"):
        gpu.main()
