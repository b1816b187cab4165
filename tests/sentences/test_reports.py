"""Reports of sentence probes and of changes, recomputed from planted answers in plain Python."""

import math
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from probing.changes.measures import MEASURES as KNOWN
from probing.changes.report import SAME_IS_ONE, epoch_perplexities, perplexities, values
from probing.changes.tables import ALL_HEADS
from probing.kernel.store.database import Database
from probing.kernel.store.opening import open_database
from probing.sentences.examples import FIRST, FROZEN, MEAN, MLP, OURS, OWN, POOLINGS, QUICK
from probing.sentences.numbers import FATES, UNDECIDED, Cell
from probing.sentences.report_accuracy import accuracies, best_predicting, best_probes, best_read, learning_curve
from probing.sentences.report_changes import (
    NO_PREDICTIONS,
    NOT_TRAINED,
    changes,
    group_means,
    turned_sentences,
    where_gone,
    where_gone_shares,
)
from tests.changes_planted import BLOCKS, HEADS, MEASURES, block_sums, epoch_rows, plant_changes, planted_value
from tests.planted_relatives import (
    BASE,
    COLA,
    CONTROL,
    FATE,
    LAST,
    LAYERS,
    MODELS,
    SEED_2,
    SEED_3,
    SQUAD,
    SST_2,
    PlantedModel,
)
from tests.sentences_planted import (
    BIGRAM,
    COORDINATION,
    ODD,
    RUNS,
    SIZES,
    TASKS,
    PlantedSentenceRun,
    PlantedTask,
    cells,
    dev_right,
    examples,
    gold,
    plant_sentence_runs,
    plant_sentences,
    predicted,
)

LISTED = (BASE, COLA, SST_2, SQUAD, CONTROL)
SEEDS = (COLA, SEED_2, SEED_3)


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory):
    with open_database(plant_sentences(tmp_path_factory.mktemp("store"))) as database:
        yield database


def answered(model: PlantedModel, task: PlantedTask, cell: Cell, protocol: str = OURS) -> list[bool]:
    """Whether each test sentence that the model takes is right, from the label numbers that are stored."""
    run = PlantedSentenceRun(model, task, protocol)
    return [said == label for said, label in zip(predicted(run, cell), gold(task, protocol), strict=True)][
        model.too_long :
    ]


def share(model: PlantedModel, task: PlantedTask, cell: Cell, protocol: str = OURS) -> float:
    return fmean(answered(model, task, cell, protocol))


def discordant(model: PlantedModel, this: Cell, task: PlantedTask, other: Cell) -> tuple[int, int, int]:
    """Sentences that only the model, and that only the base has right, and how many there are."""
    pairs = list(zip(answered(model, task, this), answered(BASE, task, other)[model.too_long :], strict=True))
    return sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs), len(pairs)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_accuracies_are_those_of_the_answers(db: Database, task: PlantedTask):
    found = accuracies(db, tasks=[task.name], readings=None, portions=None)
    assert set(found["model"]) == {model.name for model in LISTED}
    assert len(found) == sum(len(cells(model)) for model in LISTED)
    rows = found.set_index(["model", "pooling", "layer", "reading", "portion"])
    for model in LISTED:
        for cell in cells(model):
            got, asked = (
                rows.loc[(model.name, cell.pooling, cell.layer, cell.reading, cell.portion)],
                answered(model, task, cell),
            )
            interval = stats.binomtest(sum(asked), len(asked)).proportion_ci(method="wilson")
            assert (got["accuracy"], got["right"], got["n_test"]) == (fmean(asked), sum(asked), len(asked))
            assert (got["low"], got["high"]) == pytest.approx((interval.low, interval.high), abs=1e-9)
            assert (got["majority"], got["surface"]) == (0.5, 0.52) and got["n_train"] == SIZES[OURS][0] // cell.portion
            assert math.isnan(got["c"]) == (cell.reading == MLP)
            above = stats.binomtest(sum(asked), len(asked), 0.5, alternative="greater").pvalue <= 0.05
            assert got["above_majority"] == above


