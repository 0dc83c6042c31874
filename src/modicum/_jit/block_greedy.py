"""Loops of BlockGreedy (schlegel2017, Algorithms 2 and 3, Appendix E).

Names: `members` (blocks x room) slots of the prototypes in each block, `sizes` how many there are, `matrices` and
`inverses` (blocks x room x room) their kernel matrices and the inverses of the regularized ones, `within` the sum of
all kernel values inside each block, `lam` the regularization. K and own as in the loops of the log-determinant.
"""

import numpy as np

from modicum._jit import compiled


@compiled
def nearest_block(k, members, sizes, within):
    """The block whose mean in the kernel's feature space is nearest, k being kernel values against all slots."""
    best, nearest = 0, np.inf
    for block in range(sizes.shape[0]):
        size = sizes[block]
        if size == 0:
            continue
        shared = 0.0
        for a in range(size):
            shared += k[members[block, a]]
        distance = within[block] / (size * size) - 2.0 * shared / size
        if distance < nearest:
            best, nearest = block, distance
    return best


@compiled
def explain(k, block, members, sizes, inverses, u):
    """u = P k within a block; returns k.u."""
    explained = 0.0
    for a in range(sizes[block]):
        u[a] = 0.0
        for c in range(sizes[block]):
            u[a] += inverses[block, a, c] * k[members[block, c]]
        explained += u[a] * k[members[block, a]]
    return explained


@compiled
def weakest(block, sizes, inverses):
    """(place, factor) of the prototype whose leaving costs its block least: the determinant times P_aa, the largest."""
    best, place = 0.0, 0
    for a in range(sizes[block]):
        if inverses[block, a, a] > best:
            best, place = inverses[block, a, a], a
    return place, best


@compiled
def take_out(block, place, members, sizes, matrices, inverses, within):
    """The prototype at `place` leaves its block, and the last one there takes its place."""
    last = sizes[block] - 1
    M, P = matrices[block], inverses[block]
    shared = 0.0
    for a in range(last + 1):
        shared += M[place, a]
    within[block] -= 2.0 * shared - M[place, place]
    column, pivot = P[place, : last + 1].copy(), P[place, place]
    for a in range(last + 1):
        for c in range(last + 1):
            P[a, c] -= column[a] * column[c] / pivot
    for matrix in (M, P):
        for a in range(last):
            matrix[place, a] = matrix[a, place] = matrix[last, a]
        matrix[place, place] = matrix[last, last]
    members[block, place] = members[block, last]
    sizes[block] = last


@compiled
def put_in(block, slot, k, own, lam, floor, members, sizes, matrices, inverses, within):
    """A row with kernel values k against all slots joins a block under `slot`."""
    size = sizes[block]
    M, P = matrices[block], inverses[block]
    u = np.empty(size)
    left = max(own + lam - explain(k, block, members, sizes, inverses, u), floor)
    for a in range(size):
        M[size, a] = M[a, size] = k[members[block, a]]
        within[block] += 2.0 * M[size, a]
        for c in range(size):
            P[a, c] += u[a] * u[c] / left
        P[a, size] = P[size, a] = -u[a] / left
    M[size, size] = own
    P[size, size] = 1.0 / left
    within[block] += own
    members[block, size] = slot
    sizes[block] = size + 1
    return np.log(left)


@compiled
def best_exchange(k, own, lam, floor, members, sizes, inverses, within):
    """(factor, block to join, block to leave, place) of a candidate's best exchange.

    Either the best swap within its nearest block, or joining that block while the weakest of another one leaves.
    """
    block = nearest_block(k, members, sizes, within)
    u = np.empty(sizes[block])
    left = max(own + lam - explain(k, block, members, sizes, inverses, u), floor)
    factor, leaves, place = 0.0, block, 0
    for a in range(sizes[block]):
        f = inverses[block, a, a] * left + u[a] * u[a]
        if f > factor:
            factor, place = f, a
    if sizes[block] < members.shape[1]:
        for other in range(sizes.shape[0]):
            if other != block:
                a, f = weakest(other, sizes, inverses)
                if f * left > factor:
                    factor, leaves, place = f * left, other, a
    return factor, block, leaves, place


@compiled
def first_exchange(K, own, lam, floor, start, least, members, sizes, inverses, within):
    """The first candidate from `start` on whose best exchange multiplies the determinant by more than `least`.

    Returns (candidate, factor, block to join, block to leave, place); candidate -1 if there is none.
    """
    for i in range(start, K.shape[0]):
        factor, block, leaves, place = best_exchange(K[i], own[i], lam, floor, members, sizes, inverses, within)
        if factor > least:
            return i, factor, block, leaves, place
    return -1, 0.0, 0, 0, 0


@compiled
def assign(distance, room, block_of, sizes):
    """Every row goes to its nearest block with room, those nearest to a block first."""
    sizes[:] = 0
    order = np.argsort(row_minima(distance))
    for s in order:
        best, nearest = -1, np.inf
        for block in range(distance.shape[1]):
            if sizes[block] < room and (best < 0 or distance[s, block] < nearest):
                best, nearest = block, distance[s, block]
        block_of[s] = best
        sizes[best] += 1


@compiled
def row_minima(distance):
    """The smallest of each row."""
    out = np.empty(distance.shape[0])
    for s in range(distance.shape[0]):
        out[s] = distance[s].min()
    return out
