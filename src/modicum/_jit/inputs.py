"""Rows as a margin classifier wants them: centered and scaled by what came before, of unit length, with a constant."""

import math

import numpy as np

from modicum._jit import compiled_sums


@compiled_sums
def follow(X, weight, totals, moments, scale, normalize, constant, Z):
    """Prepare rows, each with the mean and the deviations of the rows up to itself.

    `moments` holds the mean of each column and, to scale it, the sum of its squared deviations and what deviations are
    multiplied by; `totals` the weight of all rows, and what it was when the multipliers were last found.
    """
    mean, squares, factors = moments[0], moments[1], moments[2]
    for i in range(X.shape[0]):
        x = X[i]
        totals[0] += weight[i]
        part = weight[i] / totals[0]
        if scale:
            for j in range(x.shape[0]):
                gap = x[j] - mean[j]
                mean[j] += part * gap
                squares[j] += weight[i] * gap * (x[j] - mean[j])
        else:
            for j in range(x.shape[0]):
                mean[j] += part * (x[j] - mean[j])
        if scale and totals[0] > 1.01 * totals[1]:  # roots for every row would cost more than all the rest
            totals[1] = totals[0]
            for j in range(x.shape[0]):
                factors[j] = math.sqrt(totals[0] / squares[j]) if squares[j] > 0.0 else 0.0
        prepare_row(x, moments, True, scale, normalize, constant, Z[i])


@compiled_sums
def prepare(X, moments, center, scale, normalize, constant, Z):
    """Prepare rows with the moments as they are."""
    for i in range(X.shape[0]):
        prepare_row(X[i], moments, center, scale, normalize, constant, Z[i])


@compiled_sums
def prepare_row(x, moments, center, scale, normalize, constant, z):
    """Write a prepared row to z, whose last entry is the constant where there is one."""
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
    if normalize:
        square = 0.0
        for j in range(width):
            square += z[j] * z[j]
        if square > 0.0:
            factor = 1.0 / math.sqrt(square)
            for j in range(width):
                z[j] *= factor
    if constant > 0.0:
        z[width] = constant


@compiled_sums
def prepare_sparse(data, indices, indptr, width, normalize, constant):
    """Values, columns and starts of prepared sparse rows; the constant is in column `width`."""
    n = indptr.shape[0] - 1
    extra = 1 if constant > 0.0 else 0
    values = np.empty(indptr[n] - indptr[0] + n * extra)
    columns = np.empty(len(values), indices.dtype)
    starts = np.empty(n + 1, indptr.dtype)
    starts[0] = 0
    for i in range(n):
        x, at = data[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]]
        starts[i + 1] = starts[i] + len(x) + extra
        z, to = values[starts[i] : starts[i + 1]], columns[starts[i] : starts[i + 1]]
        square = 0.0
        for a in range(len(x)):
            square += x[a] * x[a]
        factor = 1.0 / math.sqrt(square) if normalize and square > 0.0 else 1.0
        for a in range(len(x)):
            z[a] = factor * x[a]
            to[a] = at[a]
        if extra:
            z[len(x)] = constant
            to[len(x)] = width
    return values, columns, starts
