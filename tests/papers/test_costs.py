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
def test_every_part_of_a_paper_has_a_cost_and_is_left_until_it_is_stored(paper, cache, tmp_path, monkeypatch):
    monkeypatch.setenv("PROBING_SNAPSHOT", str(tmp_path / "none"))
    request = ReproduceRequest(paper=paper, heads=("tied", "full", "logit_lens"))
    plan = stages.planned(request, stages.PROCEDURES[paper])
    left = stages._left(plan, list(Stage))
    assert set(left) <= set(costs())
    for name in plan.models:
        (cache / "models" / name).mkdir(parents=True)
        (cache / "models" / name / "config.json").write_text("{}")
    parts = [part.cost for part in plan.procedure.parts(plan)]
    assert stages._left(plan, list(Stage)) == parts and len(left) == len(parts) + len(plan.models)
    assert stages._left(plan, [Stage.fetch]) == []


def test_of_the_shipped_family_nothing_is_left_to_probe(cache, monkeypatch):
    monkeypatch.delenv("PROBING_SNAPSHOT", raising=False)
    request = ReproduceRequest(family="nesia-mini")
    assert stages._left(stages.planned(request, stages.PROCEDURES[PaperName.bertnesia]), list(Stage)) == []


def test_hours_and_disk_add_up_memory_does_not_and_nothing_left_has_no_words():
    one, other = costs()["probe"], costs()["forgetting recover"]
    _, hours, memory, disk = in_words(["probe", "probe", "forgetting recover"])
    assert hours.startswith(f"  hours: about {2 * one.hours + other.hours:,.0f} (")
    assert memory == f"  memory: {max(one.memory, other.memory):.1f} GB"
    assert disk == f"  disk: {2 * one.disk + other.disk:.1f} GB"
    assert in_words([]) == []
