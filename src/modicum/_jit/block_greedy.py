"""Loops of BlockGreedy (schlegel2017, Algorithms 2 and 3, Appendix E).

Names: `members` (blocks x room) slots of the prototypes in each block, `sizes` how many there are, `matrices` and
`inverses` (blocks x room x room) their kernel matrices and the inverses of the regularized ones, `within` the sum of
all kernel values inside each block, `lam` the regularization, `spare` the factor of the determinant when the prototype
in a slot is removed, as estimated from its neighbors. A `position` counts the members of a block or the neighbors of a
prototype. K and own as in the loops of the log-determinant.
"""

import math

import numpy as np

from modicum._jit import compiled, inlined


@compiled
def nearest_block(k, members, sizes, within):
    """The block with the nearest mean in the kernel's feature space; k are kernel values against all slots."""
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


@inlined
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
def remove_member(block, position, members, sizes, matrices, inverses, within):
    """Remove a prototype from its block; the last one moves to its position. Returns the gain of log det."""
    last = sizes[block] - 1
    M, P = matrices[block], inverses[block]
    column, pivot = np.empty(last + 1), P[position, position]
    shared = 0.0
    for a in range(last + 1):
        shared += M[position, a]
        column[a] = P[position, a]
    within[block] -= 2.0 * shared - M[position, position]
    for a in range(last + 1):
        for c in range(last + 1):
            P[a, c] -= column[a] * column[c] / pivot
    move_row(M, last, position)
    move_row(P, last, position)
    members[block, position] = members[block, last]
    sizes[block] = last
    return math.log(pivot)


@compiled
def move_row(matrix, last, position):
    """Write row and column `last` of a symmetric matrix over another one."""
    for a in range(last):
        matrix[position, a] = matrix[a, position] = matrix[last, a]
    matrix[position, position] = matrix[last, last]


@compiled
def add_member(block, slot, k, own, lam, floor, members, sizes, matrices, inverses, within):
    """Add the row in `slot`, with kernel values k against all slots, to a block. Returns the gain of log det."""
    size = sizes[block]
    M, P = matrices[block], inverses[block]
    u = np.empty(size)
    left = own + lam - explain(k, block, members, sizes, inverses, u)
    left = floor if left < floor else left
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
    return math.log(left)


@compiled
def best_removal(left, back, block, members, sizes, inverses, spare):
    """(factor, block, position) of the best prototype to exchange for a candidate of variance `left` in `block`.

    `back[slot]` is the increase of that variance once the prototype in a slot is removed. Removing it multiplies the
    determinant by 1 / (its variance given the others): the larger one of the estimates by its block and by its
    neighbors is nearer to the truth.
    """
    factor, leaves, position = 0.0, block, 0
    for other in range(sizes.shape[0]):
        if other != block and sizes[block] == members.shape[1]:
            continue  # no room to join
        for a in range(sizes[other]):
            slot = members[other, a]
            own = inverses[other, a, a]
            f = (spare[slot] if own < spare[slot] else own) * (left + back[slot])
            if f > factor:
                factor, leaves, position = f, other, a
    return factor, leaves, position


@inlined
def left_by_block(k, own, lam, block, members, sizes, inverses, back):
    """The variance of a candidate given a block; `back` gets its increase without each prototype of the block."""
    u = np.empty(sizes[block])
    left = own + lam - explain(k, block, members, sizes, inverses, u)
    for a in range(sizes[block]):
        back[members[block, a]] = u[a] * u[a] / inverses[block, a, a]
    return left


@inlined
def invert(A, floor):
    """Invert a small positive definite matrix in place (Gauss-Jordan: such matrices need no pivoting).

    Pivots are `floor` at least; smaller ones are due to rounding.
    """
    for p in range(A.shape[0]):
        pivot = floor if A[p, p] < floor else A[p, p]
        A[p, p] = 1.0
        for c in range(A.shape[0]):
            A[p, c] /= pivot
        for a in range(A.shape[0]):
            if a != p:
                share = A[a, p]
                A[a, p] = 0.0
                for c in range(A.shape[0]):
                    A[a, c] -= share * A[p, c]


@compiled
def left_by_neighbors(k, own, lam, floor, chosen_own, near, similar, among, counts, back):
    """The same given the prototype most similar to the candidate, and the neighbors of that one."""
    j = 0
    for a in range(1, k.shape[0]):
        if abs(k[a]) > abs(k[j]):
            j = a
    n = counts[j] + 1
    A, slots = np.empty((n, n)), np.empty(n, np.int64)
    for a in range(n - 1):
        for c in range(n - 1):
            A[a, c] = among[j, a, c]
        A[n - 1, a] = A[a, n - 1] = similar[j, a]
        slots[a] = near[j, a]
    A[n - 1, n - 1], slots[n - 1] = chosen_own[j], j
    for a in range(n):
        A[a, a] += floor if lam < floor else lam
    invert(A, floor)
    left = own + lam
    for a in range(n):
        u = 0.0
        for c in range(n):
            u += A[a, c] * k[slots[c]]
        left -= u * k[slots[a]]
        back[slots[a]] = u * u / A[a, a]
    return left


