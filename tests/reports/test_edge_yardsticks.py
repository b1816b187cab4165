"""The yardsticks of a task, recomputed from what was planted."""

import numpy as np
import pytest

from probing.reports.edges.summary import baselines
from probing.reports.edges.yardsticks import yardsticks
from probing.store.edges.queries import edge_labels, edge_tasks
from probing.store.opening import open_database
from tests.edges_planted import TASKS, plant_edges


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    with open_database(plant_edges(tmp_path_factory.mktemp("edges"))) as opened:
        yield opened


def test_memory_and_the_share_of_the_commonest_label_are_those_of_the_stored_data(db):
    found = yardsticks(db)
    assert set(found) == {task.name for task in TASKS}
    labels, tasks, scores = edge_labels(db), edge_tasks(db), baselines(db, "dev")
    for name, one in found.items():
        mine = labels[labels["task"] == name]
        targets = tasks[(tasks["task"] == name) & (tasks["part"] == "train")]["targets"].item()
        assert one.memory == scores[name, "memory"]
        assert one.label == min(mine[mine["n"] == mine["n"].max()]["name"])
        assert np.isclose(one.share, mine["n"].max() / targets)
