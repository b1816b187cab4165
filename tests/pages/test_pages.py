"""Every page with an empty, a one-model and a full store, and the ways between them."""

import os
import subprocess
import sys
from urllib.parse import parse_qs

import pytest

from probing.store import parquet
from probing.ui.widgets import blocks
from tests.pages.conftest import PAGES, ROOT, charts, words
from tests.pages.every_tab import EveryTab, links_to_tabs
from tests.store.planted import SEVERAL, plant_runs

pytestmark = pytest.mark.usefixtures("unfolded")

NEEDS_RESULTS = ("layers", "facts")


@pytest.mark.parametrize("store", ["empty", "several"])
@pytest.mark.parametrize("page", [page for page in PAGES if page != "ask"])
def test_a_page_opens_without_an_error(visit, page, store):
    """Every tab on the richer store, the first on the other; the process that loads no torch opens the first on one
    model.
    """
    tabs = links_to_tabs(page)[: None if store == "several" else 1]
    app = EveryTab([visit(page, store, tab) for tab in tabs])
    assert not app.exception
    assert all(title.value for title in app.title) and len(app.title) == len(tabs)
    if store != "empty" and page in NEEDS_RESULTS:
        assert charts(app)
    assert all(table.proto.placeholder == blocks.EMPTY for table in app.dataframe), (
        "a cell without a value would say None"
    )


def test_a_damaged_results_file_is_named_without_a_traceback(visit, own_snapshot, monkeypatch):
    broken = next(own_snapshot.rglob("predictions-*.parquet"))
    broken.write_bytes(broken.read_bytes()[:100])
    app = visit("layers", run=False)
    monkeypatch.setenv("PROBING_SNAPSHOT", str(own_snapshot))
    app.run()
    assert not app.exception
    assert "predictions" in app.warning[0].value


def test_a_results_file_of_another_version_is_a_warning_and_the_rest_is_shown(visit, own_snapshot, monkeypatch):
    with monkeypatch.context() as older:
        older.setattr(parquet, "VERSIONS", dict.fromkeys(parquet.VERSIONS, 0))
        plant_runs(own_snapshot / "older", SEVERAL[1:2])
    app = visit("layers", run=False)
    monkeypatch.setenv("PROBING_SNAPSHOT", str(own_snapshot))
    app.run()
    assert not app.exception
    (warning,) = app.warning
    assert "leave out a results file" in warning.value and "schema version 0" in warning.value
    assert "nesia-mini" in words(app)


def test_results_are_shown_with_a_cache_that_cannot_be_written(visit, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    app = visit("layers", run=False)
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "file" / "cache"))
    app.run()
    assert not app.exception and not app.warning and charts(app)


def test_a_results_file_that_is_damaged_while_the_app_runs_is_left_out_and_named(visit, own_snapshot, monkeypatch):
    app = visit("layers", run=False)
    monkeypatch.setenv("PROBING_SNAPSHOT", str(own_snapshot))
    assert charts(app.run())
    (path,) = own_snapshot.rglob("predictions-*.parquet")
    whole, times = path.read_bytes(), path.stat()
    path.write_bytes(whole[:4] + bytes(len(whole) // 2) + whole[4 + len(whole) // 2 :])
    # As bits on a disk change, unseen.
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert not app.switch_page("pages/5_Facts.py").run().exception
    assert "predictions" in app.run().warning[0].value and "Only counts are stored" in words(app)


def test_pages_that_ask_no_model_and_an_example_on_home_do_not_load_torch(planted_snapshots, tmp_path):
    pages = [path for page, path in PAGES.items() if page != "ask"]
    # The process takes what makes pages quick in tests from the tests.
    code = f"""
import sys
import tests.pages.conftest
from streamlit.testing.v1 import AppTest
for page in {pages!r}:
    app = AppTest.from_file("app.py", default_timeout=120)
    if page != "app.py":
        app.switch_page(page)
    app.run()
    if page == "app.py":
        app.pills(key="home.example").set_value(2).run()
    assert not app.exception and len(app.title) == 1, page
print(sorted({{"torch", "transformers"}} & set(sys.modules)))
"""
    places = {"PROBING_SNAPSHOT": str(planted_snapshots["one model"]), "PROBING_CACHE": str(tmp_path / "cache")}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, env=os.environ | places
    )
    assert run.stdout.strip().splitlines()[-1:] == ["[]"], run.stderr


def test_invalid_values_in_a_link_are_ignored_with_a_message(visit):
    app = visit("layers", query={"metric": "p_at_7", "models": "<b>gone</b>"})
    assert not app.exception
    assert any("metric" in note.value for note in app.info)
    assert any("gone" in note.value and "<b>" not in note.value for note in app.info)
    assert "metric" not in app.query_params


def test_the_facts_behind_a_point_are_all_of_them_whatever_was_filtered_before(visit):
    app = visit(
        "facts",
        "several",
        {"known": "never", "order": "fact", "part": "lost", "versus": "other-bert", "list_page": "2"},
    )
    app.switch_page(PAGES["layers"])
    app.query_params.clear()
    app.session_state["layers.point"] = True
    app.run()
    link = next(link.proto for link in app.get("page_link") if link.proto.label.startswith("Open "))
    assert not {"known", "order", "part", "versus", "list_page"} & set(parse_qs(link.query_string))
    number = link.label.split()[1]
    listed = visit("facts", "several", parse_qs(link.query_string))
    assert f"**{number} facts**" in words(listed)


def test_a_fact_is_found_by_search_and_leafed_through(visit):
    app = visit("facts", query={"text": "Germany"})
    assert "1 fact" in words(app) and r"The capital of Germany is \[MASK\]" in words(app)
    app.text_input(key="facts.text").set_value("").run()
    first = app.markdown[0].value
    next(button for button in app.button if button.label == "Next").click().run()
    assert app.query_params["fact"] and app.markdown[0].value != first


def test_rocky_balboa_is_one_click_away(visit):
    app = visit("facts", "several", {"probe_set": "questions", "text": "bank"})
    next(button for button in app.button if button.label == "Rocky Balboa").click().run()
    assert not app.exception
    assert r"Rocky Balboa was born in \[MASK\]" in words(app)
    assert charts(app)


def test_a_search_without_result_offers_to_clear_the_filters(visit):
    app = visit("facts", query={"text": "no such words"})
    assert any("No fact passes" in note.value for note in app.info)
    next(button for button in app.button if button.label == "Clear all filters").click().run()
    assert "10 facts" in words(app)


def test_an_unknown_fact_in_a_link_is_a_note(visit):
    app = visit("facts", query={"fact": "feedfacefeedface"})
    assert not app.exception and any("not in these results" in note.value for note in app.info)


def test_going_back_in_the_browser_goes_back_to_the_former_view(visit):
    app = visit("facts", query={"text": "Germany"})
    app.text_input(key="facts.text").set_value("Italy").run()
    assert r"The capital of Italy is \[MASK\]" in words(app)
    app.query_params["text"] = "Germany"
    app.run()
    assert r"The capital of Germany is \[MASK\]" in words(app)
    assert app.text_input(key="facts.text").value == "Germany"
