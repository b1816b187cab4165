"""The page of decoding heads on planted stores, and the losses with their yardstick on Home and Compare."""

import pytest

from tests.pages.conftest import line_with, numbers_in, without_badges, words
from tests.pages.conftest import plain as said
from tests.pages.planted_family import charts
from tests.pages.test_relations_and_compare import stamps, table_with
from tests.pages.test_yardsticks import numbers
from tests.store.planted import PlantedRun, plant_runs
from tests.store.planted_heads import BASE, CONTROL, KNOWN, LENS_LOSS, RUNS, TRAINED, TUNED, plant_heads

pytestmark = pytest.mark.usefixtures("unfolded")


@pytest.fixture(scope="module", params=[(), ((TUNED, "least_squares"),)], ids=["full", "counted"])
def heads(request, tmp_path_factory):
    return plant_heads(tmp_path_factory.mktemp("heads") / "runs", request.param)


def lines(chart: dict) -> dict[str, dict]:
    """The measured lines of a figure over layers, by name."""
    return {trace["name"]: trace for trace in chart["data"] if trace.get("mode") == "lines+markers"}


@pytest.mark.parametrize("store", ["one model", "several"])
def test_one_kind_of_head_says_which_command_adds_another(visit, store):
    app = visit("heads", store)
    assert not app.exception
    commands = [one.value for one in app.code]
    if store == "one model":
        assert "python -m probing probe --model nesia-mini --head logit_lens --facts trex" in commands
        assert "was probed on T-REx with tied heads only" in said(app)
    else:
        assert not any("--head least_squares" in one or "nesia-mini --head logit_lens" in one for one in commands), "two kinds are stored"
        assert set(lines(charts(app)[0])) == {"tied", "logit_lens"}


def test_an_empty_store_says_what_fills_it(visit):
    app = visit("heads", "empty")
    assert not app.exception and "No results are stored yet" in words(app)


def test_all_kinds_are_drawn_each_with_its_swapped_subject_and_the_majority_answer_once(look, heads):
    app = look("heads", heads, model=BASE)
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


def test_the_cost_of_a_kind_of_head_is_shown_with_its_gain(look, heads):
    app = look("heads", heads, model=BASE)
    assert "is below that of the logit lens by: tied 1.50 nats (1,400 steps, 50.0 s); least_squares 1.50 nats (0 steps)" in said(app)
    cost = table_with(app, "inner_loss", "last_loss").set_index("head")
    assert cost.loc["tied", "seconds"] == 50.0


def test_the_first_sentence_says_with_both_numbers_where_the_read_out_changes_a_conclusion(look, heads):
    app = look("heads", heads, model=TUNED)
    assert numbers_in(line_with(app, "The read-out changes the conclusion"))[:2] == [1, 2], "of the fine-tuned models"
    line = line_with(app, "QA-SQuAD-2", "95 %", "tied", "least_squares")
    assert {1.7, 33.3} <= set(numbers_in(line)) and "P@1" in line and "T-REx" in line


def test_where_no_intervals_lie_apart_it_says_so(look, tmp_path):
    alike = plant_runs(tmp_path / "alike", [run for run in RUNS if run.model != TUNED])
    app = look("heads", alike, model=BASE)
    assert line_with(app, "changes no conclusion here", "none of 1")
    line = line_with(app, "Furthest apart", "control")
    assert "P@1" in line and "tied" in line and "least_squares" in line


def test_the_numbers_of_every_model_and_kind_are_a_table(look, heads):
    table = table_with(look("heads", heads, model=BASE), "fine-tuned model", "lost minus swapped, points")
    rows = table.set_index(["fine-tuned model", "head"])
    assert rows.loc[("QA-SQuAD-2 ?", "tied"), "lost, points"] == pytest.approx(87 / 120)
    assert rows.loc[("QA-SQuAD-2 ?", "least_squares"), "lost minus swapped, points"] == pytest.approx(20 / 120)
    assert len(rows) == 4


def test_filters_that_keep_no_fact_are_said_plainly(look, heads):
    app = look("heads", heads, model=BASE, exposures="stated")
    assert not app.exception and "No facts are left under these filters" in said(app)


@pytest.mark.parametrize("mode", ["majority", "swapped"])
def test_the_link_keeps_model_rank_and_mode(look, heads, mode):
    query = {"model": TUNED, "heads_minus": mode}
    app = look("heads", heads, **query)
    assert not app.exception and not app.info[1:]
    assert {name: value[0] if isinstance(value, list) else value for name, value in app.query_params.items()} == query
    name = {"majority": "majority answer", "swapped": "swapped subject"}[mode]
    assert any(f"minus {name}" in stamp for stamp in stamps(app))


def test_a_probe_set_of_another_kind_of_head_can_be_chosen(look, tmp_path):
    runs = [PlantedRun(), PlantedRun(head="logit_lens", probe_set="questions")]
    app = look("heads", plant_runs(tmp_path / "sets", runs), model=BASE, probe_set="questions")
    assert not app.exception and not [one for one in app.info if "Ignored" in one.value]
    assert app.selectbox(key="heads.probe_set").value == "questions"
    assert "was probed on questions (ours) with logit_lens heads only" in said(app)


def test_home_and_compare_show_the_loss_and_the_loss_minus_the_swapped_subject(look, heads):
    home = without_badges(said(look("home", heads)))
    assert "In points of P@1: QA-SQuAD-2 loses 72.5" in home and "and minus the swapped subject 48.3" in home
    assert "control loses 2.5" in home and "and minus the swapped subject 1.7" in home
    compare = look("compare", heads, tuned=TUNED, head="tied")
    assert said(compare).count("Minus the swapped subject the loss is 48.3 points") == 2
    models = look("compare", heads, tuned=TUNED, head="tied", compare_tab="models")
    assert said(models).count("Minus the swapped subject the loss is 48.3 points") == 1, "above the tabs"
    assert "P@1 minus swapped subject" in {trace.get("name") for chart in charts(models) for trace in chart["data"]}
    assert CONTROL in set(table_with(models, "lost", "lost_above")["model"])
