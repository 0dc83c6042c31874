"""The loop of k-means++."""

import numpy as np

from modicum._jit import compiled, inlined
from modicum._jit.nearest import square_gap

ROWS_PER_SUM = 512  # a draw searches sums of costs first, then the rows of one sum


@compiled
def seed(X, weight, draws, known, centers, rows, gaps, labels):
    """Add centers after the `known` first ones and write their row numbers into `rows`; returns the number of centers.

    `draws[i]` are uniform numbers, one for each candidate for a center. `gaps` and `labels` are the squared distance
    and the number of each row's nearest center; without centers, gaps of 1 draw a row by its weight. A center more than
    twice as far from a row's own center as the row is can't be nearer to it: this rules out most rows.
    """
    trials = draws.shape[1]
    costs = np.empty((X.shape[0] + ROWS_PER_SUM - 1) // ROWS_PER_SUM)
    candidates, points = np.empty(trials, np.int64), np.empty((trials, X.shape[1]), X.dtype)
    savings = np.empty(trials)
    reach = np.empty((trials, centers.shape[0]))
    for count in range(known, centers.shape[0]):
        total = add_up(weight, gaps, costs)
        if total == 0.0:
            return count
        for t in range(trials):
            candidates[t] = draw(weight, gaps, costs, draws[count - known, t] * total)
            for j in range(X.shape[1]):
                points[t, j] = X[candidates[t], j]
            for j in range(count):
                reach[t, j] = square_gap(points[t], centers[j])
        best = 0  # without centers all rows cost the same: any draw is as good
        if trials > 1 and count > 0:
            best = most_saving(X, weight, points, reach, gaps, labels, savings)
        rows[count - known] = candidates[best]
        for j in range(X.shape[1]):
            centers[count, j] = points[best, j]
        if count == 0:
            reach[best, 0] = 0.0  # the label of all rows
            for i in range(gaps.shape[0]):
                gaps[i] = np.inf
        assign_nearer(X, centers[count], count, reach[best], gaps, labels)
    return centers.shape[0]


@inlined
def draw(weight, gaps, costs, target):
    """The row at which the running sum of costs exceeds `target`; whatever the rounding, a row with a cost."""
    at = 0
    while at < costs.shape[0] - 1 and costs[at] <= target:
        target -= costs[at]
        at += 1
    while costs[at] == 0.0:
        at -= 1
    found, stop = -1, (at + 1) * ROWS_PER_SUM
    for i in range(at * ROWS_PER_SUM, stop if stop < gaps.shape[0] else gaps.shape[0]):
        cost = weight[i] * gaps[i]
        if cost > 0.0:
            found = i
            target -= cost
            if target < 0.0:
                break
    return found


@compiled
def most_saving(X, weight, points, reach, gaps, labels, savings):
    """The point that as one more center reduces the cost of all rows most; `savings` is scratch."""
    for t in range(savings.shape[0]):
        savings[t] = 0.0
    for i in range(X.shape[0]):
        for t in range(savings.shape[0]):
            if reach[t, labels[i]] < 4.0 * gaps[i]:
                gap = square_gap(X[i], points[t])
                if gap < gaps[i]:
                    savings[t] += weight[i] * (gaps[i] - gap)
    best = 0
    for t in range(1, savings.shape[0]):
        if savings[t] > savings[best]:
            best = t
    return best


@compiled
def assign_nearer(X, center, label, reach, gaps, labels):
    """Assign the rows that are nearer to a new center than to their own to the new one."""
    for i in range(X.shape[0]):
        if reach[labels[i]] < 4.0 * gaps[i]:
            gap = square_gap(X[i], center)
            if gap < gaps[i]:
                gaps[i], labels[i] = gap, label


@inlined
def add_up(weight, gaps, costs):
    """Sums of the costs of `ROWS_PER_SUM` rows each; returns the total."""
    total = 0.0
    for at in range(costs.shape[0]):
        cost, stop = 0.0, (at + 1) * ROWS_PER_SUM
        for i in range(at * ROWS_PER_SUM, stop if stop < gaps.shape[0] else gaps.shape[0]):
            cost += weight[i] * gaps[i]
        costs[at] = cost
        total += cost
    return total
