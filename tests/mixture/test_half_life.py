"""Mixtures that forget: counts are those of the law, and components that are over lose their weight."""

import numpy as np
import pytest

from modicum import MemoryBoundedMixture

H = 150


def worlds(n=1200, seed=0):
    """Two clusters, of which one is later replaced by another."""
    rng = np.random.default_rng(seed)
    which = np.concatenate([rng.choice([0.0, 20.0], n), rng.choice([0.0, 40.0], n)])
    return which[:, None] + rng.normal(size=(2 * n, 2))


def law(n):
    return np.exp2(-np.arange(n, 0, -1) / H)


@pytest.mark.parametrize("chunk", [37, 500])
def test_counts_and_means_are_those_of_the_law(chunk):
    X = worlds()[: 5 * H + 40]
    model = MemoryBoundedMixture(budget=200, half_life=H)
    for first in range(0, len(X), chunk):
        model.partial_fit(X[first : first + chunk])
    clumps = model.clumps_
    dropped = 0.05  # rows of ten half-lives ago
    assert clumps["counts"].sum() == pytest.approx(law(len(X)).sum(), abs=dropped)
    mean = clumps["counts"] @ clumps["means"] / clumps["counts"].sum()
    np.testing.assert_allclose(mean, law(len(X)) @ X / law(len(X)).sum(), atol=0.02)


def test_a_component_that_is_over_is_forgotten():
    X = worlds()
    model, plain = (MemoryBoundedMixture(budget=300, half_life=h).fit(X) for h in (H, None))
    assert plain.n_components_ == 3
    old = np.abs(model.means_[:, 0] - 20) < 5
    assert model.weights_[old].sum() < 0.01
    np.testing.assert_allclose(np.sort(model.means_[model.weights_ > 0.1, 0]), [0, 40], atol=0.5)


def test_faded_rows_and_clumps_are_dropped():
    rng = np.random.default_rng(0)
    model = MemoryBoundedMixture(budget=400, half_life=20, epoch=100)
    for step in range(30):
        model.partial_fit(rng.normal(100.0 * step, 1, (100, 2)))
    assert model.n_components_ < 6
    assert (model.clumps_["counts"] > 2.0**-16).all()  # between rounds they fade further
    assert model.n_retained_ <= 310  # of ten half-lives, and the epoch


def test_auto_finds_new_rows_and_leaves_little_of_the_old():
    X = worlds()
    model = MemoryBoundedMixture(budget=300, half_life="auto")
    for chunk in np.array_split(X, 24):
        model.partial_fit(chunk)
    assert [1150 < change.since < 1300 for change in model.changes_] == [True]
    assert model.clumps_["counts"].sum() < 1300
    assert MemoryBoundedMixture(budget=300, half_life="auto").fit(worlds()[:1200]).changes_ == []


def test_a_very_short_half_life_leaves_a_valid_mixture():
    model = MemoryBoundedMixture(budget=200, half_life=1).fit(worlds())
    assert np.isfinite(model.score_samples(worlds()[:5])).all()
    model.to_bytes()
