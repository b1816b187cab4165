"""The word on whether a model learned its task: marks on names, badges in sentences, the key and the evidence."""

from types import SimpleNamespace

import pandas as pd
import pytest

from probing.core.tasks.task_success import Verdict
from probing.figures.model_looks import MARKS, mark
from probing.reports.task_success import COLUMNS, SHORT
from probing.ui.frame.page import View
from probing.ui.frame.selection import RunChoice
from probing.ui.widgets.task_marks import BADGES, badge, mark_key

VERDICTS = {"qa *1*": "partly", "qa-2": "not learned", "rank": "cannot tell", "elsewhere": "no score stored", "a-control": "control"}


def unbroken(text: str) -> str:
    """As a page has it: no line ends before a per cent sign."""
    return text.replace(" %", "\u00a0%")


@pytest.fixture
def view():
    """What knows verdicts, without a store."""
    scored = {"metric": "F1", "value": 0.108, "low": 0.092, "high": 0.126, "baseline": 0.04, "baseline_name": "random span", "n": 1269}
    way = {"closed": 0.08, "published": 0.885, "published_metric": "F1", "published_source": "Wallat et al. 2020"}
    rows = [
        {"model": "qa *1*", "verdict": "partly", **scored, **way},
        {"model": "qa-2", **scored, "baseline": None},
        {"model": "elsewhere"},
    ]
    correlated = {"metric": "Matthews correlation", "value": 0.0996, "low": 0.039, "high": 0.1594, "baseline": 0.0}
    misses = dict(zip(SHORT, ("task accuracy", 0.6606, 0.6913, "majority label"), strict=True))
    rows += [{"model": "cola", **correlated, "baseline_name": "no correlation", "n": 1043, **misses}]
    table = pd.DataFrame(rows, columns=[*COLUMNS, *SHORT]).fillna({SHORT[0]: "", SHORT[3]: ""})
    return SimpleNamespace(verdicts=VERDICTS, learned=table)


def test_every_verdict_has_a_mark_and_a_badge():
    assert set(MARKS) == set(BADGES) == set(Verdict.__args__)
    assert mark("qa", "learned") == " ✓" and badge("qa", "not learned") == " :red-badge[trained, not learned]"
    assert mark("qa", "partly") == " ◐"
    assert badge("qa", "partly", "F1 10.8 %") == unbroken(r" :orange-badge[task partly learned: F1 10\.8 %]")


def test_a_base_has_neither_and_a_control_whose_name_says_so_has_a_badge_only():
    assert mark("base", None) == badge("base", None) == ""
    assert mark("a-Control", "control") == "" and mark("more", "control") == " (control)"
    assert badge("more of the same", "control") == " :gray-badge[control]" and badge("nesia-mini-control", "control") == ""


def test_the_key_explains_the_marks_that_are_there_and_no_others(view):
    assert mark_key(view, ["base"]) == ""
    assert mark_key(view, ["base", "qa *1*"]).startswith("◐ partly: ")
    assert mark_key(view, ["rank", "elsewhere"]).count("?") == 1
    every = mark_key(view, VERDICTS)
    assert [every.index(sign) for sign in "◐✗?"] == sorted(every.index(sign) for sign in "◐✗?") and "control: " in every


def test_a_page_without_a_store_knows_from_the_registry_what_was_fine_tuned(tmp_path, monkeypatch):
    view = View("live", RunChoice(), None, pd.DataFrame())
    assert view.label("bert-base-NER") == "bert-base-NER ?"
    assert view.called("bert-base-NER") == r"bert\-base\-NER :gray-badge[task score unknown]"
    assert view.label("bert-base-uncased") == view.called("bert-base-uncased").replace("\\", "") == "bert-base-uncased"
    assert view.called("nesia-mini-control") == r"nesia\-mini\-control", "the name says so"
    monkeypatch.setenv("PROBING_REGISTRY", str(tmp_path / "none.toml"))
    assert View("live", RunChoice(), None, pd.DataFrame()).label("bert-base-NER") == "bert-base-NER"
