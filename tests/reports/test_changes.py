"""Reports of what fine-tuning changed, recomputed from planted values and blocks in plain Python."""

import math

import numpy as np
import pytest

from probing.core.changes.measures import MEASURES as KNOWN
from probing.reports.changes.measures import SAME_IS_ONE, values
from probing.reports.changes.perplexity import epoch_perplexities, perplexities
from probing.reports.sentences.accuracy import accuracies, learning_curve
from probing.reports.sentences.accuracy_changes import changes, group_means
from probing.reports.sentences.property_places import where_gone, where_gone_shares
from probing.store.database import Database
from probing.store.opening import open_database
from probing.store.tables.changes import ALL_HEADS
from tests.changes_planted import BLOCKS, HEADS, MEASURES, block_sums, epoch_rows, plant_changes, planted_value
from tests.planted_relatives import BASE, COLA, CONTROL, LAST, MODELS, SEED_2, SEED_3, SQUAD, SST_2

LISTED = (BASE, COLA, SST_2, SQUAD, CONTROL)
SEEDS = (COLA, SEED_2, SEED_3)


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory):
    with open_database(plant_changes(tmp_path_factory.mktemp("store"))) as database:
        yield database


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory):
    with open_database(tmp_path_factory.mktemp("empty")) as database:
        yield database


@pytest.mark.parametrize("heads", [False, True])
def test_values_have_those_of_base_control_and_seeds(db: Database, heads: bool):
    found = values(db, heads=heads)
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


def test_filters_keep_what_they_name(db: Database):
    found = values(db, [SEED_2.name], ["cka-mean"])
    assert set(found["model"]) == {SEED_2.name} and set(found["measure"]) == {"cka-mean"} and set(found["seeds"]) == {3}
    assert values(db, ["nobody"]).empty and values(db, measures=[]).empty


def test_perplexities_are_those_of_the_blocks(db: Database):
    found = perplexities(db)
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


def test_with_all_layers_and_the_embeddings_put_back_a_model_is_its_base(db: Database):
    found = perplexities(db)
    back = found[found["embeddings"]]
    assert len(back) == 4 and set(back["log_change"]) == {0.0} and set(back["n"]) == {LAST}
    assert (back["perplexity"] == found.loc[found["model"] == BASE.name, "perplexity"].item()).all()


def test_perplexities_have_the_control_and_the_seeds(db: Database):
    found = perplexities(db).set_index(["model", "replaced", "n", "embeddings"])
    named = perplexities(db, [one.name for one in SEEDS]).set_index(["model", "replaced", "n", "embeddings"])
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


def test_perplexity_by_epoch_is_that_of_the_rows(db: Database):
    found = epoch_perplexities(db)
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


def test_an_empty_store_gives_empty_tables(empty: Database):
    made = (
        values,
        perplexities,
        epoch_perplexities,
        accuracies,
        learning_curve,
        changes,
        group_means,
        where_gone,
        where_gone_shares,
    )
    for table in (one(empty) for one in made):
        assert table.empty and len(table.columns) > 5
