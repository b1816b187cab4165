"""The baselines in the caption of a curve."""

import pandas as pd

from probing.ui.widgets.captions import swapped_words


def points(**sizes: tuple[int, int | None]) -> pd.DataFrame:
    rows = [(run, layer, n, with_one) for run, (n, with_one) in sizes.items() for layer in (0, 1)]
    return pd.DataFrame(rows, columns=["run_id", "layer", "n", "swapped_n"]).astype({"swapped_n": "Int64"})


def test_the_caption_states_how_many_facts_have_a_swapped_subject():
    assert "27,750 of 32,095 facts have such a subject; the dotted lines count only these." in swapped_words(
        points(one=(32095, 27750), two=(32095, 27750))
    )
    assert "9 of 10, 4 of 5 facts" in swapped_words(points(one=(10, 9), two=(5, 4)))


def test_the_caption_states_that_the_swapped_subject_was_not_measured():
    assert swapped_words(points(compact=(10, None))) == "Swapped subject: not measured here."
    assert swapped_words(points(whole=(10, 9), compact=(10, None))).endswith("Not measured for 1 of the curves.")
