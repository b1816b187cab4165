"""The word on whether a model learned its task: marks on names, badges in sentences, the key and the evidence."""

from types import SimpleNamespace

import pandas as pd
import pytest

from probing.core.tasks.task_success import Verdict
from probing.figures.model_looks import MARKS, mark
from probing.reports.task_success import COLUMNS, SHORT
from probing.ui.frame.page import View
from probing.ui.frame.selection import RunChoice
from probing.ui.widgets.task_marks import BADGES, badge, evidence, mark_key, task_sentence, task_words

VERDICTS = {"qa *1*": "partly", "qa-2": "not learned", "rank": "cannot tell", "elsewhere": "no score stored", "a-control": "control"}


def unbroken(text: str) -> str:
    """As a page has it: no line ends before a per cent sign."""
    return text.replace(" %", "\u00a0%")


WAY = unbroken(r"; 8 % of the way from there to the published F1 of 88.5 % (Wallat et al\. 2020)")


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


def test_the_evidence_has_score_interval_items_and_baseline_and_escapes_names(view):
    assert evidence(view, ["qa *1*", "elsewhere"]) == (
        unbroken(r"- qa \*1\*: F1 10.8 % (9.2 to 12.6) over 1,269; random span: 4.0 %") + WAY
    )
    ner = view.learned.iloc[:1].assign(published_metric="entity F1", published_source="X")
    view.learned = ner
    assert evidence(view, ["qa *1*"]).endswith(
        unbroken(r"; in another score, its entity F1, 8 % of the way from that score's baseline to the published 88.5 % (X)")
    )


def test_the_evidence_without_a_baseline_says_so(view):
    assert evidence(view, ["qa-2"]).endswith("over 1,269; no baseline is stored")
    assert evidence(view, ["elsewhere"]) == ""


def test_a_sentence_has_the_task_score_and_its_baseline(view):
    assert task_sentence(view, "qa *1*", "QA *1*") == (
        unbroken(r"QA \*1\*'s task score is F1 10.8 % (9.2 to 12.6), against a baseline of 4.0 % (random span)") + WAY + "."
    )
    assert task_sentence(view, "qa-2", "QA").endswith("(9.2 to 12.6), no baseline is stored.")
    assert task_sentence(view, "elsewhere", "E") == task_sentence(view, "base", "B") == ""


def test_a_correlation_is_no_percentage_and_an_accuracy_below_the_majority_is_in_the_same_sentence(view):
    short = unbroken("; its task accuracy of 66.1 % is below its baseline of 69.1 % (majority label)")
    said = f"task score is Matthews correlation 0.100 (0.039 to 0.159), against a baseline of 0.000 (no correlation){short}."
    assert task_words(view, "cola") == f"Its {said}" and task_words(view, "cola", "CoLA") == f"CoLA's {said}"
    assert evidence(view, ["cola"]) == f"- cola: Matthews correlation 0.100 (0.039 to 0.159) over 1,043; no correlation: 0.000{short}"


def test_a_page_without_a_store_knows_from_the_registry_what_was_fine_tuned(tmp_path, monkeypatch):
    view = View("live", RunChoice(), None, pd.DataFrame())
    assert view.label("bert-base-NER") == "bert-base-NER ?"
    assert view.called("bert-base-NER") == r"bert\-base\-NER :gray-badge[task score unknown]"
    assert view.label("bert-base-uncased") == view.called("bert-base-uncased").replace("\\", "") == "bert-base-uncased"
    assert view.called("nesia-mini-control") == r"nesia\-mini\-control", "the name says so"
    monkeypatch.setenv("PROBING_REGISTRY", str(tmp_path / "none.toml"))
    assert View("live", RunChoice(), None, pd.DataFrame()).label("bert-base-NER") == "bert-base-NER"
