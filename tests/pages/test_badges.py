"""No fine-tuned model of the shipped family is named on a page without the word on whether it learned its task.

And every number about knowledge in a headline has its yardstick in the same or the next sentence (``headlines``). Both are read on one
visit of each tab of each page of the shipped results, which takes seconds.
"""

import json
import re
from collections.abc import Callable, Iterator

import pytest
from streamlit.testing.v1 import AppTest

from probing.core.registry import REPOSITORY, read_registry
from probing.core.tasks.task_success import in_words
from probing.figures.model_looks import MARKS
from probing.reports.runs import one_run_each
from probing.store.database import open_database
from probing.store.parquet import read_table
from probing.store.run_queries import runs as all_runs
from probing.ui.frame.page import View
from probing.ui.frame.selection import RunChoice
from tests.pages.conftest import PAGES, ROOT
from tests.pages.every_tab import EveryTab, links_to_tabs
from tests.pages.headlines import OF_THE_PAPER, headlines, without_yardstick

SNAPSHOT = REPOSITORY / "data" / "snapshot"
#: A model whose predictions ship fact by fact, and one of which counts do.
TUNED, COUNTED = "nesia-mini-qa-squad-1", "nesia-mini-qa-squad-2"
#: Page -> links on which fine-tuned models are named.
LINKS: dict[str, list[dict]] = {
    "home": [{}],
    "layer_curves": [{}, {"models": ["nesia-mini", TUNED], "heads": ["tied", "logit_lens"]}],
    "relations": [{}, {"model": TUNED}, {"model": COUNTED}],
    "compare": [{}, {"tuned": TUNED}, {"tuned": COUNTED}, {"tuned": "nesia-mini-control"}],
    "facts": [{}, {"model": TUNED, "versus": "nesia-mini", "part": "lost"}, {"model": "nesia-mini-rank-msmarco"}],
    "live": [{}, {"live_model": TUNED}],
    "heads": [{}, {"model": TUNED}],
    "pipeline": [{}, {"layerwise": "selectivity", "bars_of": "nesia-mini-ner-conll"}, {"edge_part": "test", "unseen": "1"}],
    "edge_sentences": [{}, {"trace_part": "dev", "trace_kind": "ambiguous"}],
    "sentence_probes": [{}],
    "fine_tuning": [{}, {"changed_model": TUNED}, {"changed_model": "nesia-mini-control"}],
    "forgetting": [{}],
    "reproduction": [{}, {"paper": "edge-probing"}],
    "methods": [{}],
}
SENTENCES = ("title", "header", "subheader", "markdown", "caption", "info", "warning", "error", "success")
MENUS = ("selectbox", "multiselect")
#: What a figure's stamp begins with: provenance, with full names.
STAMP = "BERTnesia Explorer ·"
#: What has to follow a name, whatever markup ends before it.
_SAID = r"[*_\s]*(?:" + "|".join([r":\w+-badge\[", *(re.escape(sign.strip()) for sign in MARKS.values())]) + ")"


@pytest.fixture(scope="module")
def names(shipped_database) -> list[str]:
    """Ids and short names of the shipped fine-tuned models, the longest first; without names that contain "control"."""
    with open_database(shipped_database) as db:
        view = View("home", RunChoice(), db, one_run_each(all_runs(db)))
        of_sentences = db.query("SELECT DISTINCT model, objective FROM runs_of_sentences WHERE coalesce(base, '') NOT IN ('', model)")
        tuned = [model for model in view.runs["model"].unique() if model in view.verdicts]
        found = {model: view.label(model) for model in tuned}
        marks = {model: next((sign for sign in MARKS.values() if label.endswith(sign)), "") for model, label in found.items()}
    assert {entry.name for entry in read_registry().models if entry.shipped and entry.base} <= set(tuned)
    assert all(marks[model] or "control" in model for model in tuned)
    plain = {name for model in tuned if marks[model] for name in (model, found[model].removesuffix(marks[model]))}
    # A model that was asked for no fact has the name of its objective, too, and it may begin with another model's.
    plain |= {name for row in of_sentences.itertuples() if "control" not in row.model for name in (row.model, row.objective)}
    return sorted(plain, key=len, reverse=True)


def unmarked(text: str, names: list[str]) -> list[str]:
    """The names in a text that no mark or badge follows; names in code are left out."""
    words = re.sub(r"(`+).*?\1", " ", text, flags=re.DOTALL)
    # The source of a metric may be the paper of a data set that a model is called after.
    words = re.sub(r"\*Source\*:.*", " ", words)
    words = re.sub(r"\\(.)", r"\1", words)
    every = [found[0] for found in re.finditer(rf"(?<![\w-])(?:{'|'.join(map(re.escape, names))})(?![\w-])", words)]
    return [name for name in dict.fromkeys(every) if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])(?={_SAID})", words)]


def drawn(part) -> list[str]:
    """The words of a figure: names of lines, ticks, titles and annotations; data passed to clicks is not shown."""
    if isinstance(part, list):
        return [word for one in part for word in drawn(one)]
    if not isinstance(part, dict):
        return []
    shown = [part[key] for key in ("name", "ticktext", "text", "label") if key in part]
    flat = [word for one in shown for word in (one if isinstance(one, list) else [one]) if isinstance(word, str)]
    return flat + [word for one in part.values() for word in drawn(one)]


