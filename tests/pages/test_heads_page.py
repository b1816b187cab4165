"""The page of decoding heads on planted stores, and the losses with their yardstick on Home and Compare."""

import pytest

from tests.pages.conftest import plain as said
from tests.pages.conftest import visited
from tests.pages.planted_family import charts
from tests.pages.test_relations_and_compare import table_with
from tests.pages.test_yardsticks import numbers
from tests.store.planted import PlantedRun, plant_runs
from tests.store.planted_heads import BASE, KNOWN, LENS_LOSS, TRAINED, TUNED, plant_heads

pytestmark = pytest.mark.usefixtures("unfolded")


@pytest.fixture(scope="module")
def heads(tmp_path_factory):
    return plant_heads(tmp_path_factory.mktemp("heads") / "runs")


@pytest.fixture(scope="module")
def look(heads, tmp_path_factory):
    return visited(heads, tmp_path_factory.mktemp("visits"))


def lines(chart: dict) -> dict[str, dict]:
    """The measured lines of a figure over layers, by name."""
    return {trace["name"]: trace for trace in chart["data"] if trace.get("mode") == "lines+markers"}


@pytest.mark.parametrize("counts", [(), ((TUNED, "least_squares"),)], ids=["full", "counted"])
def test_all_kinds_are_drawn_each_with_its_swapped_subject_and_the_majority_answer_once(look, tmp_path, counts):
    app = look("heads", plant_heads(tmp_path / "runs", counts), model=BASE)
    assert not app.exception
    curves, losses, lost = charts(app)
    known = lines(curves)
    assert list(known) == ["tied", "logit_lens", "least_squares"]
    assert len({trace["line"]["color"] for trace in known.values()}) == len({trace["marker"]["symbol"] for trace in known.values()}) == 3
    for head, trace in known.items():
        assert numbers(trace["y"])[-1] == pytest.approx(KNOWN[BASE, head] / 120 * 100)
        (dotted,) = [one for one in curves["data"] if one.get("name") == f"{head}: swapped subject"]
        assert dotted["line"]["dash"] == "dot" and dotted["line"]["color"] == trace["line"]["color"]
    assert len([trace for trace in curves["data"] if trace.get("name") == "majority answer"]) == 1
    assert {name: tuple(numbers(trace["y"])) for name, trace in lines(losses).items()} == {
        "logit_lens": LENS_LOSS,
        **{head: values for head, (values, _, _) in TRAINED.items()},
    }
    assert {name: trace["line"]["color"] for name, trace in lines(losses).items()} == {
        name: trace["line"]["color"] for name, trace in known.items()
    }
    assert {"P@1", "P@1 minus swapped subject", "tied", "least_squares"} <= {trace.get("name") for trace in lost["data"]}


def test_the_cost_of_a_kind_of_head_is_shown_with_its_gain(look):
    app = look("heads", model=BASE)
    assert "is below that of the logit lens by: tied 1.50 nats (1,400 steps, 50.0 s); least_squares 1.50 nats (0 steps)" in said(app)
    cost = table_with(app, "inner_loss", "last_loss").set_index("head")
    assert cost.loc["tied", "seconds"] == 50.0


def test_the_numbers_of_every_model_and_kind_are_a_table(look):
    table = table_with(look("heads", model=BASE), "fine-tuned model", "lost minus swapped, points")
    rows = table.set_index(["fine-tuned model", "head"])
    assert rows.loc[("QA-SQuAD-2 ?", "tied"), "lost, points"] == pytest.approx(87 / 120)
    assert rows.loc[("QA-SQuAD-2 ?", "least_squares"), "lost minus swapped, points"] == pytest.approx(20 / 120)
    assert len(rows) == 4


def test_a_probe_set_of_another_kind_of_head_can_be_chosen(look, tmp_path):
    runs = [PlantedRun(), PlantedRun(head="logit_lens", probe_set="questions")]
    app = look("heads", plant_runs(tmp_path / "sets", runs), model=BASE, probe_set="questions")
    assert not app.exception and not [one for one in app.info if "Ignored" in one.value]
    assert app.selectbox(key="heads.probe_set").value == "questions"
    assert "was probed on questions (ours) with logit_lens heads only" in said(app)
