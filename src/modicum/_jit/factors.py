"""Cholesky factors of the covariances of groups of rows. Lower triangles are stored row by row."""

import math

from modicum._jit import compiled

TINY = 1e-14  # of a mean square, per column: what a variance may be by rounding alone


@compiled
def factor(averages, d, out):
    """out[g] = lower Cholesky factor of the covariance of group g: its mean products minus those of its means.

    `averages` has d means and the lower triangle of mean products in each row. A column without variance of its own
    has zeros below its diagonal entry, so any group of rows has a factor.
    """
    for g in range(len(out)):
        at = 0
        for i in range(d):
            first = at  # of row i
            other = 0
            for j in range(i + 1):
                left = averages[g, d + at] - averages[g, i] * averages[g, j]
                for k in range(j):
                    left -= out[g, first + k] * out[g, other + k]
                other += j  # to the diagonal entry of row j
                if j < i:
                    out[g, at] = left / out[g, other] if out[g, other] > 0.0 else 0.0
                else:
                    out[g, at] = math.sqrt(left) if left > d * TINY * averages[g, d + at] else 0.0
                other += 1
                at += 1


@compiled
def unfactor(factors, d, averages):
    """Add the products of rows of each factor to the mean products in `averages`."""
    for g in range(len(factors)):
        at, first = d, 0
        for i in range(d):
            other = 0
            for j in range(i + 1):
                total = averages[g, i] * averages[g, j]
                for k in range(j + 1):
                    total += factors[g, first + k] * factors[g, other + k]
                averages[g, at] = total
                other += j + 1
                at += 1
            first += i + 1
