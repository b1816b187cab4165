"""A stranger's way through the app, on the shipped snapshot, in a real browser, and what every page may hold at most.
All tests of the browser are here: one server draws the shipped results once.
"""

import itertools
import os
import re
import urllib.error
import urllib.request
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from PIL import Image

import probing.choices  # noqa: F401  declares what can be chosen on each page
from probing.kernel.app import selection
from probing.kernel.app.selection import ADDRESSES, PAGES
from tests.browser import accessibility
from tests.browser.conftest import ROOT, VIEWS, settle

pytestmark = pytest.mark.browser


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


def shoot(page, name: str, tmp_path: Path) -> None:
    """A screenshot, kept in ``$PROBING_SCREENSHOTS`` if that is set; a blank page makes a tiny file."""
    folder = Path(os.environ.get("PROBING_SCREENSHOTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.png"
    page.screenshot(path=path)
    assert path.stat().st_size > 15_000, f"{name} looks blank"


def no_trouble(page) -> None:
    """No exception box, no traceback, no page wider than the window."""
    assert page.locator('[data-testid="stException"]').count() == 0
    assert "Traceback" not in page.inner_text("body")
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 1, f"the page is {wide} pixels wider than the window"


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
#: Those that need no sentence: forms, lists, reference, a figure that the paper describes, and what the sample lacks.
WITHOUT_ANSWER = WITHOUT_PICTURE - {("papers", "tables")} | {("own_model", "new"), ("own_model", "ways")}
#: What is visible: words above the tabs and in the open one, those of captions, the place of the first picture of each
#: of both parts, and what stands above its end, without the text of pictures, tiles and tables.
LOOK = r"""() => {
    const main = document.querySelector('[data-testid="stMainBlockContainer"]');
    const down = document.querySelector('[data-testid="stMain"]').scrollTop;
    const skip = 'style, script, [data-testid="stIconMaterial"]';
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
        const {top, bottom} = figure.getBoundingClientRect();
        const from = place === panel ? bar.getBoundingClientRect().top : -down;
        part.picture = {top: top - from, end: bottom - from};
        part.above = texts.filter(([one, end]) => one === part && end <= bottom).map(([, , text]) => text).join(' ');
    }
    const answers = [...main.querySelectorAll('.st-key-answer, .st-key-answer-tab')].map(one => one.innerText);
    return {...parts, answers, tabs: Boolean(panel), height: main.getBoundingClientRect().height};
}"""
#: The interval of a value is one quantity with it; numbers of layers, years, ranks to choose from, in names, and of
#: tiles that are seen are none.
INTERVAL = re.compile(r"\([^()]* to [^()]*\)")
NAMES = re.compile(
    r"\b(?:19|20)\d\d\b|[Ll]ayers? \d+(?:(?:,| and| to) \d+)*|\S*[A-Za-z]-\d+\S*|P@\d+|F1|Of 100|≤ \d+|\b1(?=\s+≤)"
    r"|Of \d+ claims \d+"
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
def looks() -> dict[str, dict[str, Any]]:
    """Link -> what is visible there in a wide window; each link is visited once."""
    return {}


def seen(looks: dict[str, dict[str, Any]], tour, path: str) -> dict[str, Any]:
    if path not in looks:
        looks[path] = tour(path).evaluate(LOOK)
    return looks[path]


def sees_its_answer(part: dict[str, Any], width: int, name: str) -> None:
    """A picture is in the first screen, below few words and numbers."""
    picture, above = part["picture"], part["above"]
    assert picture["end"] <= 900 if width == 1280 else picture["top"] <= 500, (name, picture)
    assert len(re.findall(r"[^\W\d_]{2,}", above)) <= 70, (name, above)
    assert len(re.findall(r"\d[\d.,]*", NAMES.sub("", INTERVAL.sub("", above)))) <= 3, (name, above)


def with_picture(link: Link) -> bool:
    return not {(link.page, link.tab), (link.page, "*")} & WITHOUT_PICTURE


@pytest.mark.parametrize("link", FIRST, ids=lambda one: one.page)
def test_every_page_has_content_and_shows_its_answer_and_its_picture_without_scrolling(looks, tour, tmp_path, link):
    page = tour(link.path)
    no_trouble(page)
    assert len(page.inner_text('[data-testid="stMain"]')) > 300
    shoot(page, link.page, tmp_path)
    look = looks[link.path] = page.evaluate(LOOK)
    if link.page != "methods":
        sees_its_answer(look["page"] if "picture" in look["page"] else look["tab"], 1280, link.path)


def test_the_first_screens_have_few_words_and_pages_are_low(looks, tour):
    pages = {one.page: seen(looks, tour, one.path) for one in FIRST}
    words = {page: look["page"]["words"] + look["tab"]["words"] for page, look in pages.items()}
    captions = sum(
        look[part]["captions"] for page, look in pages.items() for part in ("page", "tab") if page != "methods"
    )
    print(words, {page: look["height"] for page, look in pages.items()})
    methods = words.pop("methods")
    assert sum(words.values()) <= DEFAULTS and captions <= sum(words.values()) / 4 and methods <= METHODS
    high = {page: look["height"] for page, look in pages.items()}
    assert high.pop("methods") <= HIGHEST_METHODS
    assert {page: height for page, height in high.items() if height > HIGHEST} == {}


@pytest.mark.slow
def test_no_tab_has_many_words_and_all_of_them_have_fewer_than_before(looks, tour):
    links = {one: seen(looks, tour, one.path) for one in LINKS}
    tabs = {one.path: look["tab"]["words"] for one, look in links.items() if one.page != "methods"}
    above = {one.page: look["page"]["words"] for one, look in links.items() if one.page != "methods"}
    print(tabs, above)
    assert {path: words for path, words in {**tabs, **above}.items() if words > TAB} == {}
    assert sum(tabs.values()) + sum(above.values()) <= EVERY_TAB


@pytest.mark.slow
def test_every_tab_has_a_sentence_of_its_own_that_is_made_from_numbers(looks, tour):
    asked = [one for one in LINKS if not {(one.page, one.tab), (one.page, "*")} & WITHOUT_ANSWER]
    said = {one.path: (one.page, next(reversed(seen(looks, tour, one.path)["answers"]), "")) for one in asked}
    assert [path for path, (page, words) in said.items() if page != "home" and not re.search(r"\d", words)] == []
    assert len({*said.values()}) == len(said), "no two tabs have one sentence"


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


@pytest.mark.parametrize("width", [pytest.param(1280, marks=pytest.mark.slow), 390])
def test_a_link_opens_its_page_with_the_groups_of_pages_from_the_first_visit_on(visit, width):
    link = "/Compare_models?tuned=nesia-mini-ner-conll"
    page = visit(link, width=width, fresh=True)
    assert page.url.endswith(link)
    if width < 500:
        page.get_by_test_id("stExpandSidebarButton").click()
        page.wait_for_timeout(500)
    sidebar = page.get_by_test_id("stSidebar")
    links = sidebar.get_by_test_id("stPageLink-NavLink").all()
    assert len(links) == 9 == len(ADDRESSES)
    tops = [one.bounding_box() for one in links]
    assert all(low["y"] - high["y"] >= 24 for high, low in itertools.pairwise(tops)), "the smallest target of WCAG 2.2"
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= width for box in tops)
    # The order of the keys is that of the eye.
    links[0].focus()
    for following in links[1:]:
        page.keyboard.press("Tab")
        assert following.evaluate("one => one === document.activeElement")
    links[2].click()
    page.wait_for_url(re.compile("Layers"))
    settle(page)
    page.wait_for_timeout(500)
    assert (sidebar.bounding_box()["x"] < 0 or not sidebar.is_visible()) == (width < 500), "on a phone the menu closes"
    no_trouble(page)


def test_the_server_that_is_started_answers_no_other_host(address):
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(urllib.request.Request(address, headers={"Host": "evil.example"}), timeout=10)


def test_home_reads_its_example_layer_by_layer_by_button_by_keys_and_by_word(tour):
    page = tour("/?example=3")
    base, tuned = page.locator(".grids-of-words table.grid").all()
    rows = base.locator("tbody tr")
    assert rows.count() == 9 and tuned.locator("tbody tr").count() == 9
    assert all(row.is_visible() for row in rows.locator("td.rank").all())
    page.locator(".grids-of-words .grids").focus()
    for key in ("Home", "ArrowUp"):
        page.keyboard.press(key)
    shown = [row.is_visible() for row in rows.locator("td.rank").all()]
    assert shown == [False] * 7 + [True] * 2, "layers 0 and 1, from the bottom up"
    says = page.locator(".grids-of-words .says")
    assert says.inner_text().startswith("Layer 1: ") and says.inner_text().count(" says ") == 2
    word = rows.last.locator("td.word").first
    word.hover()
    assert says.inner_text().startswith(f"“{word.get_attribute('data-word')}”: ")
    assert "followed" in word.get_attribute("class")
    word.click()
    assert page.locator(".grids-of-words .curve polyline").count() == 2, "the word's curve in both models"
    page.keyboard.press("End")
    page.get_by_role("button", name="Play").click()
    page.get_by_role("button", name="Pause").wait_for()
    page.get_by_role("button", name="Play").wait_for(timeout=30_000)
    assert all(row.is_visible() for row in rows.locator("td.rank").all()), "it ends with the last layer"
    no_trouble(page)


def test_a_figure_is_saved_at_the_width_of_a_column_with_its_address(tour):
    page = tour("/Layers?k=10")
    # A click while the page is still being drawn is lost.
    page.get_by_role("button", name="Save").first.click()
    settle(page)
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save SVG").click()
    drawing = saving.value.path().read_text(encoding="utf-8")
    assert saving.value.suggested_filename.endswith("-1-column.svg") and re.search(r'<svg[^>]* width="312', drawing)
    (axes,) = re.findall(r'class="plotclip"><rect width="([\d.]+)"', drawing)
    assert float(axes) >= 0.65 * 312
    page.get_by_text("PNG", exact=True).first.click()
    settle(page)
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save PNG").click()
    with Image.open(saving.value.path()) as image:
        image.load()
        assert image.width == round(3.25 * 300) and image.info["dpi"] == pytest.approx((300, 300), abs=0.1)
    page.get_by_text("PDF", exact=True).first.click()
    settle(page)
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save PDF").click()
    written = saving.value.path().read_bytes()
    assert written.startswith(b"%PDF-") and re.search(rb"/MediaBox \[0 0 234 ", written), "3.25 inches of 72 points"
    page.get_by_role("tab", name="Link").click()
    assert "/Layers" in page.locator('[data-testid="stTabs"] code').last.inner_text()
    no_trouble(page)


def test_a_typed_sentence_is_answered_at_every_layer(visit):
    page = visit("/Ask")
    box = page.get_by_role("textbox").first
    box.fill("The capital of Spain is [MASK].")
    box.press("Control+Enter")
    settle(page)
    page.get_by_text(" says ").first.wait_for()
    assert "Computed on the" in page.inner_text("body")
    assert "prompt=" in page.url
    no_trouble(page)


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_shows_what_it_is_taken_for(request, tmp_path, name):
    picture, kept = PICTURES[name], os.environ.get("PROBING_PICTURES")
    # A picture that is kept shows what a user finds first.
    page = request.getfixturevalue("visit" if kept else "tour")(picture.path, width=WIDTH)
    page.wait_for_selector(picture.shows)
    if picture.top:
        page.locator(picture.top).first.evaluate(
            """(element, above) => {
                const main = document.querySelector('[data-testid="stMain"]');
                main.scrollTop += element.getBoundingClientRect().top - above;
            }""",
            picture.above,
        )
        settle(page)
    boxes = [found for one in page.locator(picture.shows).all() if (found := one.bounding_box())]
    assert any(0 < box["y"] < HEIGHT - 200 and box["x"] + box["width"] <= WIDTH for box in boxes)
    page.screenshot(path=Path(kept or tmp_path) / f"{name}.png")


#: Words of a sentence, of which spans are chosen by clicks and by keys.
WORDS = "/Ask?ask_view=spans&prompt=the+old+bank+sold+%3Cb%3Ethe%3C%2Fb%3E+river"
FRUIT = "/Ask?ask_view=spans&prompt=Rome+is+a+city+in+Italy"


def word(page, name: str):
    """The button of a word, whatever span it is in."""
    return page.get_by_role("group", name="Words of the sentence").get_by_role(
        "button", name=re.compile(rf"^{re.escape(name)}(, span \d)*$")
    )


def pressed(page) -> list[str]:
    """The words that are in a span."""
    group = page.get_by_role("group", name="Words of the sentence")
    return [
        one.inner_text() for one in group.get_by_role("button").all() if one.get_attribute("aria-pressed") == "true"
    ]


def wait_for_link(page, words: str) -> None:
    page.wait_for_url(re.compile(re.escape(words)))
    settle(page)


def test_two_clicks_choose_a_span_a_second_click_on_a_word_that_word_and_a_third_begins_again(tour):
    page = tour(f"{FRUIT}&span1=-")
    assert pressed(page) == []
    word(page, "is").click()
    assert "begins with “is”" in page.locator(".picker .says").inner_text() and "span1=-" in page.url
    word(page, "city").click()
    wait_for_link(page, "span1=1-4")
    assert pressed(page) == ["is", "a", "city"]
    word(page, "Italy").click()
    word(page, "Italy").click()
    wait_for_link(page, "span1=5-6")
    assert pressed(page) == ["Italy"]
    no_trouble(page)


def test_the_second_span_has_a_button_and_the_two_change_places(tour):
    page = tour(f"{FRUIT}&span1=0-1")
    page.get_by_role("button", name="Span 2", exact=True).click()
    word(page, "in").click()
    word(page, "city").click()
    wait_for_link(page, "span2=3-5")
    page.get_by_role("button", name="Swap").click()
    wait_for_link(page, "span1=3-5")
    assert "span2=0-1" in page.url and pressed(page) == ["Rome", "city", "in"]
    page.get_by_role("button", name="Remove").click()
    page.wait_for_url(lambda url: "span2=0-1" not in url)
    settle(page)
    assert pressed(page) == ["city", "in"]
    no_trouble(page)


def test_keys_alone_choose_a_span(tour):
    page = tour(f"{FRUIT}&span1=-")
    word(page, "Rome").focus()
    for key in ("ArrowRight", "ArrowRight", "Shift+ArrowRight"):
        page.keyboard.press(key)
    wait_for_link(page, "span1=2-4")
    assert pressed(page) == ["a", "city"]
    word(page, "city").focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    wait_for_link(page, "span1=0-6")
    no_trouble(page)


def test_words_of_strangers_are_text_of_buttons_and_a_copied_link_opens_the_same_view(tour, visit, tmp_path):
    page = tour(f"{WORDS}&span1=4-5")
    assert page.locator(".picker .words b").count() == 0
    assert pressed(page) == ["<"]
    again = visit(page.url.split("127.0.0.1")[1].split("/", 1)[1].join(["/", ""]))
    assert pressed(again) == ["<"]
    shoot(again, "span-picker", tmp_path)
    no_trouble(again)