def test_models_that_differ_by_their_seed_have_one_row_with_their_spread(db: Database):
    found = accuracies(db, tasks=[BIGRAM.name])
    for row in found[found["model"] == COLA.name].itertuples():
        every = [share(model, BIGRAM, Cell(row.pooling, row.layer)) for model in SEEDS]
        assert (row.seed_low, row.seed_high, row.seeds) == (min(every), max(every), 3)
    assert set(found.loc[found["model"] != COLA.name, "seeds"]) == {1}
    named = accuracies(db, [SEED_2.name], [BIGRAM.name])
    assert set(named["model"]) == {SEED_2.name} and set(named["seeds"]) == {3}
    assert named["accuracy"].tolist() == [
        share(SEED_2, BIGRAM, Cell(row.pooling, row.layer)) for row in named.itertuples()
    ]


def test_protocols_are_kept_apart(db: Database):
    quick = accuracies(db, protocol=QUICK)
    assert set(quick["model"]) == {BASE.name, COLA.name, CONTROL.name} and set(quick["n_test"]) == {SIZES[QUICK][2]}
    row = quick[
        (quick["model"] == COLA.name)
        & (quick["task"] == BIGRAM.name)
        & (quick["pooling"] == MEAN)
        & (quick["layer"] == 3)
    ]
    assert row["accuracy"].item() == share(COLA, BIGRAM, Cell(MEAN, 3), QUICK)
    assert accuracies(db, protocol="senteval").empty


def slow_bh(p_values: list[float]) -> list[float]:
    """Adjusted p-values: the least of p m / rank over this rank and all higher ones."""
    ranked = sorted(p_values)
    return [min(1.0, min(p * len(ranked) / (k + 1) for k, p in enumerate(ranked) if p >= one)) for one in p_values]


@pytest.mark.parametrize("model", MODELS[1:], ids=lambda model: model.name)
def test_changes_are_those_of_the_answers(db: Database, model: PlantedModel):
    found = changes(db, [model.name])
    assert len(found) == len(TASKS) * len(POOLINGS) * len(LAYERS)
    p_values, mean_p_values = [], []
    for row in found.itertuples():
        task = next(task for task in TASKS if task.name == row.task)
        cell = Cell(row.pooling, row.layer)
        only_tuned, only_base, n = discordant(model, cell, task, cell)
        p_values.append(stats.binomtest(only_tuned, only_tuned + only_base).pvalue if only_tuned + only_base else 1.0)
        assert (row.only_tuned, row.only_base, row.n_test) == (only_tuned, only_base, n)
        assert row.change == pytest.approx((only_tuned - only_base) / n) and row.low <= row.change <= row.high
        assert row.accuracy == share(model, task, cell) and row.accuracy - row.base_accuracy == pytest.approx(
            row.change
        )
        against_mean = discordant(model, cell, task, Cell(MEAN, row.layer))
        both = against_mean[0] + against_mean[1]
        mean_p_values.append(stats.binomtest(against_mean[0], both).pvalue if both else 1.0)
        assert row.mean_change == pytest.approx((against_mean[0] - against_mean[1]) / n)
    assert found["p"].tolist() == pytest.approx(p_values) and found["mean_p"].tolist() == pytest.approx(mean_p_values)
    assert found["q"].tolist() == pytest.approx(slow_bh(p_values)) and found["mean_q"].tolist() == pytest.approx(
        slow_bh(mean_p_values)
    )
    assert set(found["family"]) == {30}


def test_a_filter_of_tasks_leaves_the_family_of_tests_as_it_is(db: Database):
    every, one = changes(db), changes(db, tasks=[BIGRAM.name])
    pd.testing.assert_frame_equal(every[every["task"] == BIGRAM.name].reset_index(drop=True), one)


def own_change(model: PlantedModel, task: PlantedTask, cell: Cell) -> float:
    only_tuned, only_base, n = discordant(model, cell, task, cell)
    return (only_tuned - only_base) / n


