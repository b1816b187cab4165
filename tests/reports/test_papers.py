"""What holds for every paper: each claim has one rule, and without results of ours only the paper's own numbers are judged."""

import pytest

from probing.reports.reproduction.decisions import UNTESTED, VERDICTS
from probing.reports.reproduction.findings import claims_frame
from probing.reports.reproduction.papers import PAPERS

#: Paper -> number of its claims, and names of its sides in the frame.
KNOWN = {
    "bertnesia": (15, ["paper"]),
    "edge-probing": (17, ["BERT-base", "BERT-large"]),
    "interplay": (18, ["paper"]),
    "forgetting": (2, []),
}
#: Claims that are not tested, or that are arithmetic with the paper's own numbers and always decided.
UNTESTED_HERE, DECIDED = "few violations are not syntactic", "390 probes on 12 models"


@pytest.fixture(params=PAPERS.values(), ids=PAPERS)
def paper(request):
    return request.param


def test_every_claim_has_a_rule_and_every_rule_a_claim(paper):
    assert set(paper.rules) == {claim.name for claim in paper.numbers.claims} and len(paper.rules) == KNOWN[paper.name][0]


def test_every_rule_names_its_query_and_says_in_words_when_the_claim_holds_and_when_it_cannot_tell(paper):
    for name, rule in paper.rules.items():
        assert rule.query and ("Holds if" in rule.words or name == UNTESTED_HERE)
        assert "annot" in f"{rule.words} {rule.unsure}" or name in (UNTESTED_HERE, DECIDED)


def test_without_a_database_the_published_numbers_are_judged_alone(paper):
    found = paper.compare(None)
    assert found.ours is None and [one.claim for one in found.judged] == list(paper.numbers.claims)
    assert {(one.found.verdict, one.found.numbers) for one in found.judged} == {(UNTESTED, paper.nothing)}
    frame, (claims, sides) = claims_frame(found.judged), KNOWN[paper.name]
    assert len(frame) == claims and list(frame)[:2] == ["claim", "verdict"] and list(frame)[2 : 2 + len(sides)] == sides
    assert set(frame[sides].to_numpy().ravel()) <= set(VERDICTS)
    assert set(paper.written) <= set(found.tables)
