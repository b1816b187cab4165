"""The benchmarks of edge probing: slices have the tasks' shape, and two sides that differ are an error."""

import numpy as np
import pytest

from probing.core.errors import ProbingError
from probing.models.edges.recipe import EdgeRecipe
from probing.models.edges.states import word_states
from probing.models.encoders.load import load_encoder
from tests.models import tiny_models
from tests.speed import edges
from tests.speed.edge_slices import SIZES, sentences

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("fault", ["", "labels"])
def test_trainings_that_are_not_the_authors_end_the_benchmark(fault, tmp_path, monkeypatch):
    monkeypatch.setattr(edges, "EQUAL_STEPS", 30)
    encoder = load_encoder(tiny_models.save("bert", tmp_path / "bert"), device="cpu")
    size = SIZES[2]
    part = size.part([words[:5] for words in sentences(40)], 130)
    states = word_states(part.records, encoder, tmp_path / "states")
    monkeypatch.setattr(edges, "EdgeRecipe", lambda **more: EdgeRecipe(width=16, learning_rate=0.02, **more))
    if fault:
        real = edges.part_arrays

        def other(*given):
            arrays = real(*given)
            arrays.gold[:] = np.roll(arrays.gold, 1, axis=2)
            return arrays

        monkeypatch.setattr(edges, "part_arrays", other)
    task = edges._Task(size, part, part, states)
    if fault:
        with pytest.raises(ProbingError, match="two sides differ"):
            edges._equal_ways(task, encoder)
    else:
        assert "within" in edges._equal_ways(task, encoder)
