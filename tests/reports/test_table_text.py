"""Tables as text and as LaTeX."""

import numpy as np
import pandas as pd

from probing.reports.table_text import NO_ROWS, latex_table, text_table

TABLE = pd.DataFrame(
    {
        "model": ["nesia-mini", "50 % & more"],
        "P@1_x": [0.12345, np.nan],
        "p": [0.00012345, 1.0],
        "n": pd.array([12, None], dtype="Int64"),
        "layers": [(0, 1), None],
    }
)


def test_a_text_table_has_rounded_cells_in_columns_and_a_dash_where_nothing_was_measured():
    head, first, second = text_table(TABLE).splitlines()
    assert head.split() == ["model", "P@1_x", "p", "n", "layers"]
    assert first.split() == ["nesia-mini", "0.123", "0.0001234", "12", "[0,", "1]"]
    assert second.split() == ["50", "%", "&", "more", "-", "1.000", "-", "-"]
    assert len(head) == len(first) == len(second)


def test_long_cells_and_many_rows_are_written_whole():
    many = pd.DataFrame({"text": ["word " * 40] * 300, "wide" * 30: 1})
    lines = text_table(many).splitlines()
    assert len(lines) == 301 and "word " * 40 in lines[-1] and "..." not in lines[-1]


def test_a_latex_table_is_for_booktabs_and_its_text_is_escaped():
    awkward = pd.DataFrame({"a_b": ["& % $ # _ { } ~ ^ \\"], "p": [0.5]})
    assert latex_table(awkward).splitlines() == [
        r"\begin{tabular}{ll}",
        r"\toprule",
        r"a\_b & p \\",
        r"\midrule",
        r"\& \% \$ \# \_ \{ \} \textasciitilde \space \textasciicircum \space \textbackslash  & 0.500 \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_a_table_without_rows_has_its_columns():
    assert text_table(TABLE.head(0)).splitlines() == ["model P@1_x p n layers", NO_ROWS]
    assert latex_table(TABLE.head(0)).count(r"\\") == 1
