"""A stranger's way through the app, on the shipped snapshot, in a real browser.

All tests of the browser that can share a server and its windows are here: one server draws the shipped results once.
"""

import itertools
import os
import re
from pathlib import Path

import pytest
from PIL import Image

from . import accessibility
from .conftest import AT_THE_TOP, VIEWS, follow, settle
from .test_pictures import HEIGHT, PICTURES, WIDTH

pytestmark = pytest.mark.browser
PAGES = {
    "Home": "/",
    "Layer curves": "/Layers",
    "Relations": "/Relations",
    "Compare models": "/Compare_models",
    "Facts": "/Facts",
    "Live": "/Ask",
    "Decoding heads": "/Decoding_heads",
    "Grammar": "/Grammar",
    "Edge sentences": "/Edge_sentences",
    "Papers": "/Papers",
    "Edge probing's paper": "/Papers?paper=edge-probing",
    "Methods and data": "/Methods",
    "Sentence probes": "/Sentence_probes",
    "Forgetting": "/Forgetting",
    "Your model": "/Your_model",
}
#: Further links whose contrast and markup are looked at: other papers, views and tabs.
FURTHER = (
    "/Papers?paper=interplay", "/Papers?paper=forgetting", "/Papers?paper_tab=tables", "/Ask?live_view=spans",
    "/Ask?live_view=sentence", "/Ask?live_view=pairs", "/Compare_models?k=10&never=1", "/Layers?panels=1",
)  # fmt: skip
WITH_FIGURES = ("Home", "Layer curves", "Relations", "Compare models", "Live", "Grammar", "Edge sentences")

#: Pages that need not answer in their first screen, with one sentence, its figure and few numbers -> the reason.
WITHOUT_ANSWER = {
    "Methods and data": "a reference, which has a search",
    "Your model": "a form until there is a run",
    "Papers": "a table of what the paper claims",
    "Edge probing's paper": "a table of what the paper claims",
}
#: Pages with tabs of any height -> the reason.
TALL = {"Methods and data": "a reference, which has a search"}
WITH_TABS = {"Compare models", "Facts", "Grammar", "Papers", "Edge probing's paper", "Forgetting"}
#: Maximum height of any other page in any of its tabs, in pixels.
TALLEST = 6000
#: The top and the end of the first figure, in pixels from the top of the page, and the visible words above its end; null without one.
ABOVE = """() => {
    const main = document.querySelector('[data-testid="stMainBlockContainer"]'), drawn = '.js-plotly-plot, .stBidiComponent';
    const down = document.querySelector('[data-testid="stMain"]').scrollTop;
    const figure = [...main.querySelectorAll(drawn)].find(one => one.getBoundingClientRect().height > 10);
    if (!figure) return null;
    const {top, bottom} = figure.getBoundingClientRect(), words = [], walk = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        if (walk.currentNode.parentElement.closest(drawn + ', [role="tab"], style, script')) continue;
        const range = document.createRange();
        range.selectNodeContents(walk.currentNode);
        const box = range.getBoundingClientRect();
        if (box.height && box.width && box.bottom <= bottom) words.push(walk.currentNode.textContent);
    }
    return [top + down, bottom + down, words.join(' ')];
}"""
#: The interval of a value, which is one quantity with it.
INTERVAL = re.compile(r"\([^()]* to [^()]*\)")
#: Numbers that are no quantities: years, layers, parts of names, ranks to choose from.
NAMES = re.compile(r"\b(?:19|20)\d\d\b|layers?,? \d+|\S*[A-Za-z]-\d+\S*|P@\d+|F1")


