"""Distances of attention and similarities of states against slow versions, scipy and known bounds."""

import numpy as np
import pytest

from probing.core.changes.attention import (
    TokenKinds,
    between,
    entropy,
    map_cosine,
    movers_distance,
    of_model,
    total_variation,
)
from probing.core.changes.numbers import mean_intervals
from probing.core.changes.similarity import is_constant, jackknife, linear_cka, mean_cosine, rsa, unit_rows
from tests.reference import changes as slow


@pytest.fixture()
def rng():
    return np.random.default_rng(0)


def distributions(rng, *shape):
    return rng.dirichlet(np.full(shape[-1], 0.5), shape[:-1])


def test_equal_attention_to_all_has_the_entropy_ln_n_and_to_one_none():
    assert entropy(np.full((2, 7), 1 / 7)) == pytest.approx(np.log(7))
    assert entropy(np.eye(5)).tolist() == [0] * 5


def test_entropy_and_distance_are_those_of_the_slow_version_and_of_scipy(rng):
    first, second = distributions(rng, 40, 9), distributions(rng, 40, 9)
    assert entropy(first) == pytest.approx([slow.entropy(row) for row in first], abs=1e-12)
    wanted = [slow.movers_distance(a, b) for a, b in zip(first, second, strict=True)]
    assert movers_distance(first, second) == pytest.approx(wanted, abs=1e-6)


def test_a_shift_by_four_places_is_a_distance_of_four_and_a_variation_of_one():
    first, second = np.zeros((2, 12))
    first[2] = second[6] = 1
    assert movers_distance(first, second) == pytest.approx(4)
    assert total_variation(first, second) == 1
    spread = np.array([0, 0.5, 0.25, 0.25, 0, 0, 0, 0, 0, 0])
    assert movers_distance(spread, np.roll(spread, 4)) == pytest.approx(4)


def test_equal_maps_have_no_distance_at_all(rng):
    maps = distributions(rng, 2, 3, 2, 6, 6)
    found = between(maps, maps.copy())
    assert (found.pop("map-cosine") == 1).all()
    assert all((values == 0).all() for values in found.values())


def test_shares_add_up_over_the_tokens_that_get_attention(rng):
    maps = distributions(rng, 2, 3, 2, 6, 6)
    none, one = np.zeros((3, 6), bool), np.zeros((3, 6), bool)
    one[:, 4] = True
    found = of_model(maps, TokenKinds(one, ~one))
    assert found["to-separator-mean"] + found["to-punctuation-mean"] == pytest.approx(np.ones((2, 3, 2)))
    assert found["to-separator-first"] == pytest.approx(maps[..., 0, 4])
    assert (of_model(maps, TokenKinds(none, none))["to-punctuation-mean"] == 0).all()
    assert found["to-self-mean"] == pytest.approx(np.einsum("lrhii->lrhi", maps).mean(-1))
    assert found["to-first-mean"] == pytest.approx(maps[..., 0].mean(-1))
    assert found["flatness-first"] == pytest.approx(found["entropy-first"] / np.log(6))


def test_a_share_of_the_distance_is_of_the_farthest_way(rng):
    first, second = np.zeros((2, 1, 1, 1, 5, 5))
    first[..., 0], second[..., 4] = 1, 1
    assert between(first, second)["emd-share-mean"] == pytest.approx(1)
    assert map_cosine(first, second) == pytest.approx(0)


@pytest.mark.parametrize(("rows", "reference"), [(400, slow.cka), (12, slow.unbiased_cka)])
def test_cka_is_that_of_kernel_matrices(rng, rows, reference):
    first = rng.normal(3, 1, (rows, 5))
    second = first @ rng.normal(size=(5, 7)) + rng.normal(size=(rows, 7))
    second = second[:, :5]
    assert linear_cka(first, second) == pytest.approx(reference(first, second), abs=1e-9)


@pytest.mark.parametrize("rows", [400, 30])
def test_turned_moved_and_scaled_states_are_the_same_to_cka(rng, rows):
    first = rng.normal(size=(rows, 6))
    turned = 3 * first @ np.linalg.qr(rng.normal(size=(6, 6)))[0] + 5
    assert linear_cka(first, first.copy()) == pytest.approx(1, abs=1e-12)
    assert linear_cka(first, turned) == pytest.approx(1)
    assert rsa(first, first) == pytest.approx(1)


def test_independent_states_have_no_cka_also_where_there_are_few(rng):
    found = [linear_cka(rng.normal(size=(40, 30)), rng.normal(size=(40, 30))) for _ in range(40)]
    assert abs(np.mean(found)) < 0.05


def test_rsa_is_the_correlation_of_all_pairs(rng):
    first, second = rng.normal(size=(2, 9, 4)) + 1
    pairs = [[slow.cosine(states[i], states[j]) for i in range(9) for j in range(i)] for states in (first, second)]
    assert rsa(first, second) == pytest.approx(np.corrcoef(pairs)[0, 1])


def test_states_that_are_all_the_same_up_to_rounding_have_no_similarity(rng):
    same = np.tile(rng.normal(size=6), (50, 1)) + 1e-6 * rng.normal(size=(50, 6))
    other = rng.normal(size=(50, 6))
    assert is_constant(same) and not is_constant(other)
    assert linear_cka(same, other) is None and rsa(other, same) is None
    assert jackknife(lambda kept: linear_cka(same[kept], other[kept]), 50) is None


def test_the_mean_cosine_of_all_pairs_follows_from_the_sum(rng):
    vectors = rng.normal(size=(11, 5)) + 0.5
    assert mean_cosine(unit_rows(vectors).sum(0), 11) == pytest.approx(slow.mean_cosine(vectors))


def test_the_jackknife_of_a_mean_has_its_standard_error(rng):
    values = rng.normal(size=400)
    value, low, high = jackknife(lambda kept: float(values[kept].mean()), 400)
    assert value == values.mean()
    assert (high - low) / 2 == pytest.approx(1.96 * values.std() / 20, rel=0.4)


def test_intervals_of_means_hold_the_mean_and_have_no_width_where_all_are_equal(rng):
    values = np.column_stack([rng.normal(size=200), np.ones(200)])
    mean, low, high = mean_intervals(values)
    assert low[0] < mean[0] < high[0]
    assert (high[0] - low[0]) / 2 == pytest.approx(1.96 / np.sqrt(200), rel=0.2)
    assert (low[1], mean[1], high[1]) == (1, 1, 1)
    assert np.array_equal(np.array(mean_intervals(values)), np.array(mean_intervals(values)))
    assert [float(one[0]) for one in mean_intervals(values[:1])] == [values[0, 0]] * 3
