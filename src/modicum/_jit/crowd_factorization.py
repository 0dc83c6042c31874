"""Loops of the crowd factorisation over views: the labels of pairs that one item has in one answer of a worker.

Views of item i are at item_starts[i] .. item_starts[i + 1], labels of view v at view_starts[v] .. view_starts[v + 1].
A label of a pair is in the views of both items. Its sign says whether they are in one group, its size is its weight.
"""

import numpy as np

from modicum._jit import compiled_sums, inlined

TINY = 1e-12  # smaller memberships are 0, and divisors at least this


@inlined
def add_up(first, end, partners, labels, memberships, mixed, said, expected):
    """Weighted sums of partners' memberships over one view: of those in one group, and of all times their prediction.

    `mixed` is the worker's matrix times the item's memberships. Returns the weighted sum of squared errors.
    """
    error = 0.0
    for k in range(len(said)):
        said[k] = 0.0
        expected[k] = 0.0
    for at in range(first, end):
        other, weight, target = partners[at], labels[at], 1.0
        if weight < 0.0:
            weight, target = -weight, 0.0
        prediction = 0.0
        for k in range(len(said)):
            prediction += mixed[k] * memberships[other, k]
        error += weight * (target - prediction) ** 2
        for k in range(len(said)):
            said[k] += weight * target * memberships[other, k]
            expected[k] += weight * prediction * memberships[other, k]
    return error


@inlined
def mix(confusions, worker, memberships, item, mixed):
    """mixed = matrix of the worker times memberships of the item."""
    for k in range(len(mixed)):
        total = 0.0
        for m in range(len(mixed)):
            total += confusions[worker, k, m] * memberships[item, m]
        mixed[k] = total


@inlined
def move_on_simplex(memberships, item, gain, cost, is_free):
    """Memberships z_k (gain_k - shift) / cost_k, cut at 0; the shift makes them sum to 1."""
    best = 0  # gains are taken relative to the best, whose membership then stays above 0 in spite of rounding
    for k in range(len(gain)):
        cost[k] = cost[k] if cost[k] > TINY else TINY
        is_free[k] = memberships[item, k] > 0.0
        if is_free[k] and (gain[k] > gain[best] or not is_free[best]):
            best = k
    most = gain[best]
    for k in range(len(gain)):
        gain[k] -= most
    shift, is_changed = 0.0, True
    while is_changed:
        total, slope = 0.0, 0.0
        for k in range(len(gain)):
            if is_free[k]:
                total += memberships[item, k] / cost[k] * gain[k]
                slope += memberships[item, k] / cost[k]
        shift, is_changed = (total - 1.0) / slope, False
        for k in range(len(gain)):
            if is_free[k] and gain[k] <= shift:
                is_free[k], is_changed = False, True
    total = 0.0
    for k in range(len(gain)):
        moved = memberships[item, k] / cost[k] * (gain[k] - shift) if is_free[k] else 0.0
        memberships[item, k] = moved if moved > TINY else 0.0
        total += memberships[item, k]
    for k in range(len(gain)):
        memberships[item, k] /= total


@compiled_sums
def move_items(item_starts, workers, view_starts, partners, labels, memberships, confusions):
    """Improve the memberships of one item after the other, all else fixed; the error never rises."""
    n_clusters = memberships.shape[1]
    mixed, said, expected = np.empty(n_clusters), np.empty(n_clusters), np.empty(n_clusters)
    gain, cost, is_free = np.empty(n_clusters), np.empty(n_clusters), np.empty(n_clusters, np.bool_)
    for i in range(memberships.shape[0]):
        if item_starts[i] == item_starts[i + 1]:
            continue
        for k in range(n_clusters):
            gain[k] = 0.0
            cost[k] = 0.0
        for v in range(item_starts[i], item_starts[i + 1]):
            worker = workers[v]
            mix(confusions, worker, memberships, i, mixed)
            add_up(view_starts[v], view_starts[v + 1], partners, labels, memberships, mixed, said, expected)
            for k in range(n_clusters):
                for m in range(n_clusters):
                    gain[k] += confusions[worker, k, m] * said[m]
                    cost[k] += confusions[worker, k, m] * expected[m]
        move_on_simplex(memberships, i, gain, cost, is_free)


@compiled_sums
def sum_views(item_starts, workers, view_starts, partners, labels, memberships, confusions, said, expected):
    """Add sums over labels (a, b) of z_a z_b' + z_b z_a', by worker: to `said` those of one group, to `expected` all.

    Those of `expected` are multiplied by the prediction. Returns the weighted sum of squared errors of all labels.
    """
    n_clusters = memberships.shape[1]
    mixed, yes, all_of_them = np.empty(n_clusters), np.empty(n_clusters), np.empty(n_clusters)
    error = 0.0
    for i in range(memberships.shape[0]):
        for v in range(item_starts[i], item_starts[i + 1]):
            worker = workers[v]
            mix(confusions, worker, memberships, i, mixed)
            error += add_up(view_starts[v], view_starts[v + 1], partners, labels, memberships, mixed, yes, all_of_them)
            for k in range(n_clusters):
                for m in range(n_clusters):
                    said[worker, k, m] += memberships[i, k] * yes[m]
                    expected[worker, k, m] += memberships[i, k] * all_of_them[m]
    return error / 2.0  # each label is in two views
