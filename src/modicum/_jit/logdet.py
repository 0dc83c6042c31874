"""Loops of the log-determinant (gomes2010, eq. 3.3; schlegel2017, section 4).

Names: K (candidates x slots, the first n of them in use) kernel values against the chosen rows, U = K P with P the
inverse of their regularized kernel matrix, v the residual variance of each candidate (its own regularized kernel value
minus k P k), p the diagonal of P.
"""

import numpy as np

from modicum._jit import compiled


@compiled
def best_swap(u, v, p, floor):
    """(slot, factor) of the best swap: the determinant is multiplied by max_j p_j v + u_j^2."""
    best, slot = -1.0, 0
    v = floor if v < floor else v
    for j in range(p.shape[0]):
        factor = p[j] * v + u[j] * u[j]
        if factor > best:
            best, slot = factor, j
    return slot, best


@compiled
def best_swaps(U, v, p, floor, factors, slots):
    """`best_swap` of every candidate."""
    for s in range(U.shape[0]):
        slots[s], factors[s] = best_swap(U[s], v[s], p, floor)


@compiled
def first_swap(U, v, p, floor, start, least):
    """(candidate, slot, factor) of the first candidate from `start` on whose best factor exceeds `least`; or -1."""
    for s in range(start, U.shape[0]):
        slot, factor = best_swap(U[s], v[s], p, floor)
        if factor > least:
            return s, slot, factor
    return -1, -1, 0.0


@compiled
def drop_slot(U, v, column, slot, start):
    """Remove the row in `slot`, with `column` of P: update U and v of the candidates from `start` on."""
    for s in range(start, U.shape[0]):
        share = U[s, slot] / column[slot]
        v[s] += share * U[s, slot]
        for j in range(column.shape[0]):
            U[s, j] -= share * column[j]
        U[s, slot] = 0.0


@compiled
def fill_slot(K, U, n, v, similar, i, slot, floor, start):
    """Put candidate i into the empty `slot`: update K, U and v of the candidates from `start` on.

    `similar` has their kernel values with candidate i.
    """
    k, u = np.empty(n), np.empty(n)
    for j in range(n):
        k[j], u[j] = K[i, j] if j != slot else 0.0, U[i, j]
    left = floor if v[i] < floor else v[i]
    for s in range(start, K.shape[0]):
        K[s, slot] = similar[s - start]
        shared = K[s, slot]
        for j in range(n):
            shared -= U[s, j] * k[j]
        share = shared / left
        for j in range(n):
            U[s, j] -= share * u[j]
        U[s, slot] = share
        v[s] -= share * shared
