"""Loops over rows and centers."""

import numpy as np

from modicum._jit import compiled, compiled_sums


@compiled_sums
def square_gap(x, c):
    """|x - c|^2, in double precision."""
    total = 0.0
    for j in range(x.shape[0]):
        step = np.float64(x[j]) - np.float64(c[j])
        total += step * step
    return total


@compiled
def pick_nearest(X, centers, scores, row_slack, center_slack, labels, gaps):
    """The nearest center of each row and its squared distance.

    `scores` are |c|^2 / 2 - x.c up to a constant for each row, with rounding errors up to the slack of row and center.
    Centers that may be the nearest by their scores, or whose score is NaN, are compared exactly.
    """
    for i in range(X.shape[0]):
        most = np.inf  # the largest score that the nearest center can have
        for j in range(centers.shape[0]):
            score = scores[i, j] + center_slack[j]
            most = score if score < most else most
        most += 2 * row_slack[i]
        labels[i], gaps[i] = 0, np.inf
        for j in range(centers.shape[0]):
            if not scores[i, j] - center_slack[j] > most:
                gap = square_gap(X[i], centers[j])
                if gap < gaps[i]:
                    labels[i], gaps[i] = j, gap


@compiled
def pick_several(X, centers, scores, ids, gaps):
    """The nearest centers of each row by their scores, as many as `ids` has columns, and their squared distances.

    They are in the order of their exact distances. A score that is NaN counts as infinite.
    """
    count = ids.shape[1]
    for i in range(X.shape[0]):
        best = np.full(count, np.inf)
        for j in range(count):
            ids[i, j] = j
        held = 0
        for j in range(centers.shape[0]):
            score = scores[i, j]
            if held < count or score < best[count - 1]:
                at = min(held, count - 1)
                held = at + 1
                while at > 0 and score < best[at - 1]:
                    best[at], ids[i, at] = best[at - 1], ids[i, at - 1]
                    at -= 1
                best[at], ids[i, at] = score if score == score else np.inf, j
        for j in range(count):
            here, gap, at = ids[i, j], square_gap(X[i], centers[ids[i, j]]), j
            while at > 0 and gap < gaps[i, at - 1]:
                gaps[i, at], ids[i, at] = gaps[i, at - 1], ids[i, at - 1]
                at -= 1
            gaps[i, at], ids[i, at] = gap, here


@compiled_sums
def add_residuals(X, weight, labels, centers, sums):
    """Add the weighted x - c of every row to the sums of its center."""
    for i in range(X.shape[0]):
        cell = labels[i]
        for j in range(X.shape[1]):
            sums[cell, j] += weight[i] * (np.float64(X[i, j]) - np.float64(centers[cell, j]))
