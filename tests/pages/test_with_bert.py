"""With BERT: what Home and Ask offer until it is here and asked, and that pages begin with it then."""

import pytest
import streamlit as st

from probing.kernel.models.names import BERT
from probing.live import page_live_models as live_models
from probing.live.page_live_models import Choice
from probing.own_model import run as background
from tests.pages.conftest import words


@pytest.fixture
def offered(visit, monkeypatch, tmp_path):
    """Opens a page of a server on this machine, with BERT here or not; gives the buttons and the words."""

    def opened(page: str = "home", *, here: bool = False, offline: bool = False, public: bool = False):
        menu = {name: Choice(name, name, "shipped", name != BERT or here) for name in ("nesia-mini", BERT)}
        monkeypatch.setattr(live_models, "choices", lambda: menu)
        monkeypatch.setattr(live_models, "offline", lambda: offline)
        monkeypatch.setattr(live_models, "load", lambda *_: (_ for _ in ()).throw(background.JobError("not loaded")))
        monkeypatch.setattr(st, "get_option", lambda name, get=st.get_option: get(name) or "127.0.0.1")
        monkeypatch.setenv("PROBING_PUBLIC", "1") if public else monkeypatch.delenv("PROBING_PUBLIC", raising=False)
        app = visit(page)
        assert not app.exception
        return [one.label for one in app.button if str(one.key).startswith(("bert.", "own_model."))], words(app)

    return opened


@pytest.mark.parametrize("page", ["home", "ask"])
def test_what_is_offered_is_the_next_step(offered, page, monkeypatch):
    monkeypatch.setattr("probing.own_model.bert.expected", lambda: (600.0, 60.0, 240.0))
    buttons, said = offered(page)
    assert buttons == ["Download BERT-base"] and "440 MB" in said and "logit lens" in said
    buttons, said = offered(page, here=True)
    assert buttons == ["Ask it all facts"] and "about 15 minutes" in said
    buttons, said = offered(page, offline=True)
    assert not buttons and "python -m probing fetch bert-base-uncased" in said
    buttons, said = offered(page, public=True)
    assert not buttons and "440 MB" not in said


def test_a_plan_leaves_no_run(run, cache):
    assert "probe --model bert-base-uncased" in run("bert", "--plan").output
    assert background.bert_run() is None


def test_a_run_that_ended_early_is_resumed_from_where_it_was_offered(offered):
    begun = background.prepare_bert(ask=False)
    buttons, said = offered()
    assert buttons == ["Resume", "Dismiss"] and "Resume does what is missing" in said
    assert background.bert_run() == begun and not background.own_runs()
