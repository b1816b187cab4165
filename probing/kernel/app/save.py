"""The part "Save" below every figure: an image or a file at a column's width, its code, caption and bibliography."""

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from PIL import Image

from probing.kernel.app.figure_cache import LazyFigure, Stamp, file_name, for_paper
from probing.kernel.app.texts import Markdown, filled, joined
from probing.kernel.citations import PAPERS, SOFTWARE
from probing.kernel.figures import paper as pdf
from probing.kernel.figures.paper import PER_INCH, POINTS, WIDTHS, Columns, sized
from probing.kernel.figures.paper_words import caption as caption_of


def plot(kind: str, name: str, filters: Mapping[str, object], filtered: bool = False, **looks: Any) -> str:
    """The code that draws the figure of a report; empty if the page leaves out facts that the report counts.

    Filters that are None, False or an empty list are left out, and looks that are None.

    >>> plot("facts", "precision", {"model": ["a"], "head": (), "k": 1}).splitlines()[-1]
    "probing.results().report('facts', 'precision', model='a', k=1).figure()"
    """
    if filtered:
        return ""
    given = {key: _plain(value) for key, value in filters.items()}
    named = [repr(kind), repr(name), *(f"{key}={value!r}" for key, value in given.items() if value)]
    drawn = ", ".join(f"{key}={value!r}" for key, value in looks.items() if value is not None)
    return f"import probing\n\nprobing.results().report({', '.join(named)}).figure({drawn})"


def of_page(link: str, name: str) -> str:
    """The code that draws any figure of a page, from the page's link, whose server a notebook does not need.

    >>> print(of_page("http://localhost:8501/Compare_models?k=10", "flow").splitlines()[-1])
    probing.page_figure('Compare_models?k=10', 'flow')
    """
    parts = urlsplit(link)
    page = parts.path.rpartition("/")[2] + (f"?{parts.query}" if parts.query else "")
    return f"import probing\n\nprobing.page_figure({page!r}, {name!r})"


