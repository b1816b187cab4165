"""100 facts in whole numbers, and the losses of relations."""

import numpy as np
import pandas as pd
import pytest

from probing.core.forgetting.ways import BACK, GAINED, LAYERS_BACK, OUTCOMES
from probing.core.stats.whole_shares import whole_shares
from probing.reports.forgetting.hundred import hundred

NOTHING = pd.DataFrame(columns=["way", "level", "protocol", "yardstick", "share", "yardstick_share"])


@pytest.mark.parametrize("seed", range(20))
def test_whole_shares_add_up_and_are_next_to_the_exact_ones(seed):
    sizes = [*np.random.default_rng(seed).integers(0, 10 ** (seed % 6), 7).tolist(), 1]
    shares = whole_shares(sizes)
    assert sum(shares) == 100
    assert np.abs(np.array(shares) - 100 * np.array(sizes) / sum(sizes)).max() < 1


def test_every_outcome_is_in_one_part_and_what_was_gained_is_beside_them():
    sizes = [234, 286, 15, 35, 104, 219, 107]
    outcome = pd.DataFrame(
        {"part": OUTCOMES, "n": sizes, "note": ["no layers" if one == LAYERS_BACK else "" for one in OUTCOMES]}
    )
    table = hundred(outcome, pd.DataFrame({"way": []}), NOTHING, (20, 1000))
    of = table.set_index("part")
    assert of.loc[of["kind"] != GAINED, "of_100"].sum() == 100 and of.loc[of["kind"] != GAINED, "n"].sum() == sum(sizes)
    assert of.loc["another layer", "n"] == 301 and of.loc[GAINED, "of_100"] == 2
    assert not of.loc[of["kind"] == BACK, "shown"].any(), "without a test no way counts as more than a guess"
    assert of.loc[LAYERS_BACK, "note"] == "no layers"
