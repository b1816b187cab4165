"""Few facts give no baseline: the rule, and a report's table under it."""

import math

import pandas as pd
import pytest

from probing.core.stats.baselines import MIN_FACTS, may_be_shown
from probing.reports.shown_baselines import COLUMNS, shown_baselines


@pytest.mark.parametrize(("facts", "shown"), [(0, False), (2, False), (49, False), (50, True), (32_095, True), (math.nan, False)])
def test_a_baseline_needs_fifty_facts(facts, shown):
    assert may_be_shown(facts) is shown and MIN_FACTS == 50


def test_a_table_keeps_the_baselines_of_enough_facts_and_every_other_number():
    table = pd.DataFrame({"n": [49, 50], "value": [0.5, 0.25], "swapped": [0.125, 0.0], **{name: [0.75, 0.75] for name in COLUMNS}})
    shown = shown_baselines(table)
    assert shown[list(COLUMNS)].isna().all(axis=1).tolist() == [True, False]
    others = ["n", "value", "swapped"]
    assert shown[others].equals(table[others]) and shown.loc[1].equals(table.loc[1])
    assert table.notna().all(axis=None), "the table that is given stays unchanged"


def test_a_table_without_baselines_or_numbers_of_facts_is_the_same():
    for table in (pd.DataFrame({"n": [1], "value": [0.5]}), pd.DataFrame({"majority": [0.5]})):
        assert shown_baselines(table) is table