@compiled
def first_exchange(
    K, own, lam, floor, start, least, chosen_own, members, sizes, inverses, within, near, similar, among, counts, spare
):
    """The first candidate from `start` on with an exchange that multiplies the determinant by more than `least`.

    An exchange: the candidate joins the block nearest to it, and a prototype of this or another block is removed. A
    block alone leaves too much variance of a candidate; where the candidate's neighbors leave less, half of the gain
    must remain by their estimate.
    Returns (candidate, factor, block to join, block of the removed prototype, its position); candidate -1 if none.
    """
    back = np.empty(spare.shape[0])
    for i in range(start, K.shape[0]):
        block = nearest_block(K[i], members, sizes, within)
        for j in range(back.shape[0]):
            back[j] = 0.0
        left = left_by_block(K[i], own[i], lam, block, members, sizes, inverses, back)
        left = floor if left < floor else left
        factor, leaves, position = best_removal(left, back, block, members, sizes, inverses, spare)
        if factor > least and near.shape[1] > 0:
            for j in range(back.shape[0]):
                back[j] = 0.0
            less = left_by_neighbors(K[i], own[i], lam, floor, chosen_own, near, similar, among, counts, back)
            if less < left:
                less = floor if less < floor else less
                doubt, _, _ = best_removal(less, back, block, members, sizes, inverses, spare)
                factor = doubt * doubt if doubt * doubt < factor else factor
        if factor > least:
            return i, factor, block, leaves, position
    return -1, 0.0, 0, 0, 0


@compiled
def spare_among(j, own, lam, floor, counts, similar, among, spare):
    """spare[j] = 1 / (the variance of the prototype in slot j given its neighbors).

    `similar` (slots x neighbors) has kernel values with the neighbors, `among` (slots x neighbors x neighbors) theirs
    with each other.
    """
    n = counts[j]
    L, w = np.empty((n, n)), np.empty(n)
    left = own[j] + lam
    for a in range(n):  # L L' = among + lam I, L w = similar
        w[a] = similar[j, a]
        for c in range(a + 1):
            L[a, c] = among[j, a, c]
            for e in range(c):
                L[a, c] -= L[a, e] * L[c, e]
            if c < a:
                L[a, c] /= L[c, c]
                w[a] -= L[a, c] * w[c]
        pivot = L[a, a] + lam
        L[a, a] = math.sqrt(floor if pivot < floor else pivot)
        w[a] /= L[a, a]
        left -= w[a] * w[a]
    spare[j] = 1.0 / (floor if left < floor else left)


@inlined
def least_similar(j, counts, similar):
    """The position of the neighbor least similar to the prototype in slot j."""
    least = 0
    for a in range(1, counts[j]):
        if abs(similar[j, a]) < abs(similar[j, least]):
            least = a
    return least


@inlined
def set_neighbor(j, position, slot, k, near, similar, among, counts):
    """Make the row in `slot`, with kernel values k against all slots, the neighbor of j at a position."""
    if counts[j] <= position:
        counts[j] = position + 1
    near[j, position] = slot
    similar[j, position] = k[j]
    for a in range(counts[j]):
        among[j, position, a] = among[j, a, position] = k[near[j, a]]
    among[j, position, position] = k[slot]


@inlined
def drop_neighbor(j, position, near, similar, among, counts):
    """Remove a neighbor of slot j; the last one moves to its position."""
    last = counts[j] - 1
    near[j, position] = near[j, last]
    similar[j, position] = similar[j, last]
    move_row(among[j], last, position)
    counts[j] = last


@compiled
def update_neighbors(slot, k, own, lam, floor, near, similar, among, counts, spare):
    """Update the neighbors of all prototypes after the row in `slot` was replaced.

    k are kernel values of the new row with all slots (k[slot] with itself). Prototypes lose the old row as a neighbor,
    and get the new one if they have room or a less similar neighbor.
    """
    room = near.shape[1]
    for j in range(near.shape[0]):
        if j == slot:
            continue
        changed = False
        for a in range(counts[j]):
            if near[j, a] == slot:
                drop_neighbor(j, a, near, similar, among, counts)
                changed = True
                break
        position = counts[j] if counts[j] < room else least_similar(j, counts, similar)
        if counts[j] < room or abs(k[j]) > abs(similar[j, position]):
            set_neighbor(j, position, slot, k, near, similar, among, counts)
            changed = True
        if changed:
            spare_among(j, own, lam, floor, counts, similar, among, spare)


@compiled
def assign(distance, order, room, block_of, sizes):
    """Assign every row, in the given order, to its nearest block with room."""
    for block in range(sizes.shape[0]):
        sizes[block] = 0
    for i in range(order.shape[0]):
        s = order[i]
        best, nearest = -1, np.inf
        for block in range(distance.shape[1]):
            if sizes[block] < room and (best < 0 or distance[s, block] < nearest):
                best, nearest = block, distance[s, block]
        block_of[s] = best
        sizes[best] += 1
