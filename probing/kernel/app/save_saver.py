"""A button that saves a figure as an image which the reader's browser draws."""

import struct
import zlib
from pathlib import Path

import streamlit as st

_HERE = Path(__file__)
_COMPONENT = st.components.v2.component(
    "bertnesia_saver",
    html='<button type="button"></button> <span role="status"></span>',
    css=_HERE.with_name("saver.css").read_text(encoding="utf-8"),
    js=_HERE.with_name("saver.js").read_text(encoding="utf-8"),
)


def resolution(dpi: int) -> bytes:
    """The PNG chunk pHYs, the dots of an inch, so that a document shows the image at its size."""
    dots = round(dpi / 0.0254)
    content = b"pHYs" + struct.pack(">IIB", dots, dots, 1)
    return struct.pack(">I", len(content) - 4) + content + struct.pack(">I", zlib.crc32(content))


def button(label: str, *, within: str, key: str, dpi: int = 0) -> None:
    """Draws the button.

    ``within`` is the key of the container that has the figure and nothing else with a camera: letters, digits, ``-``
    and ``_``. ``dpi`` is what a PNG file states; 0 for other formats.
    """
    _COMPONENT(key=key, data={"label": label, "within": within, "chunk": list(resolution(dpi)) if dpi else None})