def test_a_name_counts_as_marked_only_where_its_own_mark_follows():
    names = ["nesia-mini-qa-squad-1", "QA-1"]
    assert unmarked(r"nesia\-mini\-qa\-squad\-1 forgot", names) == ["nesia-mini-qa-squad-1"]
    assert unmarked("QA-1 and QA-12 ✓", names) == ["QA-1"]
    assert unmarked("QA-1 ✓ loses more than QA-12; QA-1 gains little", names) == [], "a passage says it once"
    assert unmarked("**QA-1** :green-badge[task learned], QA-1 ✗, *QA-1 ?*, `QA-1`", names) == []


def as_key(query: dict) -> str:
    return json.dumps(query, sort_keys=True)


@pytest.fixture(scope="module")
def shipped(shipped_cache) -> Iterator[Callable[..., AppTest]]:
    """Opens a page on the shipped results; each link once."""
    visited: dict[tuple[str, str], AppTest] = {}

    def opened(page: str, query: dict | None = None) -> AppTest:
        link = page, as_key(query or {})
        if link not in visited:
            app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=180)
            app.switch_page(PAGES[page]) if page != "home" else None
            for name, value in (query or {}).items():
                app.query_params[name] = value
            visited[link] = app.run()
        return visited[link]

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROBING_SNAPSHOT", str(SNAPSHOT))
        patch.setenv("PROBING_CACHE", str(shipped_cache))
        yield opened


@pytest.fixture(scope="module")
def shipped_tabs(shipped) -> Callable[..., EveryTab]:
    """As ``shipped``, with all tabs of the page."""
    return lambda page, query=None: EveryTab([shipped(page, (query or {}) | tab) for tab in links_to_tabs(page)])


def test_a_share_without_anything_to_hold_it_against_is_found():
    bare = "The model gives **23.9 %** of the facts. It is quick. The capital of France is Paris."
    assert without_yardstick(bare) == ["The model gives **23.9 %** of the facts."]
    assert without_yardstick("It gives **23.9 %**. The majority answer gives 22.9 %.") == []
    assert without_yardstick("It gives **23.9 %**, with a swapped subject 3.6 %.") == []
    assert without_yardstick("It gives **23.9 %**. So it is. The majority answer gives 22.9 %.") == ["It gives **23.9 %**."]


@pytest.mark.parametrize(("page", "query"), [(page, query) for page, queries in LINKS.items() for query in queries])
def test_a_fine_tuned_model_is_named_with_its_badge(page, query, shipped_tabs, names):
    app = shipped_tabs(page, query)
    assert not app.exception
    said = [(kind, str(one.value)) for kind in SENTENCES for one in getattr(app, kind)]
    found = [(kind, text) for kind, text in said if not any(words in text for words in OF_THE_PAPER) and unmarked(text, names)]
    found += [(kind, option) for kind in MENUS for one in getattr(app, kind) for option in one.options if unmarked(option, names)]
    figures = [drawn(json.loads(chart.proto.spec)) for chart in app.get("plotly_chart")]
    shown = [re.sub(r"(?<!-)<br>", " ", word).replace("<br>", "") for words in figures for word in words if not word.startswith(STAMP)]
    found += [("figure", word) for word in shown if unmarked(word, names)]
    assert found == []


def test_the_task_table_says_interval_baseline_and_verdict(shipped):
    app = shipped("compare", {"compare_tab": "models"})
    (table,) = (one.value for one in app.dataframe if "baseline_name" in one.value)
    assert "chance" not in table and {"value", "low", "high", "baseline", "other_name", "verdict", "definition"} <= set(table)
    marks = {in_words(verdict): mark for verdict, mark in MARKS.items()}
    for row in table[table["decides"]].itertuples():
        stored = [one for one in read_table(SNAPSHOT / f"tasks-{row.id}.parquet", "tasks").to_pylist() if one["metric"] == row.metric]
        assert (row.baseline_name, row.baseline) in [(one["chance_name"], pytest.approx(one["chance"])) for one in stored]
        assert row.model.endswith(marks[row.verdict]) or row.verdict == "control", "named as in the figures, with its mark"
    assert TUNED in set(table["id"]) and all(table["definition"])


@pytest.mark.parametrize("page", [page for page in PAGES if page != "live"])
def test_every_share_in_a_headline_has_its_yardstick(shipped_tabs, page):
    app = shipped_tabs(page)
    assert not app.exception
    texts = headlines(app)
    if page == "forgetting" and "No model was asked" in " ".join(one.value for one in app.info):
        return
    if page == "methods":
        # Its other shares are settings, such as how many tokens are masked.
        texts = [text for text in texts if re.search(r"\*\*\d", text)]
    assert texts
    # The glossary's own entry on intervals.
    bare = [one for text in texts for one in without_yardstick(text) if not one.startswith("- **95 % interval**")]
    assert bare == []
