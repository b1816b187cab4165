"""What a visitor should know of the demonstration model: on the first page of a session, and at hand on all."""

import streamlit as st

from probing.ui.widgets import blocks

#: Session key: the first page of the session; "" once another page has been opened.
_NOTICE_ON = "probing.notice"


def at_first(page: str) -> None:
    """Shows the notice on the first page of a session, each time it is drawn, until another page is opened."""
    state = st.session_state
    if state.setdefault(_NOTICE_ON, page) != page:
        state[_NOTICE_ON] = ""
    if state[_NOTICE_ON]:
        st.markdown(
            ":small[**nesia-mini is a small demonstration model**, trained with LayerDrop so that its inner layers can be read; BERT was "
            "not. More in the sidebar.]"
        )


def at_hand() -> None:
    """Draws a button that opens the notice and the command that probes BERT."""
    with st.popover("Demonstration model", icon=":material/info:", type="tertiary"):
        st.markdown(
            "**nesia-mini is a small demonstration model**, trained in hours on a fully documented corpus. It shows how knowledge moves "
            "through layers; it does not know what BERT knows. Training left layers out at random (LayerDrop, Fan et al. 2020), so each "
            "layer learned to be followed by the head: that is why inner layers can be read. To see BERT-base on these pages:"
        )
        st.code(blocks.BERT_COMMAND, language="shell", wrap_lines=True)
