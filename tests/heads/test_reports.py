"""What fine-tuning cost under each kind of head, and what heads reached in training: counted again from planted
ranks.
"""

import pandas as pd
import pytest

from probing.compared.report_heads import costs, losses, points_lost, read_out
from probing.facts.report_pairs import paired_with_yardsticks
from probing.facts.runs import pairs
from probing.kernel.stats.intervals import wilson
from probing.kernel.stats.paired_tests import newcombe
from probing.kernel.store.opening import open_database
from probing.kernel.store.stored import fact_runs, one_run_each
from tests.planted_heads import (
    BASE,
    CONTROL,
    FACTS,
    KNOWN,
    LENS_LOSS,
    TRAINED,
    TUNED,
    headed,
    plant_heads,
    plant_training,
    training_rows,
)
from tests.planted_store import plant_runs

#: The tuned model's least-squares run, as counts only.
ALONE = (TUNED, "least_squares")


@pytest.fixture(scope="module", params=[(), (ALONE,)], ids=["full", "counted"])
def db(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("heads")
    with open_database(plant_heads(folder / "runs", request.param)) as opened:
        yield opened


def of(db, k: int = 1) -> pd.DataFrame:
    return points_lost(db, pairs(one_run_each(fact_runs(db))), k).set_index(["model", "head"])


def above(known: int) -> float:
    """Known with the own subject and not with a swapped one: two facts of three."""
    return sum(number % 3 > 0 for number in range(known)) / len(FACTS)


def test_what_is_lost_is_counted_from_the_planted_ranks_whether_or_not_predictions_are_stored(db):
    table = of(db)
    assert set(table.index) == {(model, head) for model, head in KNOWN if model != BASE}
    for (model, head), row in table.iterrows():
        own, base = KNOWN[model, head], KNOWN[BASE, head]
        assert (row["n"], row["majority"]) == (120, 0.5)
        assert row["lost"] == pytest.approx((base - own) / 120)
        assert row["lost_above"] == pytest.approx(above(base) - above(own))
        assert (
            row["lost_low"] < row["lost"] < row["lost_high"]
            and row["lost_above_low"] < row["lost_above"] < row["lost_above_high"]
        )


def test_losses_of_stored_predictions_are_paired_as_on_compare_and_those_of_counts_join_independent_shares(db):
    counted = bool(fact_runs(db)["counted"].any())
    for (model, head), row in of(db).iterrows():
        assert row["by_fact"] == (not counted or (model, head) != ALONE)
        if row["by_fact"]:
            last = paired_with_yardsticks(db, headed(BASE, head).run_id, headed(model, head).run_id, 1).iloc[-1]
            assert [row["lost"], row["lost_low"], row["lost_high"]] == pytest.approx(
                [-last["difference"], -last["difference_high"], -last["difference_low"]]
            )
            assert [row["lost_above"], row["lost_above_low"]] == pytest.approx([-last["more"], -last["more_high"]])
        else:
            sides = [(known / 120, *wilson(known, 120)) for known in (KNOWN[BASE, head], KNOWN[model, head])]
            assert [row["lost"], row["lost_low"], row["lost_high"]] == pytest.approx(newcombe(*sides))


def test_the_read_out_matters_where_the_intervals_of_two_kinds_do_not_touch(db):
    found = read_out(of(db).reset_index()).set_index(["model", "what"])
    assert set(found["heads"]) == {2}
    kept = found.loc[TUNED, "kept"]
    assert kept["apart"] and (kept["least_head"], kept["most_head"]) == ("tied", "least_squares")
    assert kept["least_value"] == pytest.approx(above(3)) and kept["most_value"] == pytest.approx(above(60))
    lost = found.loc[TUNED, "lost"]
    assert lost["apart"] and (lost["least_head"], lost["most_head"]) == ("least_squares", "tied")
    assert not found.loc[CONTROL, "apart"].any()
    assert read_out(of(db).reset_index().query("head == 'tied'")).empty


def test_intervals_that_just_touch_change_no_conclusion():
    lost = {"lost_above": 0.1, "lost_above_low": 0.0, "lost_above_high": 0.2}
    rows = [
        lost
        | {"model": "m", "head": head, "above_swapped": value, "above_swapped_low": low, "above_swapped_high": high}
        for head, value, low, high in (("tied", 0.2, 0.1, 0.3), ("logit_lens", 0.4, 0.3, 0.5))
    ]
    found = read_out(pd.DataFrame(rows)).set_index("what")
    assert not found["apart"].any()
    rows[1]["above_swapped_low"] = 0.31
    assert read_out(pd.DataFrame(rows)).set_index("what")["apart"].to_dict() == {"lost": False, "kept": True}


@pytest.mark.parametrize(
    ("first", "second", "changed"),
    [
        ((0.027, 0.025, 0.029), (0.087, 0.083, 0.09), False),  # sizes that differ: both are surely above 0
        ((0.0, -0.01, 0.01), (0.087, 0.083, 0.09), True),
        ((-0.04, -0.05, -0.03), (0.087, 0.083, 0.09), True),
        (
            (0.05, -0.01, 0.085),
            (0.087, 0.083, 0.09),
            False,
        ),  # the intervals touch: one test says so, the other not, by chance
    ],
)
def test_a_conclusion_changes_with_the_sign_and_not_with_the_size(first, second, changed):
    rows = [
        {
            "model": "m",
            "head": head,
            "lost_above": None,
            "above_swapped": value,
            "above_swapped_low": low,
            "above_swapped_high": high,
        }
        for head, (value, low, high) in (("logit_lens", first), ("tied", second))
    ]
    assert read_out(pd.DataFrame(rows))["changed"].tolist() == [changed]


def test_losses_are_those_of_the_heads_that_the_runs_were_read_through(db):
    ids = [headed(BASE, head).run_id for head in ("tied", "logit_lens", "least_squares")]
    table = losses(db, ids)
    assert list(dict.fromkeys(table["head"])) == ["tied", "logit_lens", "least_squares"]
    for head, (values, _, _) in TRAINED.items():
        mine = table[table["head"] == head]
        assert list(mine["loss"]) == list(values)
        assert list(mine["below_lens"]) == pytest.approx(
            [lens - loss for lens, loss in zip(LENS_LOSS, values, strict=True)]
        )
    assert list(table[table["head"] == "logit_lens"]["loss"]) == list(LENS_LOSS)
    assert list(dict.fromkeys(losses(db, ids[:1])["head"])) == ["tied", "logit_lens"]
    assert losses(db, [headed(TUNED, "tied").run_id]).empty, "no training of its heads is stored"
    assert costs(losses(db, [])).empty


def test_a_head_is_held_against_the_logit_lens_on_its_own_validation_text(tmp_path):
    shifted = [
        row | {name: row[name] + 1 for name in ("lens_loss", "loss")} if row["head"] == "tied" else row
        for row in training_rows()
    ]
    plant_training(plant_runs(tmp_path / "runs", [headed(BASE, head) for head in TRAINED]), shifted)
    with open_database(tmp_path / "runs") as db:
        cost = costs(losses(db, [headed(BASE, head).run_id for head in TRAINED])).set_index("head")
    assert cost["below_lens"].to_dict() == {"tied": 1.5, "least_squares": 1.5, "logit_lens": 0.0}


def test_costs_are_sums_over_layers_and_seconds_that_are_not_recorded_stay_empty(db):
    cost = costs(losses(db, [headed(BASE, head).run_id for head in ("tied", "logit_lens", "least_squares")])).set_index(
        "head"
    )
    assert (cost.loc["tied", "steps"], cost.loc["tied", "seconds"], cost.loc["tied", "start"]) == (
        1400,
        50.0,
        "pre-trained",
    )
    assert cost.loc["least_squares", "steps"] == 0 and pd.isna(cost.loc["least_squares", "seconds"])
    # Layers 1 and 2 are inner ones.
    assert cost.loc["tied", "inner_loss"] == 6.0 and cost.loc["tied", "below_lens"] == 1.5
    assert cost.loc["least_squares", "below_lens"] == 1.5 and cost.loc["tied", "last_loss"] == 5.0
