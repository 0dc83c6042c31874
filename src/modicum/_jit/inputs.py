"""Loops that prepare rows for margin classifiers: centered, scaled, of unit length, with a constant column."""

import math

import numpy as np

from modicum._jit import compiled, compiled_sums, inlined

SMALLEST = 1e-290  # a smaller sum of squares has lost its digits, or its inverse overflows


@compiled_sums
def track_and_prepare(X, weight, totals, moments, rise, scale, normalize, constant, Z):
    """Prepare rows, each with the mean and deviations of the rows up to and including it. Returns how many are zero.

    `moments` holds the mean of each column and, for scaling, the sum of its squared deviations and the factor of
    deviations, so that squared lengths of rows are 1 on average; `totals` the weight of all rows, and the weight at
    which the factors were last updated; they are once it has risen by a factor `rise`. A deviation that has faded may
    be far too small for the next row: then the factors are those of every row.
    """
    mean, squares, factors = moments[0], moments[1], moments[2]
    zeros = 0
    center = mean.shape[0] > 0  # always true, but a constant would compile `prepare_row` once more
    for i in range(X.shape[0]):
        x = X[i]
        totals[0] += weight[i]
        share = weight[i] / totals[0]
        if scale:
            for j in range(x.shape[0]):
                gap = x[j] - mean[j]
                mean[j] += share * gap
                squares[j] += weight[i] * gap * (x[j] - mean[j])
        else:
            for j in range(x.shape[0]):
                mean[j] += share * (x[j] - mean[j])
        if scale and totals[0] > rise * totals[1]:
            totals[1] = totals[0]
            for j in range(x.shape[0]):
                factors[j] = math.sqrt(totals[0] / squares[j] / x.shape[0]) if squares[j] > SMALLEST else 0.0
        zeros += prepare_row(x, moments, center, scale, normalize, constant, Z[i])
    return zeros


@compiled_sums
def prepare(X, moments, center, scale, normalize, constant, Z):
    """Prepare rows with the moments as they are. Returns how many are zero."""
    zeros = 0
    for i in range(X.shape[0]):
        zeros += prepare_row(X[i], moments, center, scale, normalize, constant, Z[i])
    return zeros


@inlined
def prepare_row(x, moments, center, scale, normalize, constant, z):
    """Write a prepared row to z, whose last entry is the constant if that is positive. Returns whether it is zero."""
    width = x.shape[0]
    if scale:
        for j in range(width):
            z[j] = (x[j] - moments[0, j]) * moments[2, j]
    elif center:
        for j in range(width):
            z[j] = x[j] - moments[0, j]
    else:
        for j in range(width):
            z[j] = x[j]
    length = length_of(z[:width])
    if normalize and length > 0.0:
        for j in range(width):
            z[j] /= length
    if constant > 0.0:
        z[width] = constant
    return length == 0.0


@compiled_sums
def prepare_sparse(data, indices, indptr, width, normalize, constant):
    """Values, columns and starts of prepared sparse rows, the constant in column `width`, and how many are zero."""
    n = indptr.shape[0] - 1
    extra = 1 if constant > 0.0 else 0
    values = np.empty(indptr[n] - indptr[0] + n * extra)
    columns = np.empty(len(values), indices.dtype)
    starts = np.empty(n + 1, indptr.dtype)
    starts[0] = zeros = 0
    for i in range(n):
        x, at = data[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]]
        starts[i + 1] = starts[i] + len(x) + extra
        z, to = values[starts[i] : starts[i + 1]], columns[starts[i] : starts[i + 1]]
        for a in range(len(x)):
            z[a] = x[a]
            to[a] = at[a]
        length = length_of(z[: len(x)])
        zeros += length == 0.0
        if normalize and length > 0.0:
            for a in range(len(x)):
                z[a] /= length
        if extra:
            z[len(x)] = constant
            to[len(x)] = width
    return values, columns, starts, zeros


@inlined
def length_of(z):
    """Euclidean length."""
    square = 0.0
    for j in range(z.shape[0]):
        square += z[j] * z[j]
    return math.sqrt(square) if 1e-200 < square < 1e200 else scaled_length_of(z)


@compiled
def scaled_length_of(z):
    """Euclidean length where squares overflow or underflow."""
    largest = 0.0
    for j in range(z.shape[0]):
        largest = abs(z[j]) if abs(z[j]) > largest else largest
    if largest == 0.0:
        return 0.0
    square = 0.0
    for j in range(z.shape[0]):
        square += (z[j] / largest) * (z[j] / largest)
    return largest * math.sqrt(square)
