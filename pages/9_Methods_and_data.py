"""Definitions, provenance, licences, differences from the papers."""

import streamlit as st

from probing.ui.frame import page
from probing.ui.methods import explained, yardsticks

view = page.open_page("methods", "Methods and data", "Methods and data", needs_results=False)
definitions, beside, data, differences = st.tabs(["Definitions", "Yardsticks", "Data, models and licences", "Differences from the papers"])
with definitions:
    explained.definitions()
with beside:
    yardsticks.draw(view)
with data:
    explained.provenance(view)
    explained.bert()
with differences:
    explained.differences()
