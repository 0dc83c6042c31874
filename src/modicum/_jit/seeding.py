"""Loops of k-means++ seeding."""

from modicum._jit import compiled
from modicum._jit.nearest import square_gap


@compiled
def potentials(X, weight, candidates, reach, gaps, labels, sums):
    """Add to `sums[t]` the cost of rows with candidate t beside the centers there are.

    `reach[t, j]` is the squared distance of candidate t and center j. A center more than twice as far from a row's own
    center as the row is can't be nearer to the row: most rows are passed over by that.
    """
    for i in range(X.shape[0]):
        for t in range(candidates.shape[0]):
            gap = gaps[i]
            if reach[t, labels[i]] < 4.0 * gap:
                gap = min(gap, square_gap(X[i], candidates[t]))
            sums[t] += weight[i] * gap


@compiled
def admit(X, center, label, reach, gaps, labels):
    """Give a new center the rows that are nearest to it."""
    for i in range(X.shape[0]):
        if reach[labels[i]] < 4.0 * gaps[i]:
            gap = square_gap(X[i], center)
            if gap < gaps[i]:
                gaps[i], labels[i] = gap, label