def shoot(page, name: str, tmp_path: Path) -> None:
    """A screenshot, kept in ``$PROBING_SCREENSHOTS`` if that is set; a blank page makes a tiny file."""
    folder = Path(os.environ.get("PROBING_SCREENSHOTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.png"
    page.screenshot(path=path)
    assert path.stat().st_size > 15_000, f"{name} looks blank"


def answers_first(page, width: int, *, drawn: bool = True) -> None:
    """The first figure is in the first screen, below few words and numbers; unless it must be ``drawn``, there may be none."""
    if (found := page.evaluate(ABOVE)) is None and not drawn:
        return
    top, end, words = found
    assert end <= 900 if width == 1280 else top <= 500, (top, end)
    assert len(re.findall(r"[^\W\d_]{2,}", words)) <= 120, words
    assert len(re.findall(r"\d[\d.,]*", NAMES.sub("", INTERVAL.sub("", words)))) <= 5, words


def heights(page, width: int = 1280) -> dict[str, float]:
    """Title of a tab -> height of the page when it is open, in pixels; one height for a page without tabs.

    Tabs that are opened by a click answer first, too.
    """
    tabs = page.locator('[data-testid="stMain"] [role="tab"]').all()
    found = {}
    for tab in [one for one in tabs if one.is_visible()] or [None]:
        if tab is not None and tab.get_attribute("aria-selected") != "true":
            tab.click()
            settle(page)
            no_trouble(page)
            answers_first(page, width, drawn=False)
        box = page.locator('[data-testid="stMainBlockContainer"]').bounding_box()
        found[tab.inner_text() if tab is not None else ""] = box["height"]
    # Other tests go on in this window.
    if len(found) > 1:
        page.locator('[data-testid="stMain"] [role="tab"]').first.click()
        settle(page)
    return found


#: The pages that axe-core has looked at, and the faults of Streamlit that it met.
LOOKED_AT: set[str] = set()
MET: set[accessibility.Known] = set()


def no_violation(page) -> None:
    """No text of a figure is faint, and axe-core, if it is installed, finds nothing that is not Streamlit's own."""
    assert accessibility.faint(page) == [], page.url
    if accessibility.script() is None:
        return
    ours, met = accessibility.violations(page)
    MET.update(met)
    assert ours == [], page.url


def no_trouble(page) -> None:
    """No exception box, no traceback, no page wider than the window."""
    assert page.locator('[data-testid="stException"]').count() == 0
    assert "Traceback" not in page.inner_text("body")
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 1, f"the page is {wide} pixels wider than the window"


def test_every_page_is_reached_has_content_and_draws_its_figures(tour):
    for name, link in PAGES.items():
        page = tour(link)
        no_trouble(page)
        if name in WITH_FIGURES:
            page.wait_for_selector(".js-plotly-plot .main-svg")
        assert len(page.inner_text('[data-testid="stMain"]')) > 300, name


@pytest.mark.slow
@VIEWS
@pytest.mark.parametrize("name", PAGES)
def test_every_page_has_content_in_light_and_dark_at_both_widths(tour, tmp_path, name, width, dark):
    page = tour(PAGES[name], width=width, dark=dark)
    no_trouble(page)
    if name in WITH_FIGURES:
        page.wait_for_selector(".js-plotly-plot .main-svg")
    assert len(page.inner_text('[data-testid="stMain"]')) > 300
    if name not in WITHOUT_ANSWER:
        answers_first(page, width)
    if name == "Facts" and not dark:
        menu, title = page.locator('[data-testid="stHeader"]').bounding_box(), page.locator("h1").bounding_box()
        assert title["y"] <= menu["y"] + menu["height"] + 1, "the page begins just below its menu"
    shoot(page, f"{re.sub(r'[^a-z]+', '-', name.lower())}-{width}-{'dark' if dark else 'light'}", tmp_path)
    no_violation(page)
    LOOKED_AT.add(name)
    if name not in TALL and not dark:
        tabs = heights(page, width)
        assert (len(tabs) > 1) == (name in WITH_TABS)
        assert {tab: height for tab, height in tabs.items() if height > TALLEST} == {}


@pytest.mark.slow
@pytest.mark.parametrize("link", FURTHER)
def test_no_other_view_breaks_a_rule_of_accessibility(tour, link):
    """In a wide dark window, whose sidebar has the controls. The tabs of a paper answer first, too."""
    page = tour(link, dark=True)
    no_violation(page)
    if link.startswith("/Papers?paper="):
        heights(page)


@pytest.mark.slow
def test_every_known_fault_of_streamlit_is_still_there():
    if accessibility.script() is None:
        pytest.skip(f"axe-core is not installed; to run it: {accessibility.INSTALL}")
    if set(PAGES) - LOOKED_AT:
        pytest.skip("not all pages were looked at")
    assert MET == accessibility.STREAMLITS, "the list may only shrink"


@pytest.mark.parametrize(("link", "width"), [("/Compare_models?tuned=nesia-mini-ner-conll", 1280), ("/Forgetting", 390)])
def test_a_link_opens_its_page_with_the_groups_of_pages_from_the_first_visit_on(visit, link, width):
    page = visit(link, width=width, fresh=True)
    assert page.url.endswith(link)
    if width < 500:
        page.get_by_test_id("stExpandSidebarButton").click()
        page.wait_for_timeout(500)
    sidebar = page.get_by_test_id("stSidebar")
    headings = sidebar.get_by_role("heading", level=2)
    headings.first.wait_for(state="visible")
    assert headings.all_inner_texts() == ["Try it", "Facts", "Grammar", "Sentences", "Fine-tuning", "Your model", "Papers"]
    links = sidebar.get_by_role("link").all()
    assert len(links) == 15
    tops = [one.bounding_box() for one in links]
    assert all(low["y"] - high["y"] >= 24 for high, low in itertools.pairwise(tops)), "the smallest target of WCAG 2.2"
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= width for box in tops)
    # The order of the keys is that of the eye.
    links[0].focus()
    for following in links[1:]:
        page.keyboard.press("Tab")
        assert following.evaluate("one => one === document.activeElement")
    no_trouble(page)


def test_from_home_to_rocky_balboa_by_clicks(tour):
    page = tour("/")
    page.get_by_role("link", name="Facts").first.click()
    page.wait_for_url(re.compile("Facts"))
    settle(page)
    page.get_by_text("Rocky Balboa", exact=False).first.click()
    settle(page)
    page.wait_for_selector("text=Philadelphia")
    page.wait_for_selector(".js-plotly-plot .main-svg")
    no_trouble(page)


def test_home_reads_its_example_layer_by_layer_by_button_by_keys_and_by_word(tour):
    page = tour("/?example=3")
    base, tuned = page.locator(".story table.grid").all()
    rows = base.locator("tbody tr")
    assert rows.count() == 9 and tuned.locator("tbody tr").count() == 9
    assert all(row.is_visible() for row in rows.locator("td.rank").all())
    page.locator(".story .grids").focus()
    for key in ("Home", "ArrowUp"):
        page.keyboard.press(key)
    shown = [row.is_visible() for row in rows.locator("td.rank").all()]
    assert shown == [False] * 7 + [True] * 2, "layers 0 and 1, from the bottom up"
    says = page.locator(".story .says")
    assert says.inner_text().startswith("Layer 1: ") and says.inner_text().count(" says ") == 2
    word = rows.last.locator("td.word").first
    word.hover()
    assert says.inner_text().startswith(f"“{word.get_attribute('data-word')}”: ")
    assert "followed" in word.get_attribute("class")
    page.keyboard.press("End")
    page.get_by_role("button", name="Play").click()
    page.get_by_role("button", name="Pause").wait_for()
    page.get_by_role("button", name="Play").wait_for(timeout=30_000)
    assert all(row.is_visible() for row in rows.locator("td.rank").all()), "it ends with the last layer"
    no_trouble(page)


def test_a_figure_is_saved_at_the_width_of_a_column_with_its_address(tour):
    page = tour("/Layers?metric=p_at_10")
    # A click while the page is still being drawn is lost.
    for words in ("Table and downloads", "For a paper"):
        page.get_by_text(words).first.click()
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


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)])
def test_answer_and_grid_of_the_shipped_model_are_visible_without_scrolling(live, visit, width, height):
    """The window that other tests go on in shows here what a user finds first."""
    page = live if width == 1280 else visit("/Ask", width=width, height=height)
    _is_visible_without_scrolling(page, width, height)
    page.keyboard.press("Escape")
    follow(page, "/Ask?prompt=Rocky+Balboa+was+born+in+___.&watch=philadelphia")
    page.wait_for_function("""() => document.querySelector('[data-testid="stMain"]').innerText.includes("Philadelphia")""")
    _is_visible_without_scrolling(page, width, height)


