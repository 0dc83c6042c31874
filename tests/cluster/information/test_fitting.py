"""The numbers of clusters from fit to fit."""

import numpy as np
import pytest

from modicum.cluster.information.fitting import numbered


def shares(pairs, n_new, n_old):
    """Shares of rows that new clusters have in common with earlier ones."""
    found = np.zeros((n_new, n_old))
    for new, old, share in pairs:
        found[new, old] = share
    return found


@pytest.mark.parametrize(
    ("pairs", "n_new", "n_old", "n_classes", "order"),
    [
        ([(0, 0, 0.2), (1, 0, 0.5), (2, 0, 0.3)], 3, 1, 0, [1, 2, 0]),  # the first fit: from the largest
        ([(0, 2, 0.2), (1, 0, 0.5), (2, 1, 0.3)], 3, 3, 0, [1, 2, 0]),  # all are there again
        ([(0, 0, 0.2), (1, 2, 0.5), (2, 4, 0.3)], 3, 5, 0, [0, 2, 1]),  # 0 and 2 are free, 4 is too large
        ([(0, 1, 0.2), (1, 0, 0.5), (2, 0, 0.3)], 3, 2, 0, [1, 0, 2]),  # a cluster was cut: the larger part keeps it
        ([(0, 3, 0.4), (1, 1, 0.1), (2, 2, 0.2), (3, 0, 0.3)], 4, 4, 2, [0, 1, 2, 3]),  # classes stay
    ],
)
def test_clusters_keep_their_numbers_where_these_are_free(pairs, n_new, n_old, n_classes, order):
    assert numbered(shares(pairs, n_new, n_old), n_classes).tolist() == order
