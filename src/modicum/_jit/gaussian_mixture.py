"""Loops of EM for Gaussian mixtures, over blocks of rows.

Names: a component has a mean, a `height` (the logarithm of its weight and of its density at the mean) and a lower
triangular `factor` F, the inverse of the Cholesky factor of its covariance: the log-density of x is height - |F (x -
mean)|^2 / 2. A factor of a single row is a diagonal. A block holds `BLOCK_ROWS` rows as columns, so that the innermost
loops run over rows; the last one is padded with copies of its last row.

Most components are far from most rows, and |F (x - mean)|^2 only grows from coordinate to coordinate: a component is
skipped as soon as its share of every row of the block must be below e^-FAR. If rows of the same component share a
block, nearly all other components are skipped.
"""

import numpy as np

from modicum._jit import compiled_sums

BLOCK_ROWS = 64  # enough for vector instructions; larger blocks have shares in more components
FAR = 37.0  # e^-37 is below the rounding of 1.0: smaller shares add nothing to a sum of shares
NOTHING = -1e300  # the logarithm of nothing, from which finite ones can still be subtracted


@compiled_sums
def expect(X, order, means, factors, heights, nearest, density, shares):
    """For the rows in `order`: the log-density, the most likely component, and all shares if `shares` is not empty.

    `nearest` is a guess of the most likely component, and is corrected; `shares` has one row per row, or none at all.
    """
    block = np.empty((X.shape[1], BLOCK_ROWS))
    active, found = np.empty(len(means), np.int64), np.empty((len(means), BLOCK_ROWS))
    logs = np.empty(BLOCK_ROWS)
    for start in range(0, len(order), BLOCK_ROWS):
        rows = order[start : start + BLOCK_ROWS]
        load(X, rows, block)
        count = share_out(block, rows, means, factors, heights, nearest, active, found, logs)
        for r in range(len(rows)):
            density[rows[r]] = logs[r]
            if len(shares):
                for t in range(count):
                    shares[rows[r], active[t]] = found[t, r]


@compiled_sums
def expect_and_add(X, weight, order, means, factors, heights, nearest, density, totals, sums, squares):
    """As `expect`, without shares; add the moments of each component about its mean, weighted by its shares of rows."""
    block, steps = np.empty((X.shape[1], BLOCK_ROWS)), np.empty((X.shape[1], BLOCK_ROWS))
    active, found = np.empty(len(means), np.int64), np.empty((len(means), BLOCK_ROWS))
    logs = np.empty(BLOCK_ROWS)
    for start in range(0, len(order), BLOCK_ROWS):
        rows = order[start : start + BLOCK_ROWS]
        load(X, rows, block)
        count = share_out(block, rows, means, factors, heights, nearest, active, found, logs)
        for r in range(len(rows)):
            density[rows[r]] = logs[r]
        for t in range(count):
            for r in range(BLOCK_ROWS):
                found[t, r] *= weight[rows[r]] if r < len(rows) else 0.0
            j = active[t]
            totals[j] += add_moments(block, found[t], means[j], steps, sums[j], squares[j])


@compiled_sums
def add_labelled(X, weight, order, labels, means, totals, sums, squares):
    """Add the moments of each component about its mean, of the rows in `order` that have its label."""
    block, steps = np.empty((X.shape[1], BLOCK_ROWS)), np.empty((X.shape[1], BLOCK_ROWS))
    mass = np.empty(BLOCK_ROWS)
    start = 0
    while start < len(order):
        j = labels[order[start]]
        stop = start
        while stop < min(start + BLOCK_ROWS, len(order)) and labels[order[stop]] == j:
            stop += 1
        rows = order[start:stop]
        load(X, rows, block)
        for r in range(BLOCK_ROWS):
            mass[r] = weight[rows[r]] if r < len(rows) else 0.0
        totals[j] += add_moments(block, mass, means[j], steps, sums[j], squares[j])
        start = stop


@compiled_sums
def load(X, rows, block):
    """Rows of X as the columns of a block."""
    for r in range(BLOCK_ROWS):
        row = rows[min(r, len(rows) - 1)]
        for i in range(X.shape[1]):
            block[i, r] = X[row, i]


