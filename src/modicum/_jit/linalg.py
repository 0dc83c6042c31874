"""Loops that update inverses and Cholesky factors, one row at a time.

Every matrix is the top left n x n corner of a larger array in C order, so inner loops run along its rows. Cholesky
factors are upper ones, U'U = A: rotations and substitutions run along their rows.
"""

import math

import numpy as np

from modicum._jit import compiled


@compiled
def times(M, n, x, out):
    """out = M x for a symmetric M. Returns x . M x."""
    for b in range(n):
        out[b] = 0.0
    for a in range(n):  # adding up rows is quicker than dot products
        for b in range(n):
            out[b] += x[a] * M[a, b]
    total = 0.0
    for b in range(n):
        total += x[b] * out[b]
    return total


@compiled
def project(P, n, j, column, out):
    """out = inverse of the matrix without row j, times column; P is the one with row j. Returns column . out.

    Entry j of column must be 0, and is 0 in out.
    """
    explained = times(P, n, column, out)
    share = out[j] / P[j, j]
    explained -= share * out[j]
    for b in range(n):
        out[b] -= share * P[j, b]
    out[j] = 0.0
    return explained


@compiled
def replace_row(P, n, j, projection, pivot, probe, image):
    """Replace row j of the matrix whose inverse is P, given the new row's `projection` on the others and its `pivot`.

    Returns the largest entry of P image - probe: zero, if image is the new matrix times probe and P its inverse.
    """
    out_scale, in_scale = 1 / math.sqrt(P[j, j]), 1 / math.sqrt(pivot)
    leaving, coming, residual = np.empty(n), np.empty(n), np.empty(n)
    for b in range(n):
        leaving[b] = out_scale * P[j, b]
        coming[b] = in_scale * projection[b]
        residual[b] = -probe[b]
    for a in range(n):
        if a == j:
            for b in range(n):
                P[j, b] = -in_scale * coming[b]
            P[j, j] = 1 / pivot
        else:
            for b in range(n):  # both products are the same for (a, b) and (b, a): P stays symmetric to the last bit
                P[a, b] += coming[a] * coming[b] - leaving[a] * leaving[b]
            P[a, j] = -in_scale * coming[a]
        for b in range(n):
            residual[b] += image[a] * P[a, b]
    largest = 0.0
    for b in range(n):
        size = abs(residual[b])
        if size > largest or size != size:  # NaN stays
            largest = size
    return largest


@compiled
def empty_row(P, n, j):
    """Remove row j from the inverse; the entries of row and column j are then undefined."""
    leaving, root = np.empty(n), math.sqrt(P[j, j])
    for b in range(n):
        leaving[b] = P[j, b] / root
    for a in range(n):
        for b in range(n):
            P[a, b] -= leaving[a] * leaving[b]


@compiled
def delete_row(M, n, j):
    """Delete row and column j; later ones move up."""
    for a in range(n - 1):
        source = a if a < j else a + 1
        if a >= j:
            for b in range(j):
                M[a, b] = M[source, b]
        for b in range(j, n - 1):
            M[a, b] = M[source, b + 1]


@compiled
def solve_forward(U, n, x):
    """Solve U'x = b in place; x holds b at first."""
    for k in range(n):
        x[k] /= U[k, k]
        for i in range(k + 1, n):
            x[i] -= x[k] * U[k, i]


@compiled
def delete_from_factor(U, n, j, x):
    """Delete row and column j of U'U. x is scratch of length n."""
    for i in range(j + 1, n):
        x[i] = U[j, i]
    for k in range(j + 1, n):  # rotate the rest of row j into each later row
        length = math.hypot(U[k, k], x[k])
        c, s = U[k, k] / length, x[k] / length
        for i in range(k, n):
            upper = U[k, i]
            U[k, i] = c * upper + s * x[i]
            x[i] = c * x[i] - s * upper
    for k in range(n - 1):
        source = k if k < j else k + 1
        for i in range(j if k < j else k, n - 1):
            U[k, i] = U[source, i + 1]


@compiled
def move_last_to(U, n, j, x):
    """Move row and column n - 1 of U'U to position j; those from j on move down by one. x is scratch of length n."""
    for k in range(n):
        x[k] = U[k, n - 1]
        for i in range(n - 1, j if k < j else k, -1):
            U[k, i] = U[k, i - 1]
        if k > j:
            U[k, k] = 0.0
    for k in range(n - 1, j, -1):  # rotate away the moved column's entries below row j; diagonals stay positive
        length = math.hypot(x[k - 1], x[k])
        c, s = x[k - 1] / length, x[k] / length
        x[k - 1] = length
        for i in range(k, n):
            upper, lower = U[k - 1, i], U[k, i]
            U[k - 1, i] = c * upper + s * lower
            U[k, i] = s * upper - c * lower
    for k in range(j + 1):
        U[k, j] = x[k]
