"""Loops over rows and centers."""

from modicum._jit import compiled, compiled_sums


@compiled_sums
def square_gap(x, c):
    """|x - c|^2."""
    total = 0.0
    for j in range(x.shape[0]):
        step = x[j] - c[j]
        total += step * step
    return total


@compiled
def pick_nearest(X, centers, scores, slack, labels, gaps):
    """The nearest center of each row and its squared distance.

    `scores` are |c|^2 - 2 x.c up to rounding; centers within `slack` of a row's best score are compared exactly.
    """
    for i in range(X.shape[0]):
        least = scores[i, 0]
        for j in range(1, centers.shape[0]):
            if scores[i, j] < least:
                least = scores[i, j]
        gaps[i] = 1e308
        for j in range(centers.shape[0]):
            if scores[i, j] <= least + slack[i]:
                gap = square_gap(X[i], centers[j])
                if gap < gaps[i]:
                    labels[i], gaps[i] = j, gap


@compiled_sums
def add_residuals(X, weight, labels, centers, sums):
    """Add the weighted x - c of every row to the sums of its center."""
    for i in range(X.shape[0]):
        cell = labels[i]
        for j in range(X.shape[1]):
            sums[cell, j] += weight[i] * (X[i, j] - centers[cell, j])
