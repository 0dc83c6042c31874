"""Loops of the exemplar objective F_C (gomes2010, eq. 3.6 and Appendix II).

Names: D (candidates x validation rows) dissimilarities of candidates; C (validation rows x slots) those of the chosen,
slot 0 being the phantom; w weights; for each validation row `near`, `near_slot` its closest slot and
`second`, `second_slot` the next one.
"""

import numpy as np

from modicum._jit import compiled, inlined


@compiled
def two_nearest(C, n_slots, rows, near, second, near_slot, second_slot):
    """Find the two closest of the first `n_slots` slots for the given rows."""
    for i in rows:
        two_nearest_of_row(C, n_slots, i, near, second, near_slot, second_slot)


@inlined
def two_nearest_of_row(C, n_slots, i, near, second, near_slot, second_slot):
    """`two_nearest` for row i."""
    best, next_best, slot, next_slot = np.inf, np.inf, 0, 0
    for j in range(n_slots):
        d = C[i, j]
        if d < best:
            next_best, next_slot = best, slot
            best, slot = d, j
        elif d < next_best:
            next_best, next_slot = d, j
    near[i], second[i] = best, next_best
    near_slot[i], second_slot[i] = slot, next_slot


@compiled
def removal_losses(w, near, second, near_slot, out):
    """out[j] = the rise of the loss when slot j is removed: its rows fall to their second nearest slot."""
    for j in range(out.shape[0]):
        out[j] = 0.0
    for i in range(w.shape[0]):
        out[near_slot[i]] += w[i] * (second[i] - near[i])


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
def swap_scan(d, w, near, second, near_slot, removal):
    """One scan of a candidate's dissimilarities d scores its swap against every slot.

    Returns the gain of adding it. `removal`, at first the cost of removing each slot, becomes the cost of removing it
    once the candidate has joined.
    """
    gain = 0.0
    for i in range(d.shape[0]):
        if d[i] < second[i]:
            if d[i] < near[i]:
                gain += w[i] * (near[i] - d[i])
            if near_slot[i] > 0:  # rows nearest to the phantom, which never leaves, may have an infinite `second`
                removal[near_slot[i]] -= w[i] * (second[i] - (d[i] if d[i] > near[i] else near[i]))
    return gain


@compiled
def swap_scans(D, candidates, w, near, second, near_slot, gains, removal):
    """`swap_scan` for the given candidates, added to the values in gains and removal (candidates x slots)."""
    for s in candidates:
        gains[s] += swap_scan(D[s], w, near, second, near_slot, removal[s])


@compiled
def best_swaps(D, w, near, second, near_slot, removal, gains, slots):
    """gains[s], slots[s] = the best swap of candidate s. Slots that must stay have infinite `removal`."""
    left = np.empty(removal.shape[0])
    for s in range(D.shape[0]):
        for j in range(left.shape[0]):
            left[j] = removal[j]
        gain = swap_scan(D[s], w, near, second, near_slot, left)
        slot = 0
        for j in range(1, left.shape[0]):
            if left[j] < left[slot]:
                slot = j
        gains[s], slots[s] = gain - left[slot], slot


@compiled
def fill_slot(C, n_slots, slot, d, near, second, near_slot, second_slot):
    """Put a candidate with dissimilarities d into `slot`; only the validation rows it affects are updated.

    `slot` is an existing one (the candidate replaces its exemplar) or the one after the last (the candidate is added).
    """
    for i in range(d.shape[0]):
        C[i, slot] = d[i]
        if near_slot[i] == slot or second_slot[i] == slot:
            two_nearest_of_row(C, n_slots, i, near, second, near_slot, second_slot)
        elif d[i] < near[i]:
            second[i], second_slot[i] = near[i], near_slot[i]
            near[i], near_slot[i] = d[i], slot
        elif d[i] < second[i]:
            second[i], second_slot[i] = d[i], slot
