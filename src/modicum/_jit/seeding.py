"""The loop of k-means++."""

import numpy as np

from modicum._jit import compiled
from modicum._jit.nearest import square_gap

ROWS_PER_SUM = 512  # costs are summed by blocks of rows, so that a draw searches blocks first, then rows


@compiled
def seed(X, weight, draws, known, centers, rows, gaps, labels):
    """Add centers to the `known` first ones, and write their rows into `rows`; returns the number of centers.

    `draws[i]` are uniform numbers, one for each candidate for a center. `gaps` and `labels` are the squared distance
    and the index of each row's nearest center; without centers, gaps of 1 draw a row by its weight. A candidate more
    than twice as far from a row's center as the row itself can't be nearer to the row: most rows are skipped.
    """
    trials = draws.shape[1]
    costs = np.empty((X.shape[0] + ROWS_PER_SUM - 1) // ROWS_PER_SUM)
    reach = np.zeros((trials, centers.shape[0]))
    candidates = np.empty(trials, np.int64)
    add_up(weight, gaps, costs)
    for count in range(known, centers.shape[0]):
        total = costs.sum()
        if total == 0.0:
            return count
        for t in range(trials):
            candidates[t] = draw(weight, gaps, costs, draws[count - known, t] * total)
            for j in range(count):
                reach[t, j] = square_gap(X[candidates[t]], centers[j])
        best = 0  # without centers all rows cost the same: any draw is as good as another
        if trials > 1 and count > 0:
            best = most_saving(X, weight, X[candidates], reach, gaps, labels)
        rows[count - known] = candidates[best]
        centers[count] = X[candidates[best]]
        if count == 0:
            gaps[:] = np.inf
        admit(X, centers[count], count, reach[best], gaps, labels)
        add_up(weight, gaps, costs)
    return centers.shape[0]


@compiled
def draw(weight, gaps, costs, target):
    """The row at which the running sum of costs exceeds `target`; never a row without cost, in spite of rounding."""
    block = 0
    while block < costs.shape[0] - 1 and costs[block] <= target:
        target -= costs[block]
        block += 1
    while costs[block] == 0.0:
        block -= 1
    found = -1
    for i in range(block * ROWS_PER_SUM, min((block + 1) * ROWS_PER_SUM, gaps.shape[0])):
        cost = weight[i] * gaps[i]
        if cost > 0.0:
            found = i
            target -= cost
            if target < 0.0:
                break
    return found


@compiled
def most_saving(X, weight, candidates, reach, gaps, labels):
    """The candidate that lowers the cost of all rows most as an additional center."""
    savings = np.zeros(candidates.shape[0])
    for i in range(X.shape[0]):
        for t in range(candidates.shape[0]):
            if reach[t, labels[i]] < 4.0 * gaps[i]:
                gap = square_gap(X[i], candidates[t])
                if gap < gaps[i]:
                    savings[t] += weight[i] * (gaps[i] - gap)
    return np.argmax(savings)


@compiled
def admit(X, center, label, reach, gaps, labels):
    """Assign to a new center the rows that are nearest to it."""
    for i in range(X.shape[0]):
        if reach[labels[i]] < 4.0 * gaps[i]:
            gap = square_gap(X[i], center)
            if gap < gaps[i]:
                gaps[i], labels[i] = gap, label


@compiled
def add_up(weight, gaps, costs):
    """Sum the costs of rows by blocks."""
    for block in range(costs.shape[0]):
        costs[block] = 0.0
        for i in range(block * ROWS_PER_SUM, min((block + 1) * ROWS_PER_SUM, gaps.shape[0])):
            costs[block] += weight[i] * gaps[i]
