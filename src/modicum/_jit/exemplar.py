"""Loops of the exemplar objective F_C (gomes2010, eq. 3.6 and Appendix II).

Names: centers are the phantom, center 0, and the chosen exemplars; D (candidates x validation rows) holds the
dissimilarities of candidates, C (validation rows x centers) those of the centers; w are weights. For each validation
row, `near` and `near_center` are its nearest center's, `second` and `second_center` the second nearest's.
"""

import numpy as np

from modicum._jit import compiled


@compiled
def two_nearest(C, n_centers, rows, near, second, near_center, second_center):
    """Find the two nearest of the first `n_centers` centers for the given rows."""
    for i in rows:
        two_nearest_of_row(C, n_centers, i, near, second, near_center, second_center)


@compiled
def two_nearest_of_row(C, n_centers, i, near, second, near_center, second_center):
    """`two_nearest` for row i."""
    best, next_best, center, next_center = np.inf, np.inf, 0, 0
    for j in range(n_centers):
        d = C[i, j]
        if d < best:
            next_best, next_center = best, center
            best, center = d, j
        elif d < next_best:
            next_best, next_center = d, j
    near[i], second[i] = best, next_best
    near_center[i], second_center[i] = center, next_center


@compiled
def removal_losses(w, near, second, near_center, out):
    """out[j] = increase of the loss without center j, whose rows go to their second nearest."""
    out[:] = 0.0
    for i in range(w.shape[0]):
        out[near_center[i]] += w[i] * (second[i] - near[i])


@compiled
def add_gains(D, w, near, out):
    """out[s] = decrease of the loss with candidate s added."""
    for s in range(D.shape[0]):
        gain = 0.0
        for i in range(D.shape[1]):
            if D[s, i] < near[i]:
                gain += w[i] * (near[i] - D[s, i])
        out[s] = gain


@compiled
def swap_scan(d, w, near, second, near_center, removal):
    """One scan of a candidate's dissimilarities d scores its swap with every center.

    Returns the gain of adding it; `removal` changes from the removal losses without the candidate to those with it.
    """
    gain = 0.0
    for i in range(d.shape[0]):
        if d[i] < second[i]:
            if d[i] < near[i]:
                gain += w[i] * (near[i] - d[i])
            if near_center[i] > 0:  # the phantom is never removed, and its rows may have no second: it is infinite
                removal[near_center[i]] -= w[i] * (second[i] - max(near[i], d[i]))
    return gain


@compiled
def swap_scans(D, candidates, w, near, second, near_center, gains, removal):
    """`swap_scan` for the given candidates, added to gains and removal (candidates x centers)."""
    for s in candidates:
        gains[s] += swap_scan(D[s], w, near, second, near_center, removal[s])


@compiled
def best_swaps(D, w, near, second, near_center, removal, gains, centers):
    """gains[s], centers[s] = the best swap of candidate s. Centers that may not be removed have infinite `removal`."""
    left = np.empty_like(removal)
    for s in range(D.shape[0]):
        left[:] = removal
        gain = swap_scan(D[s], w, near, second, near_center, left)
        center = np.argmin(left)
        gains[s], centers[s] = gain - left[center], center


@compiled
def fill_center(C, n_centers, center, d, near, second, near_center, second_center):
    """Make a candidate with dissimilarities d a center, updating only the rows that it affects.

    `center` may be the next free one (the candidate is added) or one in use (it is replaced).
    """
    for i in range(d.shape[0]):
        C[i, center] = d[i]
        if near_center[i] == center or second_center[i] == center:
            two_nearest_of_row(C, n_centers, i, near, second, near_center, second_center)
        elif d[i] < near[i]:
            second[i], second_center[i] = near[i], near_center[i]
            near[i], near_center[i] = d[i], center
        elif d[i] < second[i]:
            second[i], second_center[i] = d[i], center