def _is_visible_without_scrolling(page, width: int, height: int) -> None:
    page.wait_for_selector(".js-plotly-plot .heatmaplayer image, .js-plotly-plot .heatmaplayer .hm")
    answer = page.get_by_text("The last layer predicts").first.bounding_box()
    cells = page.locator(".js-plotly-plot .xy .textpoint, .js-plotly-plot .scatterlayer .text text").all()
    boxes = [box for cell in cells if (box := cell.bounding_box())]
    # Layers 0 to 8, five tokens each, and the legend.
    assert len(boxes) >= 45
    legend = page.locator(".js-plotly-plot .infolayer .colorbar").first.bounding_box()
    for box in (answer, legend, *boxes[:45]):
        assert box["y"] >= 0 and box["y"] + box["height"] <= height, box
        assert box["x"] >= 0 and box["x"] + box["width"] <= width, box
    assert answer["y"] < legend["y"] < boxes[0]["y"] + boxes[0]["height"]
    shown = [box.get_attribute("aria-label") for box in page.get_by_role("textbox").all() if box.is_visible()]
    assert len(shown) == 1, "other controls are behind More options"
    page.get_by_role("button", name="More options").click()
    for label in ("Compare with", "Track tokens", "Head", "Top-k per layer", "Change the sentence", "Restore base layers"):
        page.get_by_text(label, exact=True).first.wait_for()
    no_trouble(page)
    page.keyboard.press("Escape")


