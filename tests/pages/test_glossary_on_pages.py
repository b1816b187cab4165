"""Hover help and the search of the Methods page, which come from one glossary."""

import pytest

from probing.core.glossary.terms import glossary
from probing.core.metrics import METRICS
from probing.ui.methods.search import Entry, found
from probing.ui.widgets.markdown import Markdown
from tests.pages.conftest import words

TABS = 5


def shown(app) -> list[str]:
    """The kinds of the entries that a search shows."""
    return [one.value for one in app.main.caption]


@pytest.mark.parametrize(
    ("query", "kind"),
    [("logit lens", "term"), ("p@100", "quantity"), ("minus swapped newcombe", "baseline"),
     ("ranks count from 1", "difference"), ("nesia-mini apache", "provenance"), ("wilson intervals", "method")],
)  # fmt: skip
def test_a_search_in_the_link_shows_the_entries_that_have_all_its_words(visit, query, kind):
    app = visit("methods", query={"methods_search": query})
    assert not app.exception and not app.tabs and any(one.startswith(kind) for one in shown(app))
    assert app.text_input(key="methods.methods_search").value == query


def test_a_run_is_found_by_its_id_and_an_emptied_search_shows_the_tabs_again(visit):
    tables = visit("methods", query={"methods_tab": "data"}).dataframe
    run = next(table.value["run_id"].iloc[0] for table in tables if "run_id" in table.value)
    app = visit("methods", query={"methods_search": run})
    assert shown(app) == ["provenance"] and run in words(app)
    app.text_input(key="methods.methods_search").set_value("").run()
    assert len(app.tabs) == TABS and "methods_search" not in app.query_params


def test_nothing_is_found_for_words_of_no_entry(visit):
    app = visit("methods", query={"methods_search": "<b>nowhere</b> *at* all"})
    assert not app.exception and shown(app) == [] and len(app.main.info) == 1


def test_an_entry_of_that_name_comes_first_then_those_with_the_words_in_their_titles():
    texts = {"rank": "a place", "head": "gives a **rank**", "rank among answers": "another", "fact": "no such word"}
    all_entries = [Entry("term", title, Markdown(text)) for title, text in texts.items()]
    assert [one.title for one in found(all_entries, "rank")] == ["rank", "rank among answers", "head"]
    assert glossary()["rank"].meaning == METRICS["gold_rank"].definition.rstrip(".")
