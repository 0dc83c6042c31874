"""Loops of the kernels: fast exponentials, and a table looked up by the number of differing columns."""

import numpy as np
from numba import njit

from modicum._jit import compiled

LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # the first has zeros at its end
LOWEST = -700.0  # exp of less is zero; a little below, results would be subnormal, which is slow
# 1/13!, 1/12!, ..., 1/0!: the Taylor series, which on |r| <= ln(2) / 2 is exact to the last bit or two
SERIES = tuple(1.0 / f for f in (6227020800.0, 479001600.0, 39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0, 720.0))
SERIES = (*SERIES, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0)


@njit(cache=True, nogil=True, fastmath={"contract"})
def decay(values, rate):
    """values = exp(-rate * max(values, 0)), in place on a contiguous vector of doubles.

    With exp(x) = 2^n exp(r), n whole and r small, there is no branch and no call in the loop, so that it runs on
    several numbers at a time: two to three times faster than numpy's exp without AVX-512.
    """
    bits = values.view(np.int64)  # an argument of its own might overlap in any way: five times slower
    for i in range(values.size):
        x = -rate * (0.0 if values[i] < 0.0 else values[i])
        clipped = LOWEST if x < LOWEST else x
        n = np.floor(clipped * LOG2_E + 0.5)
        r = clipped - n * LN2_HIGH
        r -= n * LN2_LOW
        power = 0.0
        for term in SERIES:
            power = power * r + term
        values[i] = power
        bits[i] += np.int64(n) << 52  # times 2^n
        values[i] = 0.0 if x < LOWEST else values[i]


LOWEST_SINGLE = np.float32(-87.0)  # as LOWEST, in single precision
LOG2_E_SINGLE, HALF = np.float32(LOG2_E), np.float32(0.5)
LN2_HIGH_SINGLE, LN2_LOW_SINGLE = np.float32(0.693359375), np.float32(-2.12194440e-4)  # the first has zeros at its end
SERIES_SINGLE = tuple(np.float32(1.0 / f) for f in (5040.0, 720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0))


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def decay_sums(A, blocks, weights, out):
    """out[i] = sum_b exp(-|a_i - b|^2) weight_b, in single precision; sums of blocks are added in double precision.

    `blocks` (blocks, columns, rows) holds the rows b, with their weights (blocks, rows): with slices of whole columns,
    the inner loops run on several numbers at a time. Differences are squared one by one, so that near copies far from
    the origin lose no digits, as they would by products.
    """
    terms = np.empty(blocks.shape[2], np.float32)
    bits = terms.view(np.int32)
    out[:] = 0.0
    for t in range(blocks.shape[0]):
        block, weight = blocks[t], weights[t]
        for i in range(A.shape[0]):
            terms[:] = 0.0
            for c in range(A.shape[1]):
                value, column = A[i, c], block[c]
                for j in range(terms.size):
                    difference = value - column[j]
                    terms[j] += difference * difference
            for j in range(terms.size):
                x = LOWEST_SINGLE if -terms[j] < LOWEST_SINGLE else -terms[j]
                n = np.floor(x * LOG2_E_SINGLE + HALF)
                r = x - n * LN2_HIGH_SINGLE
                r -= n * LN2_LOW_SINGLE
                power = np.float32(0.0)
                for term in SERIES_SINGLE:
                    power = power * r + term
                terms[j] = power
                bits[j] += np.int32(n) << 23  # times 2^n
            total = np.float32(0.0)
            for j in range(terms.size):
                total += terms[j] * weight[j]
            out[i] += total


@compiled
def look_up_differences(A, columns, table, counts, out):
    """out[i, j] = table[differences of row i of A and row j of the other chunk]; `counts` is scratch for one row."""
    for i in range(A.shape[0]):
        for j in range(columns.shape[1]):
            counts[j] = 0
        for c in range(A.shape[1]):
            value = A[i, c]
            for j in range(columns.shape[1]):
                counts[j] += value != columns[c, j]
        for j in range(columns.shape[1]):
            out[i, j] = table[counts[j]]
