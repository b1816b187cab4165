"""What takes space on this machine, and its deletion, for the person who sits at it."""

import pandas as pd
import streamlit as st

from probing.kernel.app import blocks, selection
from probing.kernel.app.frame import View
from probing.kernel.app.texts import code, count, filled, without_server_folders
from probing.kernel.errors import ProbingError
from probing.own_model.check import in_bytes
from probing.own_model.space import WHAT, Entry, delete, list_entries

_TITLES = {"run": "Runs", "facts": "Probe sets with all their runs", "model": "Models"}
#: Session key: name and size of what was deleted last.
_DONE = "own_model.deleted"


def draw(view: View) -> None:
    """Lists the user's models, runs and probe sets, and deletes one after a confirmation; what ships is not listed."""
    if done := st.session_state.pop(_DONE, None):
        name, size = done
        st.success(filled("Deleted: {name}; {size} are free.", name=code(name), size=size), icon=":material/delete:")
    what = selection.bound(
        st.segmented_control,
        "What",
        "my_space",
        view.page,
        options=list(WHAT),
        required=True,
        format_func=_TITLES.__getitem__,
    )
    entries = list_entries([what])
    if not entries:
        st.caption("There are none.")
        return
    st.caption(
        filled(
            "{things}, {size}.", things=count(len(entries), what), size=in_bytes(sum(entry.size for entry in entries))
        )
    )
    table = pd.DataFrame(
        [
            {"name": entry.name, "what it is": without_server_folders(entry.said), "size": in_bytes(entry.size)}
            for entry in entries
        ]
    )
    st.dataframe(table, hide_index=True)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        by_name = {entry.name: entry for entry in entries}
        name = st.selectbox("Which", list(by_name), key=f"own_model.space.{what}", width=420)
        if by_name[name].delete is not None:
            with st.popover("Delete", icon=":material/delete:"):
                _confirm(by_name[name])
    if by_name[name].delete is None:
        st.caption("It is in a file with other runs, so it cannot be deleted alone.")


def _confirm(entry: Entry) -> None:
    """Asks before anything is deleted."""
    st.markdown(
        filled(
            "The {what} {name} ({said}, {size}) is deleted from this machine. This cannot be undone.",
            what=entry.what,
            name=code(entry.name),
            said=without_server_folders(entry.said),
            size=in_bytes(entry.size),
        )
    )
    if st.button("Delete it", type="primary", key="own_model.space.delete", icon=":material/delete:"):
        try:
            delete(entry.what, entry.name, lambda _: True)
        except ProbingError as error:
            blocks.problem(error)
            return
        st.session_state[_DONE] = entry.name, in_bytes(entry.size)
        st.rerun()
