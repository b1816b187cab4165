"""Claims as data: what a check may say, and what the shipped files say."""

import re

import pytest
from pydantic import ValidationError

from probing.core.claims import Check, Claim
from probing.core.edges.published import PublishedEdges
from probing.core.errors import PublishedError
from probing.core.forgetting.published import PublishedForgetting
from probing.core.knowledge.published import PublishedKnowledge
from probing.core.published import FOLDER
from probing.core.sentences.published import PublishedSentences

PAPERS = (PublishedKnowledge, PublishedEdges, PublishedSentences, PublishedForgetting)
CHECK = {"asks": "", "report": "edges summary", "columns": ("gain", "gain_low", "gain_high"), "relation": ">"}


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"relation": "about"}, "margin"),
        ({"relation": "="}, "relation"),
        ({"columns": ("gain",)}, "columns"),
        ({"margin": -1}, "margin"),
        ({"depth": 0}, "depth"),
        ({"for_each": {"task": ()}}, "for_each"),
        ({"in_turn": {"task": ("pos",)}}, "at least two"),
        ({"in_turn": {"task": ("pos", "srl")}, "second": {}}, "one of them"),
    ],
)
def test_a_check_that_cannot_be_decided_is_refused(wrong, named):
    with pytest.raises(ValidationError, match=named):
        Check(**{**CHECK, **wrong})


def test_every_combination_is_compared():
    check = Check(
        **CHECK, where={"part": "dev"}, for_each={"model": ("a", "b"), "task": ("pos", "srl")}, second={"model": "base"}
    )
    found = list(check.comparisons())
    assert [tuple(one.of.values()) for one in found] == [("a", "pos"), ("a", "srl"), ("b", "pos"), ("b", "srl")]
    assert found[3].first == {"part": "dev", "model": "b", "task": "srl"}
    assert found[3].second == {"part": "dev", "model": "base", "task": "srl"}


def test_a_claim_is_shown_in_one_place():
    with pytest.raises(ValidationError, match="expected a figure, a table or a page"):
        Claim(name="a claim", says="", where="", unchecked="it is not", shown={"figure": 1, "page": "home"})


@pytest.mark.parametrize("paper", PAPERS)
def test_a_figure_that_the_paper_does_not_have_is_refused(paper, tmp_path):
    text = (FOLDER / paper.file).read_text(encoding="utf-8")
    wrong = tmp_path / paper.file
    wrong.write_text(
        re.sub(r"shown = \{ (figure|page|table) = [^ ]+ \}", 'shown = { figure = "99" }', text, count=1),
        encoding="utf-8",
    )
    with pytest.raises(PublishedError, match="Figure 99"):
        paper.read(wrong)
