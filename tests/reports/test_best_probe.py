"""Which of a task's probes is the best, and which speaks for a model on *Live, Sentence*."""

import pandas as pd

from probing.core.sentences.example import FIRST, MEAN
from probing.reports.sentences.best_probes import best_predicting, best_probes, best_read

CELLS = [(FIRST, 0), (FIRST, 1), (MEAN, 0), (MEAN, 1)]
MINE = pd.DataFrame(CELLS, columns=["pooling", "layer"], index=[10, 11, 12, 13]).assign(
    model="m", task="t", accuracy=[0.5, 0.62, 0.6, 0.61]
)


def test_the_best_probe_is_chosen_on_development_sentences():
    stored = MINE.assign(dev_right=[5, 6, 8, 8])
    assert best_predicting(MINE, stored) == 12, (
        "the lowest of equal layers, though another has more of the test sentences"
    )
    assert list(best_probes(MINE.assign(dev_right=8)).index) == [10], "of the equal layers the first token"


def test_without_results_or_with_those_of_other_probes_it_is_chosen_on_test_sentences():
    stored = MINE.assign(dev_right=[5, 6, 8, 8])
    assert best_predicting(MINE, stored.iloc[:0]) == 11
    assert best_predicting(MINE, stored.assign(accuracy=stored["accuracy"] - 0.1)) == 11


def test_groups_keep_their_order_and_a_property_is_read_above_both_baselines():
    late, early = (
        MINE.assign(task=task, dev_right=right) for task, right in (("z", [1, 2, 3, 4]), ("a", [4, 3, 2, 1]))
    )
    table = pd.concat([late, early], ignore_index=True).assign(low=0.6, majority=0.5, surface=[0.5] * 4 + [0.7] * 4)
    best = best_read(table)
    assert list(best["task"]) == ["z", "a"] and list(best["layer"]) == [1, 0] and list(best["read"]) == [True, False]
    assert best_read(table.assign(accuracy=float("nan"))).empty
