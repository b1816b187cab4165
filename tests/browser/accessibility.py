"""axe-core on a page of the app: what it finds that is ours, and a list of what it finds that is Streamlit's own."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple


class Known(NamedTuple):
    """A fault of Streamlit's markup, which no setting of the app changes."""

    rule: str
    part: str


#: Faults of Streamlit, each with a part of the element's markup. The list may only shrink: one that is not met any more
#: fails a test.
STREAMLITS = {
    # st.file_uploader's area can be focused and still has the role of decoration.
    Known("presentation-role-conflict", "stFileUploaderDropzone"),
}
#: What a figure needs before it is looked at: Plotly draws it after the page's text is at rest.
_DRAWN = """() => [...document.querySelectorAll('.js-plotly-plot')].every(one => one.querySelector('.main-svg'))"""

#: The least contrast of a text of a figure: what one colour reaches on both the light and the dark page.
LEAST = 4.2
#: Ticks, titles and labels of figures, which axe-core does not look at, with a contrast below a number: their text and
#: the contrast.
_FAINT = """least => {
    const parts = colour => colour.match(/[\\d.]+/g).map(Number);
    const linear = part => part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4;
    const luminance = ([red, green, blue]) => 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
    const paper = luminance(parts(getComputedStyle(document.querySelector('.stApp')).backgroundColor)), found = [];
    const texts = '.js-plotly-plot :is([class$="tick"], [class^="g-"], .annotation) text';
    for (const text of document.querySelectorAll(texts)) {
        const fill = getComputedStyle(text).fill;
        if (fill === 'none' || !text.textContent.trim()) continue;
        const ink = luminance(parts(fill)), contrast = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
        if (contrast < least) found.push(`${contrast.toFixed(2)}: ${text.textContent}`);
    }
    return found;
}"""


def script() -> Path | None:
    """The file of axe-core that the package ``axe-playwright-python`` brings; None if that is not installed."""
    found = find_spec("axe_playwright_python")
    return Path(found.origin).with_name("axe.min.js") if found and found.origin else None


def violations(page: Any) -> tuple[list[str], set[Known]]:
    """What axe-core finds on a page that is at rest.

    Returns:
        A line per element of ours that breaks a rule, and the faults of Streamlit that were met.
    """
    page.wait_for_function(_DRAWN)
    if not page.evaluate("() => 'axe' in window"):
        page.add_script_tag(path=script())
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")["violations"]
    ours, met = [], set()
    for rule in found:
        for node in rule["nodes"]:
            known = {one for one in STREAMLITS if one.rule == rule["id"] and one.part in node["html"]}
            met |= known
            if not known:
                ours.append(f"{rule['id']} ({rule['impact']}): {node['html'][:300]}; {node['failureSummary']}")
    return ours, met


def faint(page: Any) -> list[str]:
    """Text of figures on a page at rest that is fainter than ``LEAST``."""
    page.wait_for_function(_DRAWN)
    return page.evaluate(_FAINT, LEAST)