def test_every_change_has_its_control_and_seeds(db: Database):
    for row in changes(db).itertuples():
        task, cell = next(task for task in TASKS if task.name == row.task), Cell(row.pooling, row.layer)
        seeds = [own_change(model, task, cell) for model in (SEEDS if row.model == COLA.name else ())] or [row.change]
        assert (row.seed_low, row.seed_high, row.seeds) == pytest.approx((min(seeds), max(seeds), len(seeds)))
        if row.model == CONTROL.name:
            assert math.isnan(row.control_change) and not row.inside_control
        else:
            of_control = own_change(CONTROL, task, cell)
            assert row.control_change == pytest.approx(of_control)
            cells = [Cell(row.pooling, layer) for layer in LAYERS if (row.pooling, layer) != (FIRST, 0)]
            spread = 1.959964 * math.sqrt(fmean(own_change(CONTROL, task, one) ** 2 for one in cells))
            assert row.control_spread == pytest.approx(spread, rel=1e-6)
            assert row.inside_control == (abs(row.change) <= max(abs(of_control), spread) + 1e-12)
        of_seeds = [own_change(model, task, cell) for model in SEEDS]
        assert row.seed_range == pytest.approx(max(of_seeds) - min(of_seeds))
        assert row.within_seeds == (row.seeds == 1 and abs(row.change) <= row.seed_range + 1e-12)


def test_a_change_where_the_control_happens_to_be_near_zero_is_inside_its_spread(db: Database):
    rows = changes(db, [SEED_2.name], [BIGRAM.name])
    near = rows[(rows["change"] == -2 / 3000) & (rows["layer"] == 4)]
    assert len(near) == 2 and near["control_change"].eq(0).all() and near["inside_control"].all()
    assert (near["change"].abs() <= near["control_spread"]).all() and not rows.loc[
        rows["change"] < -0.1, "inside_control"
    ].any()


def test_a_change_of_one_seed_is_marked_where_seeds_differ_by_as_much(db: Database):
    rows = changes(db)
    changed = rows[rows["change"] != 0]
    # The control's seed differs from the base by two sentences at most, CoLA's seeds by four; the others differ by six
    # and ten.
    assert set(changed.loc[changed["within_seeds"], "model"]) == {CONTROL.name}
    assert changed.loc[changed["model"] == CONTROL.name, "within_seeds"].all()


