"""Definitions, provenance, licences, differences from the papers."""

import streamlit as st

from probing.ui import methods
from probing.ui.frame import page

view = page.open_page("methods", "Methods and data", "Methods and data", needs_results=False)
definitions, data, differences = st.tabs(["Definitions", "Data, models and licences", "Differences from the papers"])
with definitions:
    methods.definitions()
with data:
    methods.provenance(view)
    methods.bert()
with differences:
    methods.differences()
