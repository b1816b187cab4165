"""The pictures of the README and the documentation: ``make screenshots`` takes them again (``test_journey``), the tests
only try to.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from .conftest import ROOT

FOLDER = ROOT / "docs" / "screenshots"
WIDTH, HEIGHT = 1280, 900


@dataclass(frozen=True)
class Picture:
    """One picture, of the shipped results in a light window.

    Attributes:
        path: the page's link.
        top: selector of the element that is scrolled to the top; none shows the beginning of the page.
        above: pixels above that element that stay visible.
        shows: selector of what must be in the picture, and be seen before it is taken.
    """

    path: str
    top: str = ""
    above: int = 70
    shows: str = ".js-plotly-plot .main-svg"


#: Name of the file -> what it shows.
PICTURES = {
    "home": Picture("/", shows=".grids-of-words td.word.right"),
    "ask": Picture(
        "/Ask?prompt=Rocky+Balboa+was+born+in+%5BMASK%5D.&watch=philadelphia", shows=".grids-of-words table"
    ),
    "layers": Picture("/Layers"),
    "compare": Picture("/Compare_models?tuned=nesia-mini-ner-conll"),
}


def test_every_picture_of_the_documentation_is_one_that_can_be_taken_again():
    texts = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    shown = {
        Path(link).name
        for path in texts
        for link in re.findall(r"\]\(([^)]*\.png)\)", path.read_text(encoding="utf-8"))
    }
    assert shown == {f"{name}.png" for name in PICTURES} == {path.name for path in FOLDER.iterdir()}