@compiled_sums
def share_out(block, rows, means, factors, heights, nearest, active, shares, logs):
    """Shares of the components in each column of the block, and log-densities.

    Components that are not far from all columns are put into `active`, their shares into the rows of `shares`, and
    `nearest` is corrected for its rows. Returns the number of active components.
    """
    steps, gaps, limits = np.empty(block.shape), np.empty((2, BLOCK_ROWS)), np.empty(BLOCK_ROWS)
    best = np.zeros(BLOCK_ROWS, np.int64)
    logs[:] = NOTHING  # at first, of the best component so far
    count = 0
    for j in near_first(rows, nearest, len(means)):
        for r in range(BLOCK_ROWS):
            limits[r] = 2.0 * (heights[j] - logs[r] + FAR)
        if square_gaps(block, means[j], factors[j], limits, steps, gaps):
            for r in range(BLOCK_ROWS):
                shares[count, r] = heights[j] - 0.5 * gaps[0, r]
                if shares[count, r] > logs[r]:
                    logs[r], best[r] = shares[count, r], j
            active[count] = j
            count += 1
    normalize(shares[:count], logs)
    for r in range(len(rows)):
        nearest[rows[r]] = best[r]
    return count


@compiled_sums
def near_first(rows, nearest, count):
    """All components, beginning with those nearest to one of the rows."""
    order, known = np.empty(count, np.int64), np.zeros(count, np.bool_)
    n = 0
    for row in rows:
        if not known[nearest[row]]:
            known[nearest[row]] = True
            order[n] = nearest[row]
            n += 1
    for j in range(count):
        if not known[j]:
            order[n] = j
            n += 1
    return order


@compiled_sums
def square_gaps(block, mean, factor, limits, steps, gaps):
    """gaps[0] = |F (x - mean)|^2 of each column x; False, and unfinished, if all are beyond their limits."""
    diagonal = len(factor) == 1
    gaps[0] = 0.0
    for j in range(len(mean)):
        for r in range(BLOCK_ROWS):
            steps[j, r] = block[j, r] - mean[j]
        product(factor[0 if diagonal else j], steps, j if diagonal else 0, j + 1, gaps[1])
        within = 0
        for r in range(BLOCK_ROWS):
            gaps[0, r] += gaps[1, r] * gaps[1, r]
            within += gaps[0, r] <= limits[r]
        if within == 0:
            return False
    return True


@compiled_sums
def product(factors, steps, first, stop, out):
    """out = sum of factors[i] * steps[i], four terms at a time."""
    out[:] = 0.0
    while first + 4 <= stop:
        a, b, c, d = factors[first], factors[first + 1], factors[first + 2], factors[first + 3]
        for r in range(BLOCK_ROWS):
            out[r] += a * steps[first, r] + b * steps[first + 1, r] + c * steps[first + 2, r] + d * steps[first + 3, r]
        first += 4
    for i in range(first, stop):
        for r in range(BLOCK_ROWS):
            out[r] += factors[i] * steps[i, r]


@compiled_sums
def normalize(shares, logs):
    """Logarithms of components in `shares`, the largest of a column in `logs`, become shares and log-densities."""
    totals = np.zeros(BLOCK_ROWS)
    for t in range(len(shares)):
        for r in range(BLOCK_ROWS):
            below = shares[t, r] - logs[r]
            shares[t, r] = np.exp(below) if below > -FAR else 0.0
            totals[r] += shares[t, r]
    for r in range(BLOCK_ROWS):
        # no total: squares overflowed, and the row is infinitely far from all components
        logs[r] = logs[r] + np.log(totals[r]) if totals[r] > 0.0 else -np.inf
    for t in range(len(shares)):
        for r in range(BLOCK_ROWS):
            if shares[t, r] > 0.0:
                shares[t, r] /= totals[r]


@compiled_sums
def add_moments(block, mass, mean, steps, sums, squares):
    """Add moments of columns of the given mass about the mean; of `squares` the lower triangle, or the diagonal."""
    total = 0.0
    for r in range(BLOCK_ROWS):
        total += mass[r]
    if total == 0.0:
        return total
    diagonal = len(squares) == 1
    heavy = np.empty(BLOCK_ROWS)
    for i in range(len(mean)):
        moved = 0.0
        for r in range(BLOCK_ROWS):
            steps[i, r] = block[i, r] - mean[i]
            heavy[r] = mass[r] * steps[i, r]
            moved += heavy[r]
        sums[i] += moved
        for j in range(i if diagonal else 0, i + 1):
            square = 0.0
            for r in range(BLOCK_ROWS):
                square += heavy[r] * steps[j, r]
            squares[0 if diagonal else i, j] += square
    return total