def test_a_typed_sentence_is_answered_at_every_layer(live):
    box = live.get_by_role("textbox").first
    box.fill("The capital of Spain is [MASK].")
    box.press("Control+Enter")
    settle(live)
    live.get_by_text("The last layer predicts").first.wait_for()
    assert "9 layers at once" in live.inner_text("body")
    assert "prompt=" in live.url
    no_trouble(live)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("Paris is a city.", "where the answer belongs"),
        ("[MASK] is in [MASK].", "The sentence has 2 gaps"),
        ("word " * 600 + "[MASK].", "word pieces"),
        ("🙂🙃 <script>alert(1)</script> **bold** is [MASK].", "The last layer predicts"),
    ],
    ids=["no mask", "two masks", "too long", "emoji and markup"],
)
def test_odd_sentences_get_a_helpful_answer(live, typed, expected):
    box = live.get_by_role("textbox").first
    box.fill(typed)
    box.press("Control+Enter")
    settle(live)
    live.wait_for_function("""text => document.querySelector('[data-testid="stMain"]').innerText.includes(text)""", arg=expected)
    no_trouble(live)


def test_a_copied_link_opens_the_same_view(visit):
    page = visit("/Layers?metric=p_at_10")
    first = page.inner_text('[data-testid="stMain"]')
    again = visit(page.url.split("127.0.0.1")[1].split("/", 1)[1].join(["/", ""]))
    assert again.inner_text('[data-testid="stMain"]') == first


