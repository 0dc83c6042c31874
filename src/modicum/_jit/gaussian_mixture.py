"""Loops of EM for Gaussian mixtures, over blocks of rows.

Names: a component has a mean, a `height` (the logarithm of its weight and of its density at the mean) and a lower
triangular `factor` F, the inverse of the Cholesky factor of its covariance: the log-density of x is height - |F (x -
mean)|^2 / 2. A factor of a single row is a diagonal. A block holds `ROWS_PER_BLOCK` rows as columns, so that the
innermost loops run over rows; the last block is filled up with copies of its last row.

Most components are far from most rows, and |F (x - mean)|^2 only grows from coordinate to coordinate: a component is
skipped as soon as its share of every row of the block is known to be below e^-FAR. Where similar rows share a block,
nearly all components are skipped.
"""

import numpy as np

from modicum._jit import compiled_sums, inlined

ROWS_PER_BLOCK = 64  # enough for vector instructions; larger blocks have more components nearby
FAR = 37.0  # e^-37 is below the rounding of 1.0: smaller shares add nothing to a sum of shares
NOTHING = -1e300  # in place of log 0: finite, so that differences are numbers


@compiled_sums
def expect(X, order, means, factors, heights, nearest, density, shares):
    """For the rows in `order`: the log-density, the component with the largest share, and all shares if wanted.

    The search starts with the component in `nearest`, which is then corrected; `shares` has one row per row, or none.
    """
    block = np.empty((X.shape[1], ROWS_PER_BLOCK))
    active, found = np.empty(len(means), np.int64), np.empty((len(means), ROWS_PER_BLOCK))
    logs = np.empty(ROWS_PER_BLOCK)
    for start in range(0, len(order), ROWS_PER_BLOCK):
        rows = order[start : start + ROWS_PER_BLOCK]
        load(X, rows, block)
        count = share_out(block, rows, means, factors, heights, nearest, active, found, logs)
        for r in range(len(rows)):
            density[rows[r]] = logs[r]
            if len(shares):
                for t in range(count):
                    shares[rows[r], active[t]] = found[t, r]


@compiled_sums
def expect_and_add(X, weight, order, means, factors, heights, nearest, density, totals, sums, squares):
    """As `expect`, and add the moments of each component about its mean, weighted by its shares of the rows."""
    block, steps = np.empty((X.shape[1], ROWS_PER_BLOCK)), np.empty((X.shape[1], ROWS_PER_BLOCK))
    active, found = np.empty(len(means), np.int64), np.empty((len(means), ROWS_PER_BLOCK))
    logs = np.empty(ROWS_PER_BLOCK)
    for start in range(0, len(order), ROWS_PER_BLOCK):
        rows = order[start : start + ROWS_PER_BLOCK]
        load(X, rows, block)
        count = share_out(block, rows, means, factors, heights, nearest, active, found, logs)
        for r in range(len(rows)):
            density[rows[r]] = logs[r]
        for t in range(count):
            for r in range(ROWS_PER_BLOCK):
                found[t, r] *= weight[rows[r]] if r < len(rows) else 0.0
            j = active[t]
            totals[j] += add_moments(block, found[t], means[j], steps, sums[j], squares[j])


@compiled_sums
def add_labelled(X, weight, order, labels, means, totals, sums, squares):
    """Add the moments of each component about its mean, over the rows in `order` with its label."""
    block, steps = np.empty((X.shape[1], ROWS_PER_BLOCK)), np.empty((X.shape[1], ROWS_PER_BLOCK))
    mass = np.empty(ROWS_PER_BLOCK)
    start = 0
    while start < len(order):
        j = labels[order[start]]
        stop = start
        while stop < start + ROWS_PER_BLOCK and stop < len(order) and labels[order[stop]] == j:
            stop += 1
        rows = order[start:stop]
        load(X, rows, block)
        for r in range(ROWS_PER_BLOCK):
            mass[r] = weight[rows[r]] if r < len(rows) else 0.0
        totals[j] += add_moments(block, mass, means[j], steps, sums[j], squares[j])
        start = stop


@inlined
def load(X, rows, block):
    """Rows of X as the columns of a block."""
    for r in range(ROWS_PER_BLOCK):
        row = rows[r if r < len(rows) else len(rows) - 1]
        for i in range(X.shape[1]):
            block[i, r] = X[row, i]


