"""The benchmark of clicks in a browser: it runs, and its pages are those of the app."""

import shutil

import pytest

from tests.browser.conftest import INSTALL
from tests.speed import clicks
from tests.speed.page_visits import PAGES

pytestmark = pytest.mark.slow


def test_what_is_clicked_is_a_page_of_the_app():
    assert set(clicks.OURS) <= set(PAGES)
    assert all(one.path == "/" + name.replace(" ", "_") for name, one in clicks.OURS.items())


@pytest.mark.skipif(not (shutil.which("chromium") or shutil.which("chromium-browser")), reason=f"no chromium; to run it: {INSTALL}")
def test_every_kind_of_click_has_a_row_with_its_ratio(tmp_path, monkeypatch):
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path))
    rows = clicks.measure(quick=True)
    assert len(rows) == len(clicks.WHAT) * len(clicks.OURS)
    for row in rows:
        assert (
            row.alternative == clicks.BARE
            and row.ours_seconds > 0
            and row.ratio == pytest.approx(row.ours_seconds / row.alternative_seconds)
        )