def test_means_of_lower_and_upper_layers_are_those_of_the_changes(db: Database):
    every, found = changes(db, [COLA.name]), group_means(db, [COLA.name])
    assert len(found) == len(TASKS) * len(POOLINGS) * 2
    for row in found.itertuples():
        layers = range(LAST // 2 + 1) if row.group == "lower" else range(LAST // 2 + 1, LAST + 1)
        assert (row.first_layer, row.last_layer, row.layers) == (layers[0], layers[-1], len(layers))
        mine = every[(every["task"] == row.task) & (every["pooling"] == row.pooling) & every["layer"].isin(layers)]
        assert row.mean_change == pytest.approx(mine["change"].mean()) and row.significant == (mine["q"] <= 0.05).sum()
        task = next(task for task in TASKS if task.name == row.task)
        of = {
            model: fmean(own_change(model, task, Cell(row.pooling, layer)) for layer in layers)
            for model in (*SEEDS, CONTROL)
        }
        assert row.control_change == pytest.approx(of[CONTROL])
        assert (row.seed_low, row.seed_high) == pytest.approx(
            (min(of[one] for one in SEEDS), max(of[one] for one in SEEDS))
        )


@pytest.mark.parametrize("model", [COLA, SEED_2, SEED_3], ids=lambda model: model.name)
def test_every_cell_has_the_fate_that_was_planted(db: Database, model: PlantedModel):
    found = where_gone(db, [model.name]).set_index(["task", "pooling", "layer"])
    for (task, pooling), fates in FATE.items():
        assert found.loc[(task, pooling), "fate"].tolist() == ["", *fates]
        assert found.loc[(task, pooling), "counted"].tolist() == [False, *[True] * LAST]
    assert not found.loc[ODD.name, "counted"].any() and set(found.loc[ODD.name, "fate"]) == {""}
    assert {fate for fates in FATE.values() for fate in fates} == set(FATES)


def test_the_accuracies_of_a_fate_are_those_of_the_answers(db: Database):
    names = {"own": OWN, "frozen": FROZEN}
    for row in where_gone(db, [COLA.name]).itertuples():
        task = next(task for task in TASKS if task.name == row.task)
        for name, reading in names.items():
            assert getattr(row, name) == share(COLA, task, Cell(row.pooling, row.layer, reading)), name
        assert row.base_accuracy == share(BASE, task, Cell(row.pooling, row.layer))
        assert row.mean == share(COLA, task, Cell(MEAN, row.layer))
        dev = dev_right(PlantedSentenceRun(COLA, task))
        neural = max((Cell(row.pooling, row.layer), Cell(row.pooling, row.layer, MLP)), key=dev.__getitem__)
        assert row.mlp == share(COLA, task, neural), "the linear one if both are as good on dev"
        best = max(LAYERS, key=lambda layer, pooling=row.pooling: (dev[Cell(pooling, layer)], -layer))
        assert row.best_layer == best and row.best == share(COLA, task, Cell(row.pooling, best))


#: Fates of both models on both tasks, by task, pooling and layer, with all that depends on counts of pairs.
_OF_PAIRS = ["task", "pooling", "layer", "fate", "undecided", "needed"]


def lighter_store(folder: Path, kept: Callable[[str, dict[str, Any]], bool]) -> Path:
    """A store of the base and of CoLA on two tasks, with the rows of a table that are kept."""
    runs = [PlantedSentenceRun(model, task) for model in (BASE, COLA) for task in (BIGRAM, COORDINATION)]
    return plant_sentence_runs(folder / "runs", runs, lambda table, rows: [row for row in rows if kept(table, row)])


def of_few_comparisons(table: str, row: dict[str, Any]) -> bool:
    """Whether a run with few comparisons stores this pair: of probes of one kind, at one layer."""
    if (
        table != "sentence_pairs"
        or row["with_model"] != BASE.name
        or row["run_id"] in {run.run_id for run in RUNS if run.model is BASE}
    ):
        return True
    return (
        row["reading"] != MLP
        and row["layer"] == row["with_layer"]
        and not (row["pooling"] == MEAN and row["with_pooling"] == FIRST)
    )


def test_counts_that_a_run_does_not_store_come_from_predictions(db: Database, tmp_path: Path):
    with open_database(lighter_store(tmp_path, of_few_comparisons)) as lighter:
        found = where_gone(lighter, [COLA.name])
    expected = where_gone(db, [COLA.name], tasks=[BIGRAM.name, COORDINATION.name])
    pd.testing.assert_frame_equal(found[_OF_PAIRS], expected[_OF_PAIRS])


def test_without_predictions_no_cell_has_a_fate_even_if_an_early_step_holds(tmp_path: Path):
    def kept(table: str, row: dict[str, Any]) -> bool:
        return of_few_comparisons(table, row) and not (table == "sentence_predictions" and row["reading"] == MLP)

    with open_database(lighter_store(tmp_path, kept)) as lighter:
        found = where_gone(lighter, [COLA.name])
        assert where_gone_shares(lighter).empty
    assert set(found["fate"]) == {""} and set(found.loc[found["counted"], "why"]) == {NO_PREDICTIONS}
    assert found["own"].notna().all() and found["mlp"].notna().all(), "accuracies are known without pairs"


def test_a_run_without_a_probe_that_decides_has_no_fates(tmp_path: Path):
    with open_database(lighter_store(tmp_path, lambda table, row: row.get("reading") != FROZEN)) as fewer:
        found = where_gone(fewer, [COLA.name])
    assert (
        set(found["fate"]) == {""}
        and set(found.loc[found["counted"], "why"]) == {NOT_TRAINED}
        and found["frozen"].isna().all()
    )


def test_an_undecided_cell_says_how_many_sentences_it_takes(db: Database):
    row = where_gone(db, [COLA.name]).set_index(["task", "pooling", "layer"]).loc[(COORDINATION.name, MEAN, 3)]
    steps = {"own": Cell(MEAN, 3), "best": Cell(MEAN, row["best_layer"])}
    disagreements = {
        name: sum(discordant(COLA, this, COORDINATION, Cell(MEAN, 3))[:2]) / row["n_test"]
        for name, this in steps.items()
    }
    assert (
        row["needed"] == max(math.ceil(9604 * share) for share in disagreements.values()) and row["fate"] == UNDECIDED
    )


def test_shares_of_fates_sum_to_one(db: Database):
    found = where_gone_shares(db)
    assert found.groupby("model")["share"].sum().tolist() == pytest.approx([1.0] * 4)
    mine = found[found["model"] == COLA.name].set_index("fate")
    counts = pd.Series([fate for fates in FATE.values() for fate in fates]).value_counts()
    assert mine["cells"].to_dict() == counts.to_dict() and set(mine["of"]) == {16}
    by = where_gone_shares(db, [COLA.name], by=["task", "pooling"])
    assert by.groupby(["task", "pooling"])["share"].sum().tolist() == pytest.approx([1.0] * 4)
    assert where_gone_shares(db, [BASE.name]).empty


def test_the_learning_curve_is_that_of_the_answers(db: Database):
    found = learning_curve(db, [COLA.name], [BIGRAM.name])
    assert sorted(set(found["portion"])) == [1, 4, 16] and len(found) == 3 * 2 * len(LAYERS)
    for row in found.itertuples():
        cell = Cell(row.pooling, row.layer, OWN, row.portion)
        assert (row.accuracy, row.base_accuracy) == (share(COLA, BIGRAM, cell), share(BASE, BIGRAM, cell))
        assert row.n_train == SIZES[OURS][0] // row.portion and math.isnan(row.code_length) == (row.portion != 1)
    assert learning_curve(db, [BASE.name])["base_accuracy"].isna().all()


@pytest.mark.parametrize("model", [COLA, SST_2], ids=lambda model: model.name)
@pytest.mark.parametrize("task", [BIGRAM, ODD], ids=lambda task: task.name)
def test_turned_sentences_are_those_that_one_of_two_has_right(db: Database, model: PlantedModel, task: PlantedTask):
    found = turned_sentences(db, model.name, task.name, MEAN, 2)
    runs = [PlantedSentenceRun(one, task) for one in (BASE, model)]
    base, tuned = (predicted(run, Cell(MEAN, 2)) for run in runs)
    expected = []
    for place, one in enumerate(examples(task, OURS)):
        said = [task.labels[label] if label < 2 else "" for label in (base[place], tuned[place])]
        if place >= model.too_long and (said[0] == one.label) != (said[1] == one.label):
            turned = "right" if said[1] == one.label else "wrong"
            expected.append((place, one.sha256[:16], one.label, *said, turned, one.text if task.open else "", ""))
    assert list(found.itertuples(index=False, name=None)) == expected and expected


def test_what_is_not_stored_has_no_rows(db: Database):
    assert (
        turned_sentences(db, "nobody", BIGRAM.name, MEAN, 2).empty
        and turned_sentences(db, BASE.name, BIGRAM.name, MEAN, 2).empty
    )
    for table in (
        accuracies(db, ["nobody"]),
        changes(db, ["nobody"]),
        where_gone(db, ["nobody"]),
        group_means(db, ["nobody"]),
    ):
        assert table.empty and len(table.columns)


CELLS = [(FIRST, 0), (FIRST, 1), (MEAN, 0), (MEAN, 1)]
MINE = pd.DataFrame(CELLS, columns=["pooling", "layer"], index=[10, 11, 12, 13]).assign(
    model="m", task="t", accuracy=[0.5, 0.62, 0.6, 0.61]
)


def test_the_best_probe_is_chosen_on_development_sentences():
    stored = MINE.assign(dev_right=[5, 6, 8, 8])
    assert best_predicting(MINE, stored) == 12, (
        "the lowest of equal layers, though another has more of the test sentences"
    )
    assert list(best_probes(MINE.assign(dev_right=8)).index) == [10], "of the equal layers the first token"


def test_without_results_or_with_those_of_other_probes_it_is_chosen_on_test_sentences():
    stored = MINE.assign(dev_right=[5, 6, 8, 8])
    assert best_predicting(MINE, stored.iloc[:0]) == 11
    assert best_predicting(MINE, stored.assign(accuracy=stored["accuracy"] - 0.1)) == 11


def test_groups_keep_their_order_and_a_property_is_read_above_both_baselines():
    late, early = (
        MINE.assign(task=task, dev_right=right) for task, right in (("z", [1, 2, 3, 4]), ("a", [4, 3, 2, 1]))
    )
    table = pd.concat([late, early], ignore_index=True).assign(low=0.6, majority=0.5, surface=[0.5] * 4 + [0.7] * 4)
    best = best_read(table)
    assert list(best["task"]) == ["z", "a"] and list(best["layer"]) == [1, 0] and list(best["read"]) == [True, False]
    assert best_read(table.assign(accuracy=float("nan"))).empty


@pytest.fixture(scope="module")
def changes_db(tmp_path_factory: pytest.TempPathFactory):
    with open_database(plant_changes(tmp_path_factory.mktemp("store"))) as database:
        yield database


@pytest.mark.parametrize("heads", [False, True])
def test_values_have_those_of_base_control_and_seeds(changes_db: Database, heads: bool):
    found = values(changes_db, heads=heads)
    assert set(found["head"]) == ({0, 1, ALL_HEADS} if heads else {ALL_HEADS}) and set(found["measure"]) == set(
        MEASURES
    )
    by_name = {model.name: model for model in MODELS}
    expected = sum(
        (LAST + 1 - least) * ((HEADS + 1) if by_head and heads else 1)
        for model in LISTED
        for least, alone, by_head in MEASURES.values()
        if model.base or alone
    )
    assert len(found) == expected
    for row in found.itertuples():
        model, key = by_name[row.model], (row.measure, row.layer, row.head)
        assert (row.value, row.low, row.high, row.n) == (
            value := planted_value(model, *key),
            value - 0.01,
            value + 0.01,
            50,
        )
        alone = MEASURES[row.measure][1]
        assert row.base_value == planted_value(BASE, *key) if alone and model.base else math.isnan(row.base_value)
        seeds = [planted_value(one, *key) for one in (SEEDS if model is COLA else (model,))]
        assert (row.seed_low, row.seed_high, row.seeds) == (min(seeds), max(seeds), len(seeds))
        if not model.base or model is CONTROL:
            assert math.isnan(row.control_value) and not row.inside_control
            continue
        of_control = planted_value(CONTROL, *key)
        unchanged = planted_value(BASE, *key) if alone else float(row.measure in SAME_IS_ONE)
        assert row.control_value == of_control
        assert row.inside_control == (abs(value - unchanged) <= abs(of_control - unchanged))


def test_measures_of_likeness_are_those_that_are_one_where_nothing_changed():
    assert set(SAME_IS_ONE) == {"map-cosine", "cka-first", "cka-mean", "rsa-first", "rsa-mean", "same-token-cosine"}
    assert set(MEASURES) <= set(KNOWN)


def test_filters_keep_what_they_name(changes_db: Database):
    found = values(changes_db, [SEED_2.name], ["cka-mean"])
    assert set(found["model"]) == {SEED_2.name} and set(found["measure"]) == {"cka-mean"} and set(found["seeds"]) == {3}
    assert values(changes_db, ["nobody"]).empty and values(changes_db, measures=[]).empty


def test_perplexities_are_those_of_the_blocks(changes_db: Database):
    found = perplexities(changes_db)
    by_name = {model.name: model for model in MODELS}
    base_sums, masked = block_sums(BASE, 0)
    of_base = float(base_sums.astype(np.float64).sum() / masked.sum())
    draws = np.random.default_rng(0).multinomial(BLOCKS, [1 / BLOCKS] * BLOCKS, size=1000)
    assert len(found) == 1 + 4 * (1 + 3 * LAST + 1)
    for row in found.itertuples():
        model = by_name[row.model]
        sums = block_sums(model, 1 if row.replaced == "single" else row.n, row.embeddings)[0].astype(np.float64)
        mean = sums.sum() / masked.sum()
        assert (
            row.perplexity == pytest.approx(math.exp(mean))
            and row.masked == masked.sum()
            and row.low < row.perplexity < row.high
        )
        again = (draws @ sums) / (draws @ masked)
        assert (row.low, row.high) == pytest.approx(tuple(np.exp(np.quantile(again, [0.025, 0.975]))))
        if not model.base:
            assert math.isnan(row.log_change) and math.isnan(row.base_perplexity)
            continue
        assert row.log_change == pytest.approx(mean - of_base) and row.base_perplexity == pytest.approx(
            math.exp(of_base)
        )
        paired = again - (draws @ base_sums.astype(np.float64)) / (draws @ masked)
        assert (row.change_low, row.change_high) == pytest.approx(tuple(np.quantile(paired, [0.025, 0.975])), abs=1e-12)


def test_with_all_layers_and_the_embeddings_put_back_a_model_is_its_base(changes_db: Database):
    found = perplexities(changes_db)
    back = found[found["embeddings"]]
    assert len(back) == 4 and set(back["log_change"]) == {0.0} and set(back["n"]) == {LAST}
    assert (back["perplexity"] == found.loc[found["model"] == BASE.name, "perplexity"].item()).all()


def test_perplexities_have_the_control_and_the_seeds(changes_db: Database):
    found = perplexities(changes_db).set_index(["model", "replaced", "n", "embeddings"])
    named = perplexities(changes_db, [one.name for one in SEEDS]).set_index(["model", "replaced", "n", "embeddings"])
    for key in (("none", 0, False), ("first", 2, False)):
        mine, control = found.loc[(COLA.name, *key)], found.loc[(CONTROL.name, *key)]
        every = [named.loc[(one.name, *key), "perplexity"] for one in SEEDS]
        assert (mine["seed_low"], mine["seed_high"], mine["seeds"]) == (min(every), max(every), 3)
        assert mine["control_log_change"] == control["log_change"] and math.isnan(control["control_log_change"])


def test_without_the_bases_run_what_is_the_base_with_all_put_back_stands_for_it(tmp_path):
    with open_database(plant_changes(tmp_path, [COLA])) as database:
        found = perplexities(database)
    sums, masked = block_sums(BASE, 0)
    assert found["base_perplexity"].tolist() == pytest.approx(
        [math.exp(sums.astype(np.float64).sum() / masked.sum())] * len(found)
    )


def test_perplexity_by_epoch_is_that_of_the_rows(changes_db: Database):
    found = epoch_perplexities(changes_db)
    assert set(found["model"]) == {COLA.name, SST_2.name, SQUAD.name, CONTROL.name}
    for row in found[found["model"] == COLA.name].itertuples():
        every = [
            math.exp(one["cross_entropy"] / one["masked"])
            for model in SEEDS
            for one in epoch_rows(model)
            if one["epoch"] == row.epoch
        ]
        assert (row.perplexity, row.seed_low, row.seed_high, row.seeds) == pytest.approx(
            (every[0], min(every), max(every), 3)
        )
        control = next(one for one in epoch_rows(CONTROL) if one["epoch"] == row.epoch)
        assert row.control_perplexity == pytest.approx(math.exp(control["cross_entropy"] / control["masked"]))
        assert (row.objective, row.base) == ("CoLA", BASE.name)
