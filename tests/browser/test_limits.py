"""What every page may hold at most, so that its answer is seen at once: words, first screens, heights, and faults that
axe finds.
"""

import re
from dataclasses import fields
from functools import cache
from typing import Any, NamedTuple

import pytest

from probing import ui
from probing.ui.frame import selection
from probing.ui.frame.navigation import ADDRESSES, PAGES

from . import accessibility
from .conftest import VIEWS

assert ui, "the import declares what is chosen on each page"
pytestmark = pytest.mark.browser

#: Most visible words: of all pages in their default state, of one tab, of all tabs, and of Methods.
DEFAULTS, TAB, EVERY_TAB, METHODS = 4_000, 450, 8_150, 3_500
#: Highest page in its default state, in pixels at a width of 1280; Methods is a reference.
HIGHEST, HIGHEST_METHODS = 2_500, 6_000
#: Tabs without a picture by nature: forms, uploads, lists and tables.
WITHOUT_PICTURE = {
    ("facts", "own"),
    ("grammar", "own"),
    ("own_model", "space"),
    ("papers", "tables"),
    ("papers", "figures"),
    ("methods", "*"),
}
#: What is visible: words above the tabs and in the open one, those of captions, the place of the first picture of each
#: of both parts, and what stands above its end, without the text of pictures, tiles and tables.
LOOK = r"""() => {
    const main = document.querySelector('[data-testid="stMainBlockContainer"]');
    const down = document.querySelector('[data-testid="stMain"]').scrollTop, skip = 'style, script, [data-testid="stIconMaterial"]';
    const panel = main.querySelector('[role="tabpanel"]:not([hidden])'), bar = main.querySelector('[role="tablist"]');
    const drawn = '.js-plotly-plot, .stBidiComponent, .claims, .own-facts, [data-testid="stDataFrame"]';
    const parts = {page: {words: 0, captions: 0}, tab: {words: 0, captions: 0}};
    const texts = [], walk = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const parent = walk.currentNode.parentElement;
        if (parent.closest(skip) || parent.closest('details:not([open]) > :not(summary)')) continue;
        const range = document.createRange();
        range.selectNodeContents(walk.currentNode);
        const box = range.getBoundingClientRect(), found = walk.currentNode.textContent.match(/\p{L}{2,}/gu) || [];
        if (!box.height || !box.width) continue;
        const part = panel && panel.contains(parent) ? parts.tab : parts.page;
        part.words += found.length;
        if (parent.closest('[data-testid="stCaptionContainer"]')) part.captions += found.length;
        if (!parent.closest(drawn + ', [role="tablist"]')) texts.push([part, box.bottom, walk.currentNode.textContent]);
    }
    for (const [part, place] of [[parts.page, main], [parts.tab, panel]]) {
        const figure = place && [...place.querySelectorAll(drawn)].find(
            one => one.getBoundingClientRect().height > 40 && (place === panel || !panel || !panel.contains(one)));
        if (!figure) continue;
        const {top, bottom} = figure.getBoundingClientRect(), from = place === panel ? bar.getBoundingClientRect().top : -down;
        part.picture = {top: top - from, end: bottom - from};
        part.above = texts.filter(([one, end]) => one === part && end <= bottom).map(([, , text]) => text).join(' ');
    }
    return {...parts, tabs: Boolean(panel), height: main.getBoundingClientRect().height};
}"""
#: The interval of a value is one quantity with it; numbers of layers, years, ranks to choose from, and in names are
#: none.
INTERVAL = re.compile(r"\([^()]* to [^()]*\)")
NAMES = re.compile(
    r"\b(?:19|20)\d\d\b|[Ll]ayers? \d+(?:(?:,| and| to) \d+)*|\S*[A-Za-z]-\d+\S*|P@\d+|F1|Of 100|≤ \d+|\b1(?=\s+≤)"
)


class Link(NamedTuple):
    """A page with one of its tabs open; the first link of a page is its default state."""

    page: str
    tab: str
    path: str


