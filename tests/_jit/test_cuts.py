"""Cutting groups of points into small ones."""

import numpy as np
import pytest

from modicum._jit.cuts import cut


def parts_of(points, starts, most):
    labels = np.full(len(points), -1)
    count = cut(points, np.array(starts), np.array(most), labels)
    assert set(labels) == set(range(count))
    return labels


@pytest.mark.parametrize("seed", range(5))
def test_parts_are_small_and_within_their_group(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(500, 3)) * [1.0, 5.0, 0.1]
    starts, most = [0, 10, 10, 200, 500], [3, 1, 50, 7]
    labels = parts_of(points, starts, most)
    group = np.searchsorted(starts, np.arange(500), side="right") - 1
    for part in range(labels.max() + 1):
        inside = labels == part
        assert len(set(group[inside])) == 1
        assert inside.sum() <= most[group[inside][0]]


def test_the_first_cut_is_at_the_mean_of_the_widest_column():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 2)) * [1.0, 9.0]
    above = points[:, 1] > points[:, 1].mean()
    labels = parts_of(points, [0, 40], [max(above.sum(), (~above).sum())])
    assert len(set(labels[above])) == len(set(labels[~above])) == 1
    assert labels.max() == 1


def test_a_part_has_neighbours():
    """Parts have a small share of the variance."""
    points = np.random.default_rng(1).uniform(size=(4096, 2))
    labels = parts_of(points, [0, 4096], [16])
    means = np.stack([np.bincount(labels, column) for column in points.T], axis=1) / np.bincount(labels)[:, None]
    assert ((points - means[labels]) ** 2).mean() < 0.01 * points.var()


def test_equal_points_stay_together():
    points = np.zeros((50, 2))
    points[:5] = 1.0
    labels = parts_of(points, [0, 50], [2])
    assert len(set(labels[:5])) == len(set(labels[5:])) == 1
