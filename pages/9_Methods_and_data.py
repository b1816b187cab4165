"""Definitions, provenance, licences, differences from the papers."""

import streamlit as st

from probing.ui.frame import page
from probing.ui.methods import explained

view = page.open_page("methods", "Methods and data", "Methods and data", needs_results=False)
definitions, data, differences = st.tabs(["Definitions", "Data, models and licences", "Differences from the papers"])
with definitions:
    explained.definitions()
with data:
    explained.provenance(view)
    explained.bert()
with differences:
    explained.differences()
