"""Definitions, provenance, licences, differences from the papers."""

import streamlit as st

from probing.ui.frame import page
from probing.ui.methods import citing, explained, yardsticks

view = page.open_page("methods", "Methods and data", "Methods and data", needs_results=False)
definitions, beside, data, differences, cite = st.tabs(
    ["Definitions", "Yardsticks", "Data, models and licences", "Differences from the papers", "Cite"]
)
with definitions:
    explained.definitions()
with beside:
    yardsticks.draw(view)
with data:
    explained.provenance(view)
    explained.bert()
with differences:
    explained.differences()
with cite:
    citing.draw()
