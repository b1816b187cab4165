"""A click runs a part of the page: it shows what its link shows, and quick clicks end where the last one does."""

import re

import pytest

from tests.browser.conftest import settle
from tests.speed.clicks import OURS, offered

#: What is read of a page: the words of its main part, and where its links to other pages lead.
_READ = """() => {
    const said = document.querySelector('[data-testid="stMain"]').innerText.replace(/\\s+/g, ' ');
    const links = [...document.querySelectorAll('[data-testid="stPageLink-NavLink"]')].map(one => one.href);
    const others = links.filter(one => new URL(one).pathname !== location.pathname);
    return [said, ...others].join('\\n');
}"""
TURNED = [(page, click) for page, turned in OURS.items() for click in turned.clicks]


def choose(page, click, number: int) -> None:
    choices = offered(page, click)
    choices.nth(min(number, choices.count() - 1)).evaluate("one => one.click()")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "click"), TURNED, ids=[f"{page}-{click.name}" for page, click in TURNED])
def test_a_click_shows_what_its_link_shows(visit, name, click):
    page = visit(OURS[name].path)
    before, address = page.evaluate(_READ), page.url
    choose(page, click, 1)
    page.wait_for_url(lambda url: url != address)
    settle(page)
    shown = page.evaluate(_READ)
    assert shown != before
    again = visit(re.sub("^http://[^/]*", "", page.url))
    assert again.evaluate(_READ) == shown


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Layers", "Compare models", "Grammar", "Papers"])
def test_quick_clicks_end_with_what_the_last_one_shows(visit, name):
    page = visit(OURS[name].path)
    for click in OURS[name].clicks:
        for number in (1, 2, 0, 2, 1, 0):
            choose(page, click, number)
            page.wait_for_timeout(120)
    settle(page)
    shown = page.evaluate(_READ)
    assert visit(re.sub("^http://[^/]*", "", page.url)).evaluate(_READ) == shown


@pytest.mark.slow
def test_a_figure_is_drawn_once(visit):
    page = visit("/Layers?k=10")
    again = page.evaluate("""() => new Promise(done => {
        const seen = new Set();
        let again = 0;
        const look = () => document.querySelectorAll('.js-plotly-plot').forEach(figure => {
            if (seen.has(figure) || !figure.on) return;
            seen.add(figure);
            figure.on('plotly_beforeplot', () => { again += 1; });
        });
        new MutationObserver(look).observe(document.body, {subtree: true, childList: true, attributes: true});
        document.querySelector('.st-key-layers-k button').click();
        setTimeout(() => done([seen.size, again]), 5000);
    })""")
    # The page's two figures before the click and after it.
    assert again[0] == 4 and again[1] == 0
