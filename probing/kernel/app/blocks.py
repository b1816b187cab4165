"""Building blocks of every page: a figure with its table and downloads, and messages for missing results."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from probing.kernel.app import save, tables
from probing.kernel.app.figure_cache import LazyFigure, Stamp, csv_bytes, file_name, for_file, html_bytes, on_page
from probing.kernel.app.page_figures import collect
from probing.kernel.app.save import FigureNotes
from probing.kernel.app.save import download as download
from probing.kernel.app.texts import (
    Markdown,
    escape,
    explained,
    filled,
    help_on,
    joined,
    listing,
    without_server_folders,
)

PROBE_COMMAND = "python -m probing probe --model nesia-mini --facts all --head tied"
FINETUNE_COMMAND = "python -m probing finetune --model nesia-mini --objective qa-squad-1"
MAX_ROWS = 5000
#: Text of an empty cell; Streamlit would write "None".
EMPTY = "–"
#: Label of a file of the figure, whether it has Plotly's script, and what that means.
_HTML = (
    ("HTML", False, "A small interactive file; it loads Plotly's script from the network."),
    (
        "HTML offline",
        True,
        "Interactive without a network. The file has 5 MB, because it holds Plotly's script, which comes in one piece.",
    ),
)


def sentence(text: str, *, key: Any = "answer", **values: Any) -> None:
    """Draws the one computed sentence of a page, above its picture; ``answer-tab`` is that of its open tab.

    With values the text is a template for them; without, it is escaped unless it is ``Markdown``.
    """
    with st.container(key=key):
        st.markdown(_worded(text, values))


def _worded(text: str, values: Mapping[str, Any]) -> Markdown:
    return filled(text, **values) if values else escape(text)


tab_sentence = partial(sentence, key="answer-tab")


def figure(
    drawn: go.Figure | LazyFigure,
    *,
    table: pd.DataFrame,
    stamp: Stamp,
    name: str,
    caption: str = "",
    how: str = "",
    alt: str = "",
    on_point: Callable[[list[Any]], None] | None = None,
    call: str = "",
) -> None:
    """Shows a figure, one line below it, and the quiet row: how to read it, its data, its files and its link.

    ``name`` is the prefix of the widgets' keys and the name of the files, unique on the page. The markup of a caption
    of at most two lines is escaped unless it is ``Markdown``; ``how`` has any length. ``on_point`` gets the
    ``customdata`` of a clicked point; ``call`` is the call of the Python API that draws the figure, empty if the
    page's link does.
    """
    on_this_page, key = on_page(drawn), f"{name}.figure"
    config = save.camera({"format": "png", "filename": file_name(name, stamp), "scale": 2})
    clicks: dict[str, Any] = {}
    if on_point:
        on_this_page = on_this_page.for_clicks()

        def clicked() -> None:
            points = st.session_state[key].selection.points
            if points and points[0].get("customdata"):
                on_point(list(points[0]["customdata"]))

        clicks = {"on_select": clicked, "selection_mode": "points"}
    st.plotly_chart(on_this_page, theme=None, config=config, key=key, alt=alt or caption or None, **clicks)
    files(drawn, table=table, stamp=stamp, name=name, caption=caption, how=how, alt=alt, call=call)


def files(
    drawn: go.Figure | LazyFigure | None,
    *,
    table: pd.DataFrame,
    stamp: Stamp,
    name: str,
    caption: str = "",
    how: str = "",
    alt: str = "",
    call: str = "",
) -> None:
    """Shows the line below a picture and its quiet row, see ``figure``; without one (None), nothing to save."""
    if drawn is not None:
        collect(name, drawn)
    if caption:
        st.caption(explained(caption))
    _quiet_row(drawn, FigureNotes(table, stamp, name, caption, how, call), alt)


@st.fragment
def _quiet_row(drawn: go.Figure | LazyFigure | None, notes: FigureNotes, alt: str) -> None:
    """How to read a figure, its data, its files and its link, each drawn once it is opened, by itself."""
    offered: dict[str, tuple[str, Callable[[], object]]] = {
        "How to read": ("help", partial(_how, notes)),
        "Data": ("table", partial(_numbers, notes)),
        **({"Save": ("download", partial(_save, drawn, notes, alt))} if drawn is not None else {}),
        "Link": ("link", lambda: st.code(save.link(), language=None, wrap_lines=True)),
    }
    with st.container(horizontal=True, gap="xsmall", key=f"quiet-{notes.name}"):
        for label, (icon, draw) in offered.items():
            place = st.popover(
                filled("{label}", label=label),
                icon=f":material/{icon}:",
                type="tertiary",
                key=f"{notes.name}.{label}",
                on_change="rerun",
            )
            if place.open:
                with place:
                    draw()


def _how(notes: FigureNotes) -> None:
    """How a figure is read, the terms in it, and where its numbers come from."""
    text = joined(
        "\n\n", [text_part for text_part in (notes.how, help_on(f"{notes.caption} {notes.how}")) if text_part]
    )
    if text:
        st.markdown(text)
    st.caption(escape(notes.stamp.text))


@st.fragment
def folded(label: str, draw: Callable[[], object], *, key: str, icon: str) -> None:
    """Shows an expander, closed; what ``draw`` draws in it is drawn once it is opened, without the rest of the page.

    ``key`` is unique on the page.
    """
    place = st.expander(filled("{label}", label=label), icon=f":material/{icon}:", key=key, on_change="rerun")
    if place.open:
        with place:
            draw()


def _numbers(notes: FigureNotes) -> None:
    table = notes.table
    top = table.head(MAX_ROWS)
    st.dataframe(
        top,
        hide_index=True,
        placeholder=EMPTY,
        column_config=tables.fitted(top),
        column_order=tables.telling(top),
        width=640,
    )
    if len(table) > MAX_ROWS:
        caption("The first {most:,} of {n:,} rows; the CSV file has all.", most=MAX_ROWS, n=len(table))
    csv(lambda: table, notes.stamp, notes.name)


def _save(drawn: go.Figure | LazyFigure, notes: FigureNotes, alt: str) -> None:
    save.draw(drawn, notes)
    with st.container(horizontal=True):
        for label, whole, words in _HTML:
            name = file_name(notes.name, notes.stamp, "-offline.html" if whole else ".html")
            key = f"{notes.name}.html{'' if whole else '-small'}"
            download(label, partial(_html, drawn, notes.stamp, alt, whole), name, "text/html", key, help=words)


def _picking(pick: Callable[[int], object], key: str) -> dict[str, Any]:
    """The options of a table to choose one row from; ``pick`` gets its number. Other rows need another ``key``."""

    def picked() -> None:
        if rows := st.session_state[key].selection.rows:
            pick(rows[0])

    return {"key": key, "on_select": picked, "selection_mode": "single-row"}


def choices(table: pd.DataFrame, pick: Callable[[int], object], *, key: str, headings: Mapping[str, Any]) -> None:
    """Shows a list from which one row is chosen, see ``_picking``."""
    columns = tables.fitted(table, headings)
    beyond = tables.placed(columns, map(str, table))
    st.dataframe(
        table,
        hide_index=True,
        height=min(38 + 35 * len(table), 250),
        placeholder=EMPTY,
        column_config=columns,
        **_picking(pick, key),
    )
    _further(beyond)


def _further(names: list[str]) -> None:
    """Names the columns of a table that are beyond the page's edge."""
    if names:
        caption("Further right: {names}", names=listing(names))


