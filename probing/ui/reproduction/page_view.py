"""What the Reproduction page declares of a paper, and what it shows of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd
import streamlit as st

from probing.reports.reproduction.paper import Ours, Paper, Reproduction
from probing.ui.frame.page import View
from probing.ui.widgets import blocks
from probing.ui.widgets.export import Stamp
from probing.ui.widgets.markdown import Markdown, escape

_NOTHING = Markdown("")


@dataclass(frozen=True)
class Section:
    """A paper on the page.

    Attributes:
        paper: its numbers and tables.
        fields: of the page's selection: the subject, the open tab, the figure and its panel.
        tabs: name in the link -> title.
        prefix: of the names of files.
        menu: title of the choice of a subject.
        missing: a sentence for a store without subjects, and the command that makes one.
        alone: whether the published numbers are shown without ours.
        about: what ours are, to follow the paper's reference.
        tables: parts of the first tab.
        figure: draws ours for a figure of the paper, and of it only the panel of this name, unless the name is empty.
        panel: title of the choice of a panel.
        panels: the figure's panels, of which one is drawn unless all are wanted: name in links -> title.
        option: the name of a subject in the menu; None: the model's.
        further: draws further choices for a subject and returns them.
        below: draws what precedes the tabs; it may stop the page.
        values: what is said of the values in the paper's figures.
    """

    paper: Paper
    fields: tuple[str, str, str, str]
    tabs: Mapping[str, str]
    prefix: str
    menu: str
    missing: tuple[Markdown, str]
    alone: bool
    about: "Callable[[Shown, Ours], Markdown]"
    tables: "tuple[Callable[[Shown], None], ...]"
    figure: "Callable[[Shown, Any, str], None]"
    panel: str = "Panel"
    panels: "Callable[[Shown, Any], Mapping[str, str]]" = lambda shown, figure: {}
    option: Callable[[View, str, Any], str] = lambda view, name, about: view.label(name)
    further: Callable[[View, Any], tuple[str, ...]] = lambda view, about: ()
    below: "Callable[[Shown, Ours], None]" = lambda shown, ours: None
    values: Markdown = _NOTHING


@dataclass(frozen=True)
class Shown:
    """The page's content.

    Attributes:
        view: the page.
        section: the paper's declaration.
        found: ours compared with the paper.
    """

    view: View
    section: Section
    found: Reproduction

    @property
    def numbers(self) -> Any:
        """The published numbers."""
        return self.section.paper.numbers

    @property
    def about(self) -> Any:
        """The numbers of ours; None if nothing is stored."""
        return self.found.ours.about if self.found.ours else None

    def stamp(self, what: str, rows: pd.DataFrame | None = None, panel: str = "") -> Stamp:
        """The origin of a table or figure; ``rows`` are its runs, if they are not all, ``panel`` the only one of several that is shown."""
        ours = self.found.ours
        # Rows that were not probed have no run.
        ids = ours.run_ids if ours and rows is None else () if rows is None else tuple(rows["run_id"].dropna().drop_duplicates())
        return replace(self.view.stamp(f"{what}, {ours.origin if ours else 'published numbers'}", ids), panel=panel)


def titled(number: int | str, panel: str) -> str:
    """The name of a figure, and of its panel if only one is shown."""
    return f"Figure {number}" + (f", {panel}" if panel else "")


@dataclass(frozen=True)
class Table:
    """A table of the first tab.

    Attributes:
        name: in ``Reproduction.tables``.
        file: name of its file, after the paper's prefix.
        stamp: its name in the stamp.
        columns: headings and formats, or a function of the table that returns them.
        heading, caption: above and below it.
        written: the table for the file.
        worded: the table for the page, if that differs.
        rows: its runs, if they are not all.
        options: of ``st.dataframe``.
    """

    name: str
    file: str
    stamp: str
    columns: Any
    heading: Markdown = _NOTHING
    caption: Markdown = _NOTHING
    written: Callable[[pd.DataFrame], pd.DataFrame] = lambda table: table
    worded: Callable[[Shown, pd.DataFrame], pd.DataFrame] | None = None
    rows: Callable[[Shown], pd.DataFrame] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, shown: Shown) -> None:
        """Draws it; a table of ours only, which no results are stored for, is left out: the top of the page states what is missing."""
        if self.name not in shown.found.tables:
            return
        if self.heading:
            st.markdown(escape(self.heading))
        table = self.written(shown.found.tables[self.name])
        blocks.table_with_download(
            table,
            shown=self.worded(shown, table) if self.worded else None,
            stamp=shown.stamp(self.stamp, self.rows(shown) if self.rows else None),
            name=f"{shown.section.prefix}{self.file}",
            column_config=self.columns(table) if callable(self.columns) else self.columns,
            **self.options,
        )
        if self.caption:
            st.caption(escape(self.caption))