def links() -> list[Link]:
    """Every page with every tab, by the declarations of the pages."""
    found = []
    for address, file in ADDRESSES.items():
        page = PAGES[file][0]
        tabs = [one for one in fields(selection._OWN[page]) if one.name.endswith(("_tab", "_view"))]
        papers = [one.metadata["choices"] for one in fields(selection._OWN[page]) if one.name == "paper"] or [("",)]
        for paper in papers[0]:
            for name, value in [(one.name, value) for one in tabs for value in one.metadata["choices"]] or [("", "")]:
                query = "&".join([f"{name}={value}"] * bool(name) + [f"paper={paper}"] * bool(paper))
                found.append(Link(page, value, f"/{address}" + (f"?{query}" if query else "")))
    return found


LINKS = links()
FIRST = list({one.page: one for one in reversed(LINKS)}.values())[::-1]


@pytest.fixture(scope="module")
def seen(whole_tour):
    """What is visible at a link in a wide window; each link is visited once."""
    return cache(lambda path: whole_tour(path).evaluate(LOOK))


def sees_its_answer(part: dict[str, Any], width: int, name: str) -> None:
    """A picture is in the first screen, below few words and numbers."""
    picture, above = part["picture"], part["above"]
    assert picture["end"] <= 900 if width == 1280 else picture["top"] <= 500, (name, picture)
    assert len(re.findall(r"[^\W\d_]{2,}", above)) <= 70, (name, above)
    assert len(re.findall(r"\d[\d.,]*", NAMES.sub("", INTERVAL.sub("", above)))) <= 3, (name, above)


def with_picture(link: Link) -> bool:
    return not {(link.page, link.tab), (link.page, "*")} & WITHOUT_PICTURE


def test_the_first_screens_have_few_words_and_pages_are_low(seen):
    looks = {one.page: seen(one.path) for one in FIRST}
    words = {page: look["page"]["words"] + look["tab"]["words"] for page, look in looks.items()}
    captions = sum(
        look[part]["captions"] for page, look in looks.items() for part in ("page", "tab") if page != "methods"
    )
    print(words, {page: look["height"] for page, look in looks.items()})
    methods = words.pop("methods")
    assert sum(words.values()) <= DEFAULTS and captions <= sum(words.values()) / 4 and methods <= METHODS
    high = {page: look["height"] for page, look in looks.items()}
    assert high.pop("methods") <= HIGHEST_METHODS
    assert {page: height for page, height in high.items() if height > HIGHEST} == {}


@pytest.mark.parametrize("link", FIRST, ids=lambda one: one.page)
def test_a_page_shows_its_answer_and_its_picture_without_scrolling(seen, link):
    look = seen(link.path)
    if link.page != "methods":
        sees_its_answer(look["page"] if "picture" in look["page"] else look["tab"], 1280, link.path)


@pytest.mark.slow
def test_no_tab_has_many_words_and_all_of_them_have_fewer_than_before(seen):
    looks = {one: seen(one.path) for one in LINKS}
    tabs = {one.path: look["tab"]["words"] for one, look in looks.items() if one.page != "methods"}
    above = {one.page: look["page"]["words"] for one, look in looks.items() if one.page != "methods"}
    print(tabs, above)
    assert {path: words for path, words in {**tabs, **above}.items() if words > TAB} == {}
    assert sum(tabs.values()) + sum(above.values()) <= EVERY_TAB


@pytest.mark.slow
@VIEWS
@pytest.mark.parametrize("link", LINKS, ids=lambda one: one.path)
def test_every_tab_shows_its_picture_first_and_breaks_no_rule(tour, link, width, dark):
    page = tour(link.path, width=width, dark=dark)
    look = page.evaluate(LOOK)
    for part in (look["page"], look["tab"]):
        if "picture" in part and with_picture(link):
            sees_its_answer(part, width, link.path)
    assert page.locator('[data-testid="stException"]').count() == 0
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 1
    assert accessibility.faint(page) == []
    if accessibility.script() is not None:
        assert accessibility.violations(page)[0] == []
