"""What scipy computes now is what our own code computed before, and what we still compute is what scipy says."""

import math

import numpy as np
import pytest
from scipy import stats

from probing.core.changes.attention import entropy
from probing.core.changes.similarity import rsa
from probing.core.edges.numbers import k_gains, k_weights
from probing.core.stats.intervals import NORMAL_QUANTILE, fisher
from probing.core.stats.ranks import rank_correlation
from probing.reports.edges.curves import _POISSON

CLOSE = 1e-12


@pytest.fixture()
def rng():
    return np.random.default_rng(7)


def test_entropy(rng):
    rows = rng.dirichlet(np.ones(9), (4, 5))
    rows[0, 0] = np.eye(9)[3]
    expected = [[-sum(a * math.log(a) for a in row if a > 0) for row in group] for group in rows]
    assert entropy(rows) == pytest.approx(np.array(expected), abs=CLOSE)
    assert entropy(rows)[0, 0] == 0


def test_divergence_from_equal_shares(rng):
    amounts = rng.random((3, 13))
    amounts[1, 4:] = 0
    shares = amounts / amounts.sum(-1, keepdims=True)
    expected = [sum(s * math.log2(s * 13) for s in row if s > 0) for row in shares]
    assert k_weights(amounts) == pytest.approx(np.array(expected), abs=CLOSE)
    assert k_weights(np.ones(13)) == 0 and np.isnan(k_weights(np.zeros(13)))
    assert np.isnan(k_gains([0.5, 0.5, 0.4])) and k_gains([0.1, 0.2, 0.2]) == pytest.approx(1.0, abs=CLOSE)


@pytest.mark.parametrize("n", [5, 7, 8, 20])
def test_rank_correlation_of_pairs(n, rng):
    first, second = rng.integers(0, 6, n), rng.random(n)
    one, other = stats.rankdata(first), stats.rankdata(second)
    one, other = one - one.mean(), other - other.mean()
    rho, p = rank_correlation(first, second)
    assert rho == pytest.approx(float(one @ other / np.sqrt((one @ one) * (other @ other))), abs=CLOSE)
    assert 0 < p <= 1


def test_similarity_of_cosines(rng):
    first, second = rng.normal(size=(30, 6)), rng.normal(size=(30, 6))
    above = np.triu_indices(30, 1)
    pairs = []
    for states in (first, second):
        unit = states / np.linalg.norm(states, axis=1, keepdims=True)
        pairs.append((unit @ unit.T)[above])
    assert rsa(first, second) == pytest.approx(np.corrcoef(*pairs)[0, 1], abs=CLOSE)
    assert rsa(first, first) == pytest.approx(1, abs=CLOSE)


def test_the_poisson_weights_and_the_normal_quantile():
    expected = np.cumsum(np.exp(-1.0) / np.cumprod([1.0, *range(1, 16)]))
    assert pytest.approx(expected, abs=CLOSE) == _POISSON
    assert pytest.approx(stats.norm.ppf(0.975), abs=CLOSE) == NORMAL_QUANTILE


@pytest.mark.parametrize("n", [5, 40])
def test_fishers_interval_is_scipys(n, rng):
    first = rng.normal(size=n)
    found = stats.pearsonr(first, first + rng.normal(size=n))
    ends = found.confidence_interval(0.95)
    assert fisher(float(found.statistic), n) == pytest.approx((ends.low, ends.high), abs=CLOSE)
