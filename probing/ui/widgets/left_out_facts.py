"""The facts of the user's own that are left out, with their reasons."""

import pandas as pd
import streamlit as st

from probing.core.facts.fact import FactSet
from probing.ui.widgets import blocks
from probing.ui.widgets.markdown import filled


def left_out_rows(facts: FactSet) -> None:
    """Lists the left-out facts with their reasons, if there are any."""
    if facts.dropped:
        with st.expander(filled("Left out: {left}", left=facts.left_out_in_words), icon=":material/filter_alt_off:"):
            rows = [{"reason": reason, "prompt": fact.prompt, "object": fact.object} for fact, reason in facts.dropped]
            st.dataframe(pd.DataFrame(rows).head(blocks.MAX_ROWS), hide_index=True)
