"""One stored fact through all layers and models."""

import streamlit as st

from probing.ui import fact_detail, fact_list, own_upload, page

view = page.open_page("facts", "Facts", "One fact through all layers")
stored, own = st.tabs(["Stored facts", "Your own facts"])
with stored:
    fact_list.search(view)
    fact_id = fact_list.listing(view)
    fact_detail.show(view, fact_id)
with own:
    own_upload.show(view)
