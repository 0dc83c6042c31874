"""Loops of the exemplar objective F_C (gomes2010, eq. 3.6 and Appendix II).

Names: D (candidates x validation rows) dissimilarities of candidates; C (validation rows x centers) those of the
centers, of which 0 is the phantom; w weights; for each validation row `near`, `near_center` its closest center and
`second`, `second_center` the next one.
"""

import numpy as np

from modicum._jit import compiled, inlined


@compiled
def two_nearest(C, n_centers, rows, near, second, near_center, second_center):
    """Find the two closest of the first `n_centers` centers for the given rows."""
    for i in rows:
        two_nearest_of_row(C, n_centers, i, near, second, near_center, second_center)


@inlined
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
    """out[j] = the rise of the loss when center j is removed: its rows fall to their second nearest center."""
    for j in range(out.shape[0]):
        out[j] = 0.0
    for i in range(w.shape[0]):
        out[near_center[i]] += w[i] * (second[i] - near[i])


@compiled
def add_gains(D, w, near, out):
    """out[s] = the decrease of the loss when candidate s joins."""
    for s in range(D.shape[0]):
        gain = 0.0
        for i in range(D.shape[1]):
            if D[s, i] < near[i]:
                gain += w[i] * (near[i] - D[s, i])
        out[s] = gain


@compiled
def swap_scan(d, w, near, second, near_center, removal):
    """One scan of a candidate's dissimilarities d scores its swap against every center.

    Returns the gain of adding it. `removal`, at first the cost of removing each center, becomes the cost of removing it
    once the candidate has joined.
    """
    affected = np.empty(d.shape[0], np.int64)  # found first, without a branch: with few centers no CPU could predict it
    count = 0
    for i in range(d.shape[0]):
        affected[count] = i
        count += d[i] < second[i]
    gain = 0.0
    for k in range(count):
        i = affected[k]
        gain += w[i] * (near[i] - (d[i] if d[i] < near[i] else near[i]))
        if near_center[i] > 0:  # rows nearest to the phantom, which never leaves, may have an infinite `second`
            removal[near_center[i]] -= w[i] * (second[i] - (d[i] if d[i] > near[i] else near[i]))
    return gain


@compiled
def swap_scans(D, candidates, w, near, second, near_center, gains, removal):
    """`swap_scan` for the given candidates, added to the values in gains and removal (candidates x centers)."""
    for s in candidates:
        gains[s] += swap_scan(D[s], w, near, second, near_center, removal[s])


@compiled
def best_swaps(D, w, near, second, near_center, removal, gains, centers):
    """gains[s], centers[s] = the best swap of candidate s. Slots that must stay have infinite `removal`."""
    left = np.empty(removal.shape[0])
    for s in range(D.shape[0]):
        for j in range(left.shape[0]):
            left[j] = removal[j]
        gain = swap_scan(D[s], w, near, second, near_center, left)
        center = 0
        for j in range(1, left.shape[0]):
            if left[j] < left[center]:
                center = j
        gains[s], centers[s] = gain - left[center], center


@compiled
def fill_center(C, n_centers, center, d, near, second, near_center, second_center):
    """Put a candidate with dissimilarities d into `center`; only the validation rows it affects are updated.

    `center` is an existing one, which the candidate replaces, or the one after the last: the candidate is added.
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
