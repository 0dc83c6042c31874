"""Selections that forget: they represent recent rows, by weights of the law, and say where the stream changed."""

import numpy as np
import pytest

from modicum import BalancedSelection, ExemplarClustering, StreamGreedy

H = 200


def worlds(n=1500, seed=0):
    """Three clusters, later three others."""
    rng = np.random.default_rng(seed)
    old, new = rng.choice([0.0, 10.0, 20.0], (n, 1)), rng.choice([60.0, 70.0, 80.0], (n, 1))
    return np.concatenate([old, new]) + rng.normal(size=(2 * n, 2))


def law(n, half_life=H):
    return np.exp2(-np.arange(n, 0, -1) / half_life)


@pytest.mark.parametrize("phantom", ["far", "mean"])
def test_exemplars_represent_recent_rows(phantom):
    X = worlds()
    model = ExemplarClustering(3, n_validation=150, half_life=H, phantom=phantom, random_state=2).fit(X)
    assert (model.exemplars_ > 50).all()
    if phantom == "far":  # the mean is near 70 itself
        np.testing.assert_allclose(np.sort(model.exemplars_[:, 0]), [60, 70, 80], atol=2)
    assert model.cluster_sizes_.sum() == pytest.approx(law(len(X)).sum())
    plain = ExemplarClustering(3, n_validation=150, phantom=phantom, random_state=0).fit(X)
    assert (plain.exemplars_ < 50).any()


def test_exemplars_are_judged_by_weights_of_the_law():
    """A validation sample that holds all rows has the very weights, in the middle of a period too."""
    X = worlds(300)[:530]
    model = ExemplarClustering(2, n_validation=600, half_life=H, random_state=0).fit(X)
    order = np.argsort(model._sample.row_ids)
    np.testing.assert_allclose(model._objective.shares[order], law(530) / law(530).sum(), rtol=1e-6)
    distances = ((X[:, None] - model.exemplars_) ** 2).sum(axis=2).min(axis=1)
    assert model.loss_ == pytest.approx(np.average(distances, weights=law(530)))


def test_bounds_for_uniform_samples_are_refused():
    model = ExemplarClustering(3, n_validation=50, half_life=H, random_state=0).fit(worlds())
    with pytest.raises(ValueError, match="different weights"):
        model.error_bound()


def test_auto_finds_the_change_and_represents_what_came_after():
    X = worlds()
    model = ExemplarClustering(3, n_validation=150, half_life="auto", random_state=1)
    for chunk in np.array_split(X, 20):
        model.partial_fit(chunk)
    assert [1450 < change.since < 1560 for change in model.changes_] == [True]
    assert (model.exemplars_ > 50).all()


@pytest.mark.parametrize("objective", ["variance", "error"])
def test_means_of_selectors_are_those_of_recent_rows(objective):
    X = worlds()
    model = StreamGreedy(6, objective=objective, n_validation=100, half_life=H, random_state=0)
    model.fit(X, np.sin(X[:, 0]))
    assert (model._sample.row_ids > 1500).mean() > 0.95
    assert (model.prototypes_ > 50).all()


def test_prototypes_that_differ_most_do_not_age():
    assert not StreamGreedy(5).traits.forgets
    with pytest.raises(ValueError, match="half_life is for objectives that are means"):
        StreamGreedy(5, half_life=10).partial_fit(worlds())


def test_buffered_rows_fade():
    model = StreamGreedy(50, objective="variance", half_life=4, random_state=0).partial_fit(worlds()[:15])
    np.testing.assert_allclose(model._buffered.weights, law(15, 4) * model._unit())


def test_groups_forget_by_their_own_rows():
    X, groups = worlds(), np.arange(3000) % 2
    model = BalancedSelection(ExemplarClustering(4, n_validation=60, half_life=100)).fit(X, groups)
    picks = model.picks()
    assert picks.weights[(picks.rows < 50).any(axis=1)].sum() < 0.05 * picks.weights.sum()
