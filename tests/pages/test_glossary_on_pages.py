"""The glossary of the page of methods, and its other tabs."""

import re

import pytest

from probing.core.glossary.terms import anchor, glossary
from probing.core.metrics import METRICS
from probing.ui.choices.methods import TABS


def targets(app) -> list[str]:
    """The link targets of the entries that are shown."""
    bodies = [one.proto.body for one in app.get("html")]
    return [target for body in bodies for target in re.findall(r'<p id="([^"]+)"', body)]


def test_every_term_has_a_link_target_of_its_own_and_a_search_shows_those_with_its_words(visit):
    app = visit("methods")
    assert sorted(targets(app)) == sorted({anchor(name) for name in glossary()}) and len(targets(app)) == len(
        glossary()
    )
    app.text_input(key="methods.methods_search").set_value("swapped subject").run()
    assert "blind-guess" in targets(app) and len(targets(app)) < 20
    assert app.query_params["methods_search"] in ("swapped subject", ["swapped subject"])
    app.text_input(key="methods.methods_search").set_value("no such word").run()
    assert not targets(app) and app.info


@pytest.mark.parametrize("store", ["one model", "empty"])
@pytest.mark.parametrize("tab", TABS)
def test_every_tab_opens_and_metrics_and_runs_are_tables(visit, store, tab):
    app = visit("methods", store, {"methods_tab": tab})
    assert not app.exception
    if tab == "metrics":
        assert list(app.dataframe[0].value["name"]) == list(METRICS)
    if tab == "runs" and store == "one model":
        assert "run_id" in app.dataframe[0].value and any("data fingerprint" in one.value for one in app.markdown)