@compiled_sums
def share_out(block, rows, means, factors, heights, nearest, active, shares, logs):
    """Shares of the components in each column of the block, and log-densities.

    Components that are not far from the whole block are written to `active`, their shares to the rows of `shares`;
    `nearest` is corrected for the rows. Returns the number of active components.
    """
    steps, gaps, limits = np.empty(block.shape), np.empty((2, ROWS_PER_BLOCK)), np.empty(ROWS_PER_BLOCK)
    best = np.empty(ROWS_PER_BLOCK, np.int64)
    for r in range(ROWS_PER_BLOCK):
        best[r], logs[r] = 0, NOTHING  # of the best component so far
    count = 0
    order = near_first(rows, nearest, len(means))
    for at in range(len(order)):
        j = order[at]
        for r in range(ROWS_PER_BLOCK):
            limits[r] = 2.0 * (heights[j] - logs[r] + FAR)
        if square_gaps(block, means[j], factors[j], limits, steps, gaps):
            for r in range(ROWS_PER_BLOCK):
                shares[count, r] = heights[j] - 0.5 * gaps[0, r]
                if shares[count, r] > logs[r]:
                    logs[r], best[r] = shares[count, r], j
            active[count] = j
            count += 1
    normalize(shares[:count], logs)
    for r in range(len(rows)):
        nearest[rows[r]] = best[r]
    return count


@inlined
def near_first(rows, nearest, count):
    """All components; those that are nearest to one of the rows come first."""
    order, known = np.empty(count, np.int64), np.empty(count, np.int64)
    for j in range(count):
        known[j] = 0
    n = 0
    for r in range(len(rows)):
        j = nearest[rows[r]]
        if not known[j]:
            known[j] = 1
            order[n] = j
            n += 1
    for j in range(count):
        if not known[j]:
            order[n] = j
            n += 1
    return order


@compiled_sums
def square_gaps(block, mean, factor, limits, steps, gaps):
    """gaps[0] = |F (x - mean)|^2 of each column x of the block; False if it is beyond all limits, then unfinished."""
    diagonal = len(factor) == 1
    for r in range(ROWS_PER_BLOCK):
        gaps[0, r] = 0.0
    for j in range(len(mean)):
        for r in range(ROWS_PER_BLOCK):
            steps[j, r] = block[j, r] - mean[j]
        product(factor[0 if diagonal else j], steps, j if diagonal else 0, j + 1, gaps[1])
        within = 0
        for r in range(ROWS_PER_BLOCK):
            gaps[0, r] += gaps[1, r] * gaps[1, r]
            within += gaps[0, r] <= limits[r]
        if within == 0:
            return False
    return True


@inlined
def product(factors, steps, first, stop, out):
    """out = sum of factors[i] * steps[i], four terms at a time."""
    for r in range(ROWS_PER_BLOCK):
        out[r] = 0.0
    while first + 4 <= stop:
        a, b, c, d = factors[first], factors[first + 1], factors[first + 2], factors[first + 3]
        for r in range(ROWS_PER_BLOCK):
            out[r] += a * steps[first, r] + b * steps[first + 1, r] + c * steps[first + 2, r] + d * steps[first + 3, r]
        first += 4
    for i in range(first, stop):
        for r in range(ROWS_PER_BLOCK):
            out[r] += factors[i] * steps[i, r]


@inlined
def normalize(shares, logs):
    """Turn log-densities of components (in `shares`; the largest in `logs`) into shares, and log-densities of rows."""
    totals = np.empty(ROWS_PER_BLOCK)
    for r in range(ROWS_PER_BLOCK):
        totals[r] = 0.0
    for t in range(len(shares)):
        for r in range(ROWS_PER_BLOCK):
            below = shares[t, r] - logs[r]
            shares[t, r] = np.exp(below) if below > -FAR else 0.0
            totals[r] += shares[t, r]
    for r in range(ROWS_PER_BLOCK):
        # a total of 0: squares overflowed, and the row is infinitely far from all components
        logs[r] = logs[r] + np.log(totals[r]) if totals[r] > 0.0 else -np.inf
    for t in range(len(shares)):
        for r in range(ROWS_PER_BLOCK):
            if shares[t, r] > 0.0:
                shares[t, r] /= totals[r]


@compiled_sums
def add_moments(block, mass, mean, steps, sums, squares):
    """Add the moments of the columns about the mean, weighted by mass; `squares` is a lower triangle or a diagonal."""
    total = 0.0
    for r in range(ROWS_PER_BLOCK):
        total += mass[r]
    if total == 0.0:
        return total
    diagonal = len(squares) == 1
    heavy = np.empty(ROWS_PER_BLOCK)
    for i in range(len(mean)):
        moved = 0.0
        for r in range(ROWS_PER_BLOCK):
            steps[i, r] = block[i, r] - mean[i]
            heavy[r] = mass[r] * steps[i, r]
            moved += heavy[r]
        sums[i] += moved
        for j in range(i if diagonal else 0, i + 1):
            square = 0.0
            for r in range(ROWS_PER_BLOCK):
                square += heavy[r] * steps[j, r]
            squares[0 if diagonal else i, j] += square
    return total
