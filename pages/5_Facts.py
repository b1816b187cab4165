"""One stored fact through all layers and models."""

import streamlit as st

from probing.ui.facts import detail, fact_list, upload
from probing.ui.facts.selection import TABS
from probing.ui.frame import page, selection

view = page.open_page("facts", "Facts", "One fact through all layers")
with selection.open_tab("facts_tab", TABS, view.page) as tab:
    if tab == "stored":
        shown, found = st.container(), st.container()
        with found:
            st.header("Find a fact", anchor="find-a-fact")
            fact_list.search(view)
            fact_id = fact_list.listing(view)
        with shown:
            detail.show(view, fact_id)
            view.introduce()
    else:
        upload.show(view)
