"""Loops of the screen of BlockGreedy: upper bounds of what candidates add, from the means of blocks and one block.

Names: `members` the slots of the prototypes, block by block, `starts` (blocks + 1) where each block's begin; A the
regularized kernel matrix of the prototypes, p the diagonal of its inverse; `shared` (slots x blocks) the means of its
columns over each block, `coarse` the inverse of the means over pairs of blocks; `local` (blocks x room x room) the
pseudoinverse of each block of A, the part that is explained by the means taken out, up to a constant; K (candidates x
slots) as in the loops of the log-determinant, G (candidates x blocks) its means over each block.
"""

import numpy as np

from modicum._jit import compiled
from modicum._jit.block_greedy import invert


@compiled
def add_up_blocks(A, block_of, out):
    """out[b, j] += the sum of A[i, j] over the rows i of block b."""
    for i in range(A.shape[0]):
        b = block_of[i]
        for j in range(A.shape[1]):
            out[b, j] += A[i, j]


@compiled
def invert_blocks(A, members, starts, shared, coarse, lam, local):
    """Fill `local`: for each block the inverse of A - shared coarse shared'."""
    n_blocks = coarse.shape[0]
    for b in range(n_blocks):
        first, size = starts[b], starts[b + 1] - starts[b]
        S, explained = np.empty((size, size)), np.empty(n_blocks)
        for a in range(size):
            i = members[first + a]
            for e in range(n_blocks):
                explained[e] = 0.0
            for d in range(n_blocks):
                for e in range(n_blocks):
                    explained[e] += shared[i, d] * coarse[d, e]
            for c in range(a + 1):
                j = members[first + c]
                left = A[i, j]
                for e in range(n_blocks):
                    left -= explained[e] * shared[j, e]
                S[a, c] = S[c, a] = left + lam / size  # the means explain a block's mean entirely: S is singular
        invert(S, lam / size)
        for a in range(size):
            for c in range(size):
                local[b, a, c] = S[a, c]


@compiled
def screen(K, G, own, p, members, starts, shared, coarse, within, local, factors):
    """factors[i]: about the most that swapping candidate i in multiplies the determinant by.

    Replacing the prototype in slot j gives p_j v + u_j^2. The candidate's variance v is bounded from above; its weights
    u are taken from that bound, for the prototypes of its nearest block.
    """
    n_blocks = coarse.shape[0]
    largest = 0.0
    for j in range(p.shape[0]):
        if p[j] > largest:
            largest = p[j]
    c, residual, weight = np.empty(n_blocks), np.empty(local.shape[1]), np.empty(local.shape[1])
    for i in range(K.shape[0]):
        home, nearest, left = 0, np.inf, own[i]
        for b in range(n_blocks):
            c[b] = 0.0
        for d in range(n_blocks):
            for b in range(n_blocks):
                c[b] += G[i, d] * coarse[d, b]
        for b in range(n_blocks):
            left -= c[b] * G[i, b]
            distance = within[b] - 2.0 * G[i, b]
            if distance < nearest:
                home, nearest = b, distance
        first, size = starts[home], starts[home + 1] - starts[home]
        for a in range(size):
            j = members[first + a]
            residual[a] = K[i, j]
            for b in range(n_blocks):
                residual[a] -= shared[j, b] * c[b]
        mean = c[home]  # its weight, of which the members take over a part
        for a in range(size):
            weight[a] = 0.0
            for e in range(size):
                weight[a] += local[home, a, e] * residual[e]
            left -= weight[a] * residual[a]
            for b in range(n_blocks):
                mean -= weight[a] * shared[members[first + a], b] * coarse[home, b]
        factor = largest * left
        for a in range(size):
            weight[a] += mean / size
            here = p[members[first + a]] * left + weight[a] * weight[a]
            factor = here if here > factor else factor
        factors[i] = factor
