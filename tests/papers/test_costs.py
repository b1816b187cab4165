"""What a reproduction costs: the numbers of the document, and the lines before the work."""

import pytest

from probing.kernel.registry import REPOSITORY
from probing.papers import reproduce as stages
from probing.papers.costs import costs, in_words
from probing.papers.requests import OWN, PaperName, ReproduceRequest, Stage


def test_the_document_has_every_measured_row_and_nothing_needs_more_than_16_gb():
    lines = (REPOSITORY / "docs" / "scale.md").read_text(encoding="utf-8").splitlines()
    for one in costs().values():
        numbers = f"{one.hours:,g} | {one.memory:g} | {one.disk:g}"
        assert f"| {one.command} | {one.measured} | {one.whole} | {numbers} |" in lines
        assert one.memory <= 16


@pytest.mark.parametrize("paper", OWN)
def test_every_part_of_a_paper_has_a_cost(paper):
    plan = stages.planned(ReproduceRequest(paper=paper, heads=("tied", "logit_lens")), stages.PROCEDURES[paper])
    parts = stages._work(plan, list(Stage))
    assert set(parts) <= set(costs()) and len(parts) > len(plan.models)
    assert stages._work(plan, [Stage.fetch]) == ["fetch"] * parts.count("fetch") != []


def test_of_the_shipped_family_no_model_is_to_be_made():
    plan = stages.planned(ReproduceRequest(family="nesia-mini"), stages.PROCEDURES[PaperName.bertnesia])
    assert stages._work(plan, [Stage.fetch, Stage.finetune]) == []


def test_hours_and_disk_add_up_memory_does_not_and_nothing_left_has_no_words():
    one, other = costs()["probe"], costs()["forgetting recover"]
    _, hours, memory, disk = in_words(["probe", "probe", "forgetting recover"])
    assert hours.startswith(f"  hours: about {2 * one.hours + other.hours:,.0f} (")
    assert memory == f"  memory: {max(one.memory, other.memory):.1f} GB"
    assert disk == f"  disk: {2 * one.disk + other.disk:.1f} GB"
    assert in_words([]) == []
