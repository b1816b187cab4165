"""The benchmark of clicks in a browser: it runs, and its pages are those of the app."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from tests.browser.conftest import INSTALL
from tests.speed import clicks
from tests.speed.page_visits import PAGES

pytestmark = pytest.mark.slow


def test_what_is_clicked_is_a_page_of_the_app():
    assert set(clicks.OURS) == set(PAGES)
    assert all(one.path == "/" + name.replace(" ", "_") for name, one in clicks.OURS.items() if name != "Home")


@pytest.mark.skipif(
    not (shutil.which("chromium") or shutil.which("chromium-browser")), reason=f"no chromium; to run it: {INSTALL}"
)
def test_every_kind_of_click_has_a_row_with_its_ratio(tmp_path):
    # In a process of its own: other tests of this one may have a browser.
    words = [sys.executable, "-m", "tests.speed", "clicks", "--quick", "--json"]
    done = subprocess.run(
        words, env={**os.environ, "PROBING_CACHE": str(tmp_path)}, stdout=subprocess.PIPE, text=True, check=True
    )
    rows = json.loads(done.stdout)
    assert len(rows) == len(clicks.WHAT) * len(clicks.OURS)
    for row in rows:
        assert row["alternative"] == clicks.BARE and row["ours_seconds"] > 0
        assert row["ratio"] == pytest.approx(row["ours_seconds"] / row["alternative_seconds"])
