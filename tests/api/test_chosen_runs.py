"""Runs of models that have other heads and probe sets than the page's defaults."""

import pytest

from probing.api.results import Results
from probing.core.errors import FigureError, StoreError
from tests.store.planted import PlantedRun, plant_runs

#: ``my-bert`` and ``loner`` have no tied heads; ``loner`` was probed on other facts.
RUNS = (
    PlantedRun(),
    PlantedRun(probe_set="common_sense"),
    PlantedRun(head="logit_lens"),
    PlantedRun(model="my-bert", head="logit_lens", rank=lambda number, layer: 1 + number),
    PlantedRun(model="loner", head="logit_lens", probe_set="questions"),
)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    root = tmp_path_factory.mktemp("chosen")
    with Results(plant_runs(root / "runs", RUNS)) as found:
        yield found


def lines(figure) -> set[str]:
    return {one.name for one in figure.data if one.mode == "lines+markers"}


def test_a_named_model_without_tied_heads_has_a_line(results):
    both = lines(results.plot.curve(model=["my-bert", "nesia-mini"], probe_set="trex"))
    assert both == {"my-bert", "nesia-mini"}, "by the heads that both have"
    assert lines(results.plot.curve(model="my-bert")) == {"my-bert · own output layer"}
    assert lines(results.plot.curve(model="my-bert", probe_set="trex")) == {"my-bert · own output layer"}


def test_figures_without_a_named_model_are_those_of_the_page_with_a_line_of_every_added_model(results):
    of_trex = {"nesia-mini · retrained reader", "nesia-mini · own output layer", "my-bert · own output layer"}
    assert lines(results.plot.curve()) == {
        "loner · own output layer · questions (ours)",
        *(f"{name} · T-REx" for name in of_trex),
    }


def test_a_named_model_that_cannot_be_drawn_is_refused(results):
    with pytest.raises(StoreError, match="no run has model my-bert, head tied together"):
        results.plot.curve(model=["my-bert", "nesia-mini"], head="tied")


def test_two_models_are_compared_by_a_head_that_both_have(results):
    for part in ("lost", "gained"):
        found = results.facts("nesia-mini", part=part, base="my-bert")
        assert found.equals(results.facts("nesia-mini", "logit_lens", "trex", part=part, base="my-bert"))
    assert len(found)
    assert results.plot.facts("nesia-mini", part="gained", base="my-bert").data
    with pytest.raises(
        StoreError, match=r"my-bert and loner have no such run .*\. my-bert has logit_lens on trex\. loner has"
    ):
        results.facts("my-bert", part="lost", base="loner")


def test_any_two_models_with_the_same_facts_and_head_have_transitions(results):
    (row,) = results.transitions(model="nesia-mini", base="my-bert", k=1).to_dict("records")
    counts = {
        part: len(results.facts("nesia-mini", part=part, base="my-bert"))
        for part in ("kept", "gained", "lost", "never")
    }
    assert (row["base"], row["head"], row["probe_set"]) == ("my-bert", "logit_lens", "trex")
    assert {part: row[part] for part in counts} == counts and sum(counts.values()) == 10
    assert results.plot.transitions(model="nesia-mini", base="my-bert").data


def test_a_model_without_a_base_is_refused_with_what_to_do(results):
    with pytest.raises(
        StoreError, match="my-bert has no stored base; name the model to compare with in base=, or load it with base="
    ):
        results.transitions(model="my-bert")
    with pytest.raises(
        StoreError, match=r"loner and nesia-mini have no such run .* Probe both on the same facts with the same head"
    ):
        results.transitions(model="loner", base="nesia-mini")
    with pytest.raises(FigureError, match="model= and base= name any two models"):
        results.plot.transitions(model="my-bert")
