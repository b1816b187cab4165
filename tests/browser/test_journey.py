"""A stranger's way through the app, on the shipped snapshot, in a real browser."""

import os
import re
from pathlib import Path

import pytest

from .conftest import settle

pytestmark = pytest.mark.browser
PAGES = {
    "Home": "/", "Layer curves": "/Layer_curves", "Relations": "/Relations", "Compare models": "/Compare_models", "Facts": "/Facts",
    "Live": "/Live", "Live, spans": "/Live?live_view=spans", "Decoding heads": "/Decoding_heads", "Pipeline": "/Pipeline",
    "Edge sentences": "/Edge_sentences", "Reproduction": "/Reproduction", "Edge probing's paper": "/Reproduction?paper=edge-probing",
    "Methods and data": "/Methods_and_data",
}  # fmt: skip
WITH_FIGURES = ("Home", "Layer curves", "Relations", "Compare models", "Live", "Live, spans", "Pipeline", "Edge sentences")


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


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", PAGES)
def test_every_page_has_content_in_light_and_dark_at_both_widths(visit, tmp_path, name, width, dark):
    page = visit(PAGES[name], width=width, dark=dark)
    no_trouble(page)
    if name in WITH_FIGURES:
        page.wait_for_selector(".js-plotly-plot .main-svg")
    assert len(page.inner_text('[data-testid="stMain"]')) > 400
    shoot(page, f"{re.sub(r'[^a-z]+', '-', name.lower())}-{width}-{'dark' if dark else 'light'}", tmp_path)


def test_from_home_to_rocky_balboa_by_clicks(visit):
    page = visit("/")
    page.get_by_role("link", name="Facts").first.click()
    page.wait_for_url(re.compile("Facts"))
    settle(page)
    page.get_by_text("Rocky Balboa", exact=False).first.click()
    settle(page)
    page.wait_for_selector("text=Philadelphia")
    page.wait_for_selector(".js-plotly-plot .main-svg")
    no_trouble(page)


def test_a_typed_sentence_is_answered_at_every_layer(visit):
    page = visit("/Live")
    box = page.get_by_role("textbox").first
    box.fill("The capital of Spain is [MASK].")
    box.press("Control+Enter")
    settle(page)
    page.get_by_text("The last layer predicts").first.wait_for()
    assert "9 layers at once" in page.inner_text("body")
    assert "prompt=" in page.url
    no_trouble(page)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("Paris is a city.", "MASK"),
        ("[MASK] is in [MASK].", "gap"),
        ("word " * 600 + "[MASK].", "word pieces"),
        ("🙂🙃 <script>alert(1)</script> **bold** is [MASK].", "The last layer predicts"),
    ],
    ids=["no mask", "two masks", "too long", "emoji and markup"],
)
def test_odd_sentences_get_a_helpful_answer(visit, typed, expected):
    page = visit("/Live")
    box = page.get_by_role("textbox").first
    box.fill(typed)
    box.press("Control+Enter")
    settle(page)
    page.wait_for_timeout(1500)
    assert expected in page.inner_text('[data-testid="stMain"]')
    no_trouble(page)


def test_a_copied_link_opens_the_same_view(visit):
    page = visit("/Layer_curves?metric=p_at_10")
    first = page.inner_text('[data-testid="stMain"]')
    again = visit(page.url.split("127.0.0.1")[1].split("/", 1)[1].join(["/", ""]))
    assert again.inner_text('[data-testid="stMain"]') == first


def test_from_what_a_model_lost_to_one_lost_fact(visit):
    page = visit("/Compare_models?tuned=nesia-mini-qa-squad-1")
    link = page.get_by_role("link", name=re.compile(r"^\W*(\w+\W+)?erased: [\d,]+")).first
    number = re.search(r"erased: ([\d,]+)", link.inner_text()).group(1)
    link.click()
    page.wait_for_url(re.compile("Facts"))
    settle(page)
    shown = page.inner_text('[data-testid="stMain"]')
    assert f"{number} facts" in shown and "erased" in shown
    assert "part=erased" in page.url and "versus=nesia-mini" in page.url
    no_trouble(page)


def test_the_papers_claims_have_verdicts(visit):
    page = visit("/Reproduction")
    page.get_by_role("tab", name="Claims of the text").click()
    settle(page)
    shown = page.inner_text('[data-testid="stMain"]')
    assert "fine-tuning" in shown.lower()
    assert any(verdict in shown.lower() for verdict in ("holds", "does not hold", "cannot be tested"))
    no_trouble(page)


def test_two_models_answer_one_sentence_side_by_side(visit):
    page = visit("/Live?live_model=nesia-mini&live_models=nesia-mini-qa-squad-1&prompt=The+capital+of+France+is+%5BMASK%5D.&watch=paris")
    shown = page.inner_text('[data-testid="stMain"]')
    assert shown.count("; layer 0: ") == 2
    page.wait_for_selector(".js-plotly-plot .main-svg")
    no_trouble(page)


def test_a_keyboard_reaches_a_section_from_the_top_of_the_page_and_the_view_stays(visit):
    page = visit("/Compare_models?tuned=nesia-mini-qa-squad-1&k=10")
    link = page.get_by_text("On this page").get_by_role("link").nth(3)
    words = link.inner_text()
    link.focus()
    page.keyboard.press("Enter")
    page.wait_for_timeout(1500)
    place = page.get_by_role("heading", name=words, level=2).bounding_box()["y"]
    assert 0 <= place < 300 and "k=10" in page.url
    no_trouble(page)


def test_a_page_begins_just_below_its_menu(visit):
    page = visit("/Facts")
    menu, title = page.locator('[data-testid="stHeader"]').bounding_box(), page.locator("h1").bounding_box()
    assert title["y"] <= menu["y"] + menu["height"] + 1


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)])
@pytest.mark.parametrize("query", ["", "?prompt=Rocky+Balboa+was+born+in+___.&watch=philadelphia"], ids=["first visit", "stored fact"])
def test_answer_and_grid_of_the_shipped_model_are_visible_without_scrolling(visit, width, height, query):
    page = visit(f"/Live{query}", width=width, height=height)
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


def test_an_emptied_field_asks_for_a_sentence_with_a_gap(visit):
    page = visit("/Live")
    box = page.get_by_role("textbox").first
    box.fill("")
    page.get_by_role("button", name="Ask", exact=True).click()
    settle(page)
    shown = page.inner_text('[data-testid="stMain"]')
    assert "Type a sentence with a gap" in shown and "paris" not in shown
    box.fill("Rocky Balboa was born in <mask>.")
    page.get_by_role("button", name="Ask", exact=True).click()
    settle(page)
    page.get_by_text("The last layer predicts").first.wait_for()
    assert box.input_value() == "Rocky Balboa was born in <mask>."
