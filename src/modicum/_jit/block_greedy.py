"""Loops of BlockGreedy (schlegel2017, Algorithms 2 and 3, Appendix E).

Names: `members` (blocks x room) slots of the prototypes in each block, `sizes` how many there are, `matrices` and
`inverses` (blocks x room x room) their kernel matrices and the inverses of the regularized ones, `within` the sum of
all kernel values inside each block, `lam` the regularization, `spare` the factor on the determinant when the prototype
in a slot is removed, estimated from its neighbors. K and own as in the loops of the log-determinant.
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
def take_out(block, index, members, sizes, matrices, inverses, within):
    """The prototype at `index` leaves its block, and the last one there moves to it. Returns the change of log det."""
    last = sizes[block] - 1
    M, P = matrices[block], inverses[block]
    shared = 0.0
    for a in range(last + 1):
        shared += M[index, a]
    within[block] -= 2.0 * shared - M[index, index]
    column, pivot = P[index, : last + 1].copy(), P[index, index]
    for a in range(last + 1):
        for c in range(last + 1):
            P[a, c] -= column[a] * column[c] / pivot
    for matrix in (M, P):
        for a in range(last):
            matrix[index, a] = matrix[a, index] = matrix[last, a]
        matrix[index, index] = matrix[last, last]
    members[block, index] = members[block, last]
    sizes[block] = last
    return np.log(pivot)


@compiled
def put_in(block, slot, k, own, lam, floor, members, sizes, matrices, inverses, within):
    """A row with kernel values k against all slots joins a block under `slot`. Returns the change of log det."""
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
def best_leaver(left, back, block, members, sizes, inverses, spare):
    """(factor, block to leave, index) of the best exchange of a candidate with variance `left` that joins `block`.

    `back[slot]` is the variance that the candidate regains when the prototype in a slot is removed. The removal
    multiplies the determinant by 1 / (the variance that the others leave of it). Both the block and the neighbors
    underestimate this factor, so the larger estimate is closer.
    """
    factor, leaves, index = 0.0, block, 0
    for other in range(sizes.shape[0]):
        if other != block and sizes[block] == members.shape[1]:
            continue  # no room to join
        for a in range(sizes[other]):
            slot = members[other, a]
            f = max(inverses[other, a, a], spare[slot]) * (left + back[slot])
            if f > factor:
                factor, leaves, index = f, other, a
    return factor, leaves, index


@compiled
def left_by_block(k, own, lam, block, members, sizes, inverses, back):
    """The variance of a candidate given a block; `back` gets what it regains without each prototype of the block."""
    u = np.empty(sizes[block])
    left = own + lam - explain(k, block, members, sizes, inverses, u)
    for a in range(sizes[block]):
        back[members[block, a]] = u[a] * u[a] / inverses[block, a, a]
    return left


@compiled
def invert(A, floor):
    """Invert a small positive definite matrix in place (Gauss-Jordan: such matrices need no pivoting).

    Up to rounding, its pivots are at least `floor`.
    """
    for p in range(A.shape[0]):
        pivot = max(A[p, p], floor)
        A[p, p] = 1.0
        A[p] /= pivot
        for a in range(A.shape[0]):
            if a != p:
                share = A[a, p]
                A[a, p] = 0.0
                for c in range(A.shape[0]):
                    A[a, c] -= share * A[p, c]


@compiled
def left_by_neighbors(k, own, lam, floor, chosen_own, near, similar, among, counts, back):
    """The same as `left_by_block`, for the most similar prototype and its neighbors."""
    j = np.argmax(np.abs(k))
    n = counts[j] + 1
    A, slots = np.empty((n, n)), np.empty(n, np.int64)
    A[: n - 1, : n - 1] = among[j, : n - 1, : n - 1]
    A[n - 1, : n - 1] = A[: n - 1, n - 1] = similar[j, : n - 1]
    A[n - 1, n - 1] = chosen_own[j]
    slots[: n - 1], slots[n - 1] = near[j, : n - 1], j
    for a in range(n):
        A[a, a] += max(lam, floor)
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
def first_exchange(K, own, lam, floor, start, least, chosen_own, blocks, neighbors):
    """The first candidate from `start` on with an exchange that multiplies the determinant by more than `least`.

    An exchange: the candidate joins the block nearest to it, and a prototype of this or another block leaves. `blocks`
    is (members, sizes, inverses, within), `neighbors` (near, similar, among, counts, spare). A block alone
    overestimates the variance of a candidate; where the neighbors' estimate is lower, half the gain must remain.
    Returns (candidate, factor, block to join, block to leave, index); candidate -1 if there is none.
    """
    members, sizes, inverses, within = blocks
    near, similar, among, counts, spare = neighbors
    back = np.empty(spare.shape[0])
    for i in range(start, K.shape[0]):
        block = nearest_block(K[i], members, sizes, within)
        back[:] = 0.0
        left = max(left_by_block(K[i], own[i], lam, block, members, sizes, inverses, back), floor)
        factor, leaves, index = best_leaver(left, back, block, members, sizes, inverses, spare)
        if factor > least and near.shape[1] > 0:
            back[:] = 0.0
            less = left_by_neighbors(K[i], own[i], lam, floor, chosen_own, near, similar, among, counts, back)
            if less < left:
                doubt, _, _ = best_leaver(max(less, floor), back, block, members, sizes, inverses, spare)
                factor = min(factor, doubt * doubt)
        if factor > least:
            return i, factor, block, leaves, index
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
        L[a, a] = np.sqrt(max(L[a, a] + lam, floor))
        w[a] /= L[a, a]
        left -= w[a] * w[a]
    spare[j] = 1.0 / max(left, floor)


@compiled
def least_similar(j, counts, similar):
    """The index of the least similar neighbor of the prototype in slot j."""
    least = 0
    for a in range(1, counts[j]):
        if abs(similar[j, a]) < abs(similar[j, least]):
            least = a
    return least


@compiled
def set_neighbor(j, index, slot, k, near, similar, among, counts):
    """The row in `slot`, k being its kernel values with all slots, becomes the neighbor of j at `index`."""
    counts[j] = max(counts[j], index + 1)
    near[j, index] = slot
    similar[j, index] = k[j]
    for a in range(counts[j]):
        among[j, index, a] = among[j, a, index] = k[near[j, a]]
    among[j, index, index] = k[slot]


@compiled
def drop_neighbor(j, index, near, similar, among, counts):
    """Slot j loses a neighbor; the last one moves to its index."""
    last = counts[j] - 1
    near[j, index] = near[j, last]
    similar[j, index] = similar[j, last]
    for a in range(last):
        among[j, index, a] = among[j, a, index] = among[j, last, a]
    among[j, index, index] = among[j, last, last]
    counts[j] = last


@compiled
def meet_newcomer(slot, k, own, lam, floor, near, similar, among, counts, spare):
    """Update the neighbors of all others for a new row in `slot`, k being its kernel values (k[slot] with itself).

    Prototypes lose the old one as a neighbor, and get the new one if they have room or a less similar neighbor.
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
        index = counts[j] if counts[j] < room else least_similar(j, counts, similar)
        if counts[j] < room or abs(k[j]) > abs(similar[j, index]):
            set_neighbor(j, index, slot, k, near, similar, among, counts)
            changed = True
        if changed:
            spare_among(j, own, lam, floor, counts, similar, among, spare)


@compiled
def assign(distance, room, block_of, sizes):
    """Assign every row to its nearest block with room, in the order of their distance to the nearest block."""
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
