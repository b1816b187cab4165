"""Words of a sentence are chosen by clicks and by keys, in a real browser."""

import re

import pytest

from .conftest import settle
from .test_journey import no_trouble, shoot

pytestmark = pytest.mark.browser
LINK = "/Live?live_view=spans&words=the+old+bank+sold+%3Cb%3Ethe%3C%2Fb%3E+river"
FRUIT = "/Live?live_view=spans&words=Rome+is+a+city+in+Italy"


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


def test_two_clicks_choose_a_span_a_second_click_on_a_word_that_word_and_a_third_begins_again(visit):
    page = visit(FRUIT)
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


def test_the_second_span_has_a_button_and_the_two_change_places(visit):
    page = visit(f"{FRUIT}&span1=0-1")
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


def test_keys_alone_choose_a_span(visit):
    page = visit(FRUIT)
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


def test_words_of_strangers_are_text_of_buttons_and_a_copied_link_opens_the_same_view(visit, tmp_path):
    page = visit(f"{LINK}&span1=4-5")
    assert page.locator(".picker .words b").count() == 0
    assert pressed(page) == ["<"]
    again = visit(page.url.split("127.0.0.1")[1].split("/", 1)[1].join(["/", ""]))
    assert pressed(again) == ["<"]
    shoot(again, "span-picker", tmp_path)
    no_trouble(again)


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_sentences_of_the_paper_are_one_click_away(visit, tmp_path, width, dark):
    page = visit("/Live?live_view=spans", width=width, dark=dark)
    page.get_by_text("(b) china today", exact=True).click()
    wait_for_link(page, "words=china")
    assert pressed(page) == ["china", "today", "blacked"]
    no_trouble(page)
    shoot(page, f"live-spans-{width}-{'dark' if dark else 'light'}", tmp_path)