def test_from_what_a_model_lost_to_one_lost_fact(tour):
    page = tour("/Compare_models?tuned=nesia-mini-ner-conll")
    link = page.get_by_role("link", name=re.compile(r"^\W*(\w+\W+)?not read at any layer: [\d,]+")).first
    number = re.search(r"not read at any layer: ([\d,]+)", link.inner_text()).group(1)
    link.click()
    page.wait_for_url(re.compile("Facts"))
    settle(page)
    shown = page.inner_text('[data-testid="stMain"]')
    assert f"{number} facts" in shown and "not read" in shown
    assert "part=not_read" in page.url and "versus=nesia-mini" in page.url
    no_trouble(page)


def test_two_models_answer_one_sentence_side_by_side(tour):
    page = tour("/Ask?live_model=nesia-mini&live_models=nesia-mini-qa-squad-1&prompt=The+capital+of+France+is+%5BMASK%5D.&watch=paris")
    shown = page.inner_text('[data-testid="stMain"]')
    assert shown.count("; layer 0: ") == 2
    page.wait_for_selector(".js-plotly-plot .main-svg")
    no_trouble(page)


def test_a_keyboard_reaches_a_section_from_the_top_of_the_page_and_the_view_stays(tour):
    page = tour("/?example=3")
    link = page.get_by_text("On this page").get_by_role("link").nth(3)
    words = link.inner_text()
    link.focus()
    page.keyboard.press("Enter")
    heading = page.get_by_role("heading", name=words, level=2)
    heading.evaluate(AT_THE_TOP, 300)
    assert 0 <= heading.bounding_box()["y"] < 300 and "example=3" in page.url
    no_trouble(page)


def test_an_emptied_field_asks_for_a_sentence_with_a_gap(live):
    box = live.get_by_role("textbox").first
    box.fill("")
    live.get_by_role("button", name="Ask", exact=True).click()
    settle(live)
    shown = live.inner_text('[data-testid="stMain"]')
    assert "Type a sentence with a gap" in shown and "paris" not in shown
    box.fill("Rocky Balboa was born in <mask>.")
    live.get_by_role("button", name="Ask", exact=True).click()
    settle(live)
    live.get_by_text("The last layer predicts").first.wait_for()
    assert box.input_value() == "Rocky Balboa was born in <mask>."


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
WORDS = "/Ask?live_view=spans&words=the+old+bank+sold+%3Cb%3Ethe%3C%2Fb%3E+river"
FRUIT = "/Ask?live_view=spans&words=Rome+is+a+city+in+Italy"


def word(page, name: str):
    """The button of a word, whatever span it is in."""
    return page.get_by_role("group", name="Words of the sentence").get_by_role(
        "button", name=re.compile(rf"^{re.escape(name)}(, span \d)*$")
    )


def pressed(page) -> list[str]:
    """The words that are in a span."""
    group = page.get_by_role("group", name="Words of the sentence")
    return [one.inner_text() for one in group.get_by_role("button").all() if one.get_attribute("aria-pressed") == "true"]


def wait_for_link(page, words: str) -> None:
    page.wait_for_url(re.compile(re.escape(words)))
    settle(page)


def test_two_clicks_choose_a_span_a_second_click_on_a_word_that_word_and_a_third_begins_again(tour):
    page = tour(FRUIT)
    assert pressed(page) == []
    word(page, "is").click()
    assert "begins with “is”" in page.locator(".picker .says").inner_text() and "span1" not in page.url
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
    page = tour(FRUIT)
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


@pytest.mark.slow
@VIEWS
def test_the_sentences_of_the_paper_are_one_click_away(tour, tmp_path, width, dark):
    page = tour("/Ask?live_view=spans", width=width, dark=dark)
    no_trouble(page)
    page.wait_for_selector(".js-plotly-plot .main-svg")
    assert len(page.inner_text('[data-testid="stMain"]')) > 400
    page.get_by_text("(b) china today", exact=True).click()
    wait_for_link(page, "words=china")
    assert pressed(page) == ["china", "today", "blacked"]
    no_trouble(page)
    shoot(page, f"live-spans-{width}-{'dark' if dark else 'light'}", tmp_path)