def csv(table: Callable[[], pd.DataFrame], stamp: Stamp, name: str) -> None:
    """Draws the button that saves a whole table."""
    download("CSV", lambda: csv_bytes(table(), stamp), file_name(name, stamp, ".csv"), "text/csv", f"{name}.csv")


def _html(drawn: go.Figure | LazyFigure, stamp: Stamp, title: str, whole: bool) -> bytes:
    return html_bytes(for_file(drawn, stamp.text), stamp, title, whole=whole)


def table_with_download(
    table: pd.DataFrame,
    *,
    stamp: Stamp,
    name: str,
    shown: pd.DataFrame | None = None,
    column_config: dict[str, Any] | None = None,
    pick: Callable[[int], object] | None = None,
    key: str = "",
    **options: Any,
) -> None:
    """Shows a table (or ``shown``, worded for the page) that has no figure, with its CSV and its stamp.

    ``name`` is the prefix of the widgets' keys and the name of the file, unique on the page; columns are as wide as
    their longest words; ``pick`` gets the number of a chosen row, see ``_picking``; options are those of
    ``st.dataframe``.
    """
    top = (table if shown is None else shown).head(MAX_ROWS)
    styled, config = tables.written(top, column_config)
    beyond = tables.placed(config, options.get("column_order") or map(str, top))
    options |= _picking(pick, key) if pick else {}
    st.dataframe(styled, hide_index=True, placeholder=EMPTY, column_config=config, **options)
    with st.container(horizontal=True, vertical_alignment="center"):
        csv(lambda: table, stamp, name)
        _further(beyond)


def note(template: str, icon: str = "info", **values: Any) -> None:
    """Shows a message in its box: a trusted template, filled in, beside Material's icon of that name."""
    st.info(filled(template, **values), icon=f":material/{icon}:")


def caption(template: str, **values: Any) -> None:
    """Shows a trusted template, filled in, as a line of small letters."""
    st.caption(filled(template, **values))


def missing(what: str, command: str, **values: Any) -> None:
    """Reports missing results, in the way of ``sentence``, with the command that makes them."""
    note("{what} This command makes it:", what=_worded(what, values))
    command_line(command)


def command_line(command: str, *, whole: bool = False) -> None:
    """Shows a command: without the server's folders, unless it is ``whole`` for the person who sits at the server."""
    st.code(command if whole else without_server_folders(command), language="shell", wrap_lines=True)


def problem(error: Exception) -> None:
    """Shows the message of an error that the user can fix, without a traceback and without the server's folders."""
    st.warning(escape(without_server_folders(str(error))), icon=":material/report:")


def left_out_files(files: pd.DataFrame) -> None:
    """Reports the results files that are not read; all others are shown."""
    if files.empty:
        return
    words = "These pages leave out a results file: {why}."
    if len(files) > 1:
        words += " They leave out {more:,} further files too: `python -m probing check` lists them."
    st.warning(
        filled(words, why=without_server_folders(str(files["why"].iloc[0])), more=len(files) - 1),
        icon=":material/report:",
    )


def say_ignored(names: list[str], of: str = "these results") -> None:
    """States the names of a link that are not in the results, or in what ``of`` names."""
    if names:
        note("Ignored, not in {of}: {names}", "link_off", of=of, names=listing(names))


def dark() -> bool:
    """Whether the browser reported a dark theme; for the few figures whose colours cannot follow it."""
    return st.context.theme.type == "dark"
