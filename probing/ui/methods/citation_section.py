"""BibTeX of this software and of the papers behind it."""

import streamlit as st

from probing.reports.citations import PAPERS, SOFTWARE
from probing.ui.widgets.markdown import filled

HOW = (
    "Cite this software together with the papers whose methods you use. Every block has a copy button. `CITATION.cff` in the repository "
    "says the same for reference managers. The models and data sets have papers of their own: see *Data, models and licences*."
)


def draw() -> None:
    """Every work to cite, each with what it is to this project."""
    st.markdown("## Cite")
    st.markdown(HOW)
    for reference in (SOFTWARE, *PAPERS):
        st.markdown(filled("**{role}**: {title}", role=reference.role, title=reference.title))
        st.code(reference.bibtex, language="latex", wrap_lines=True)
