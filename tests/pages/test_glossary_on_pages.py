"""The search of the Methods page."""

from probing.core.glossary.terms import glossary
from probing.core.metrics import METRICS
from probing.ui.methods.search import Entry, found
from probing.ui.widgets.markdown import Markdown
from tests.pages.conftest import words

TABS = 5


def shown(app) -> list[str]:
    """The kinds of the entries that a search shows."""
    return [one.value for one in app.main.caption]


def test_a_run_is_found_by_its_id_and_an_emptied_search_shows_the_tabs_again(visit):
    tables = visit("methods", query={"methods_tab": "data"}).dataframe
    run = next(table.value["run_id"].iloc[0] for table in tables if "run_id" in table.value)
    app = visit("methods", query={"methods_search": run})
    assert shown(app) == ["provenance"] and run in words(app)
    app.text_input(key="methods.methods_search").set_value("").run()
    assert len(app.tabs) == TABS and "methods_search" not in app.query_params


def test_an_entry_of_that_name_comes_first_then_those_with_the_words_in_their_titles():
    texts = {"rank": "a place", "head": "gives a **rank**", "rank among answers": "another", "fact": "no such word"}
    all_entries = [Entry("term", title, Markdown(text)) for title, text in texts.items()]
    assert [one.title for one in found(all_entries, "rank")] == ["rank", "rank among answers", "head"]
    assert glossary()["rank"].meaning == METRICS["gold_rank"].definition.rstrip(".")
