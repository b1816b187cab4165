"""Numbers that are made of counts: every report is made once for each state of the data and each choice."""

from typing import Any

import pandas as pd
import streamlit as st

from probing.reports.knowledge.answer_drift import answer_drift
from probing.reports.knowledge.early_exit import early_exit
from probing.reports.knowledge.forgotten import forgotten, relation_forgetting
from probing.reports.knowledge.paired import paired_by_layer
from probing.reports.knowledge.precision import precision_by_relation
from probing.reports.knowledge.transitions import transitions, transitions_by_relation
from probing.store.database import Database
from probing.ui.frame.page import View

_REPORTS = {
    function.__name__: function
    for function in (
        answer_drift, early_exit, forgotten, relation_forgetting, paired_by_layer, precision_by_relation, transitions,
        transitions_by_relation,
    )
}  # fmt: skip


def report(view: View, name: str, **parameters: Any) -> pd.DataFrame:
    """A report of ``probing.reports`` under the page's filters, cached for this state of the data.

    Args:
        view: the page's view; its exposures and "answer in subject" go to the report.
        name: name of the report's function.
        parameters: its other arguments after the database; tuples, not lists.
    """
    assert view.results is not None
    filtered = {"exposures": view.exposures, "answer_in_subject": view.in_subject, **parameters}
    return _made(view.results.data_version, name, tuple(sorted(filtered.items())), view.results.database)


@st.cache_data(max_entries=200, show_spinner="Counting …")
def _made(data_version: str, name: str, parameters: tuple, _database: Database) -> pd.DataFrame:
    return _REPORTS[name](_database, **dict(parameters))
