"""The benchmarks of pages on a small store: they run."""

import pytest

from tests.speed import pages
from tests.speed.generated import Size, make_store
from tests.speed.page_visits import PAGES, TURNED

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path))


def test_visits_say_how_long_each_page_took_and_how_much_memory_all_held(tmp_path):
    found = pages._visits(make_store(tmp_path, Size(facts=500, top_k=1)), 1)
    assert [visit["page"] for visit in found["visits"]] == list(PAGES)
    assert all(len(visit["again"]) == 1 and visit["again"][0] > 0 for visit in found["visits"])
    assert all(bool(visit["other"]) == (visit["page"] in TURNED) for visit in found["visits"])
    assert 2**27 < found["bytes"] < found["bytes_with_ask"] - 2**26, "the model is in the second"