def _plain(value: object) -> object:
    """One value instead of a list of one; lists instead of tuples."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return value[0] if len(value) == 1 else list(value)
    return value


_HERE = Path(__file__)
_COMPONENT = st.components.v2.component(
    "bertnesia_saver",
    html='<button type="button"></button> <span role="status"></span>',
    css=_HERE.with_name("saver.css").read_text(encoding="utf-8"),
    js=_HERE.with_name("saver.js").read_text(encoding="utf-8"),
)


def resolution(dpi: int) -> bytes:
    """The PNG chunk pHYs, the dots of an inch, so that a document shows the image at its size."""
    with Image.new("1", (1, 1)) as image, io.BytesIO() as file:
        image.save(file, "png", dpi=(dpi, dpi))
        # It follows 8 bytes of signature and 25 of the header, and has 21.
        return file.getvalue()[33:54]


def button(label: str, *, within: str, key: str, dpi: int = 0) -> None:
    """Draws the button.

    ``within`` is the key of the container that has the figure and nothing else with a camera: letters, digits, ``-``
    and ``_``. ``dpi`` is what a PNG file states; 0 for other formats.
    """
    _COMPONENT(key=key, data={"label": label, "within": within, "chunk": list(resolution(dpi)) if dpi else None})


def download(label: str, data: str | Callable[[], bytes], name: str, kind: str, key: str, **options: Any) -> None:
    """Draws the button that saves a file of this MIME ``kind``, made once it is wanted; the page does not run again."""
    options = {"icon": ":material/download:", **options}
    st.download_button(filled("{label}", label=label), data, name, kind, key=key, on_click="ignore", **options)


def camera(image: Mapping[str, object]) -> dict[str, object]:
    """The configuration of a figure whose bar has one button, which saves this image."""
    bar = {"displaylogo": False, "displayModeBar": True, "modeBarButtons": [["toImage"]]}
    return {**bar, "toImageButtonOptions": image}


FORMATS = ("SVG", "PNG", "PDF")
#: Resolution of a PNG file, in dots per inch.
DPI = 300


@dataclass(frozen=True)
class FigureNotes:
    """What a page states about a figure, see ``blocks.figure``."""

    table: pd.DataFrame
    stamp: Stamp
    name: str
    caption: str
    how: str
    call: str


@st.fragment
def draw(drawn: go.Figure | LazyFigure, notes: FigureNotes) -> None:
    """Draws the files of a figure at the width of a column, and what a paper says of it."""
    figure = for_paper(drawn)
    _files(figure, notes)
    _words(figure, notes)


def _files(figure: go.Figure, notes: FigureNotes) -> None:
    name = notes.name
    with st.container(horizontal=True, vertical_alignment="bottom"):
        columns: Columns = st.segmented_control(
            "Width",
            list(WIDTHS),
            default=1,
            required=True,
            key=f"{name}.columns",
            format_func=lambda n: f"{'one column' if n == 1 else 'two columns'}, {WIDTHS[n]} in",
        )
        kind = st.segmented_control("Format", FORMATS, default="SVG", required=True, key=f"{name}.format")
    small = sized(figure, columns)
    wide, high = int(small.layout.width), int(small.layout.height)
    within = f"{name}-paper"
    whole_name = file_name(name, notes.stamp, f"-{columns}-column" + ("s" if columns > 1 else ""))
    image = {
        "format": "png" if kind == "PNG" else "svg",
        "filename": whole_name,
        "width": wide,
        "height": high,
        "scale": DPI / PER_INCH if kind == "PNG" else 1,
    }
    with st.container(key=within):
        st.plotly_chart(
            small,
            width=wide,
            height=high,
            theme=None,
            config=camera(image),
            key=f"{name}.preview",
            alt="The figure as the file has it",
        )
    words = (
        "{wide:.2f} × {high:.2f} in with text of {points} pt. The file has no stamp; the caption below states the"
        " origin."
    )
    st.caption(filled(words, wide=wide / PER_INCH, high=high / PER_INCH, points=POINTS))
    if kind in ("SVG", "PNG"):
        button(filled("Save {kind}", kind=kind), within=within, key=f"{name}.save", dpi=DPI if kind == "PNG" else 0)
    else:
        _pdf(figure, columns, whole_name, name)


def _pdf(figure: go.Figure, columns: Columns, whole_name: str, name: str) -> None:
    if command := pdf.missing():
        st.info(
            "The server cannot make PDF files yet. This command, typed on the server, installs what is missing:",
            icon=":material/info:",
        )
        st.code(command, language="shell", wrap_lines=True)
        st.caption("Without it, Inkscape makes a PDF of the SVG file.")
        return
    download("Save PDF", lambda: pdf.pdf(figure, columns), f"{whole_name}.pdf", "application/pdf", f"{name}.pdf")


def _words(figure: go.Figure, notes: FigureNotes) -> None:
    """Caption, BibTeX, call and link, each with a button that copies it."""
    words = caption_of(
        _plain_words(joined(" ", [text for text in (notes.caption, notes.how) if text])),
        notes.stamp.filters,
        notes.table,
        figure,
        notes.stamp.data,
    )
    formats = {
        "Caption": (words, None),
        "BibTeX": ("\n\n".join(paper.bibtex for paper in (SOFTWARE, *PAPERS)), "bibtex"),
        "Python": (notes.call or of_page(link(), notes.name), "python"),
        "Link": (link(), None),
    }
    for tab, (text, language) in zip(st.tabs(list(formats)), formats.values(), strict=True):
        with tab:
            st.code(text, language=language, wrap_lines=True)


def link() -> str:
    """The address of the page with all its options."""
    query = urlencode(sorted((name, value) for name in st.query_params for value in st.query_params.get_all(name)))
    return f"{st.context.url or ''}{'?' if query else ''}{query}"


def _plain_words(caption: str) -> str:
    """A caption of a page without its markup and without the spaces at which no line breaks."""
    return (
        re.sub(r"\\([^\w\s])", r"\1", caption.replace("**", "").replace("\u00a0", " "))
        if isinstance(caption, Markdown)
        else caption
    )
