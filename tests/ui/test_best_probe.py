"""Which of a task's probes speaks for a model on *Live, Sentence*."""

import pandas as pd

from probing.core.sentences.example import FIRST, MEAN
from probing.ui.live.sentence.said import _best

CELLS = [(FIRST, 0), (FIRST, 1), (MEAN, 0), (MEAN, 1)]
MINE = pd.DataFrame(CELLS, columns=["pooling", "layer"], index=[10, 11, 12, 13]).assign(accuracy=[0.5, 0.62, 0.6, 0.61])


def test_the_best_probe_is_chosen_on_development_sentences_as_on_sentence_probes():
    stored = MINE.assign(dev_right=[5, 6, 8, 8])
    assert _best(MINE, stored) == 12, "the lowest of equal layers, though another has more of the test sentences"


def test_without_results_or_with_those_of_other_probes_it_is_chosen_on_test_sentences():
    stored = MINE.assign(dev_right=[5, 6, 8, 8])
    assert _best(MINE, stored.iloc[:0]) == 11
    assert _best(MINE, stored.assign(accuracy=stored["accuracy"] - 0.1)) == 11
