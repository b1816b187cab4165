"""No fine-tuned model of the shipped family is named on a page without the word on whether it learned its task."""

import json
import re

import pytest
from streamlit.testing.v1 import AppTest

from probing.core.registry import REPOSITORY
from probing.figures.model_looks import MARKS
from probing.reports.runs import one_run_each
from probing.store.build import built_database
from probing.store.run_queries import runs as all_runs
from probing.ui.frame.page import View
from probing.ui.frame.selection import RunChoice
from tests.pages.conftest import PAGES, ROOT
from tests.pages.test_headlines import OF_THE_PAPER

SNAPSHOT = REPOSITORY / "data" / "snapshot"
TUNED = "nesia-mini-qa-squad-2"
#: Page -> links on which fine-tuned models are named.
LINKS: dict[str, list[dict]] = {
    "home": [{}],
    "layer_curves": [{}, {"models": ["nesia-mini", TUNED], "heads": ["tied", "logit_lens"]}],
    "relations": [{}, {"model": TUNED}],
    "compare": [{}, {"model": TUNED}, {"model": "nesia-mini-control"}],
    "facts": [{}, {"model": TUNED, "versus": "nesia-mini", "part": "lost"}, {"model": "nesia-mini-rank-msmarco"}],
    "live": [{}, {"live_model": TUNED}],
    "heads": [{}, {"model": TUNED}],
    "pipeline": [{}, {"layerwise": "selectivity", "bars_of": "nesia-mini-ner-conll"}, {"edge_part": "test", "unseen": "true"}],
    "edge_sentences": [{}, {"trace_part": "dev", "trace_kind": "ambiguous"}],
    "sentence_probes": [{}],
    "fine_tuning": [{}, {"changed_model": TUNED}, {"changed_model": "nesia-mini-control"}],
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
def cache(tmp_path_factory):
    """A cache with the database of the shipped results."""
    folder = tmp_path_factory.mktemp("cache")
    built_database([SNAPSHOT], folder / "database").close()
    return folder


@pytest.fixture(scope="module")
def names(cache) -> list[str]:
    """Ids and short names of the shipped fine-tuned models, the longest first; without names that contain "control"."""
    with built_database([SNAPSHOT], cache / "database") as db:
        view = View("home", RunChoice(), db, one_run_each(all_runs(db)))
        tuned = [model for model in view.runs["model"].unique() if model in view.verdicts]
        found = {model: view.label(model) for model in tuned}
        marks = {model: next((sign for sign in MARKS.values() if label.endswith(sign)), "") for model, label in found.items()}
    assert len(tuned) == 7 and sum(map(bool, marks.values())) >= 6
    plain = {name for model in tuned if marks[model] for name in (model, found[model].removesuffix(marks[model]))}
    return sorted(plain, key=len, reverse=True)


def unmarked(text: str, names: list[str]) -> list[str]:
    """The names in a text that no mark or badge follows; names in code are left out."""
    words = re.sub(r"(`+).*?\1", " ", text, flags=re.DOTALL)
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


@pytest.mark.parametrize(("page", "query"), [(page, query) for page, queries in LINKS.items() for query in queries])
def test_a_fine_tuned_model_is_named_with_its_badge(page, query, cache, names, monkeypatch):
    monkeypatch.setenv("PROBING_SNAPSHOT", str(SNAPSHOT))
    monkeypatch.setenv("PROBING_CACHE", str(cache))
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    app.switch_page(PAGES[page]) if page != "home" else None
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    said = [(kind, str(one.value)) for kind in SENTENCES for one in getattr(app, kind)]
    found = [(kind, text) for kind, text in said if not any(words in text for words in OF_THE_PAPER) and unmarked(text, names)]
    found += [(kind, option) for kind in MENUS for one in getattr(app, kind) for option in one.options if unmarked(option, names)]
    figures = [drawn(json.loads(chart.proto.spec)) for chart in app.get("plotly_chart")]
    shown = [word.replace("<br>", "") for words in figures for word in words if not word.startswith(STAMP)]
    found += [("figure", word) for word in shown if unmarked(word, names)]
    assert found == []


def test_the_task_table_says_interval_baseline_and_verdict(cache, monkeypatch):
    monkeypatch.setenv("PROBING_SNAPSHOT", str(SNAPSHOT))
    monkeypatch.setenv("PROBING_CACHE", str(cache))
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).switch_page(PAGES["compare"]).run()
    (table,) = (one.value for one in app.dataframe if "baseline_name" in one.value)
    assert "chance" not in table and {"value", "low", "high", "baseline", "other_name", "verdict", "definition"} <= set(table)
    row = table[(table["id"] == TUNED) & table["decides"]].iloc[0]
    assert row["model"] == "QA-SQuAD-2 ✗", "named as in the figures, with its mark"
    assert (row["metric"], row["baseline_name"], row["verdict"]) == ("F1", "never an answer", "trained, not learned")
    assert all(table["definition"])
