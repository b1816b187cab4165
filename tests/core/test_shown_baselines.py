"""Few facts give no baseline in a report's table."""

import pandas as pd

from probing.reports.shown_baselines import COLUMNS, shown_baselines


def test_a_table_keeps_the_baselines_of_enough_facts_and_every_other_number():
    table = pd.DataFrame(
        {"n": [49, 50], "value": [0.5, 0.25], "swapped": [0.125, 0.0], **{name: [0.75, 0.75] for name in COLUMNS}}
    )
    shown = shown_baselines(table)
    assert shown[list(COLUMNS)].isna().all(axis=1).tolist() == [True, False]
    others = ["n", "value", "swapped"]
    assert shown[others].equals(table[others]) and shown.loc[1].equals(table.loc[1])
    assert table.notna().all(axis=None), "the table that is given stays unchanged"


def test_a_table_without_baselines_or_numbers_of_facts_is_the_same():
    for table in (pd.DataFrame({"n": [1], "value": [0.5]}), pd.DataFrame({"majority": [0.5]})):
        assert shown_baselines(table) is table
