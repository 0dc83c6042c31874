"""Loops of the exemplar objective F_C (gomes2010, eq. 3.6 and Appendix II).

Names: D (candidates x validation rows) dissimilarities of candidates; C (validation rows x slots) those of the chosen,
slot 0 being the phantom; w weights; for each validation row `near`, `near_slot` its closest slot and
`second`, `second_slot` the next one.
"""

import numpy as np

from modicum._jit import compiled


@compiled
def two_nearest(C, n_slots, rows, near, second, near_slot, second_slot):
    """Find the two closest of the first `n_slots` slots for the given rows."""
    for i in rows:
        two_nearest_of_row(C, n_slots, i, near, second, near_slot, second_slot)


@compiled
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
    """out[j] = what the loss rises by when slot j goes: its rows fall to their second nearest."""
    out[:] = 0.0
    for i in range(w.shape[0]):
        out[near_slot[i]] += w[i] * (second[i] - near[i])


@compiled
def add_gains(D, w, near, out):
    """out[s] = what the loss falls by when candidate s joins."""
    for s in range(D.shape[0]):
        gain = 0.0
        for i in range(D.shape[1]):
            if D[s, i] < near[i]:
                gain += w[i] * (near[i] - D[s, i])
        out[s] = gain


@compiled
def swap_scan(d, w, near, second, near_slot, removal):
    """One scan of a candidate's dissimilarities d scores its swap against every slot.

    Returns what its joining gains; `removal` turns from what each slot's leaving costs alone into what it
    costs once the candidate is there.
    """
    gain = 0.0
    for i in range(d.shape[0]):
        if d[i] < second[i]:
            if d[i] < near[i]:
                gain += w[i] * (near[i] - d[i])
            if near_slot[i] > 0:  # rows of the phantom, which never leaves, may have nobody else: second is infinite
                removal[near_slot[i]] -= w[i] * (second[i] - max(near[i], d[i]))
    return gain


@compiled
def swap_scans(D, candidates, w, near, second, near_slot, gains, removal):
    """`swap_scan` for the given candidates, on top of what gains and removal (candidates x slots) hold already."""
    for s in candidates:
        gains[s] += swap_scan(D[s], w, near, second, near_slot, removal[s])


@compiled
def best_swaps(D, w, near, second, near_slot, removal, gains, slots):
    """gains[s], slots[s] = the best swap of candidate s. Slots that may not leave have infinite `removal`."""
    left = np.empty_like(removal)
    for s in range(D.shape[0]):
        left[:] = removal
        gain = swap_scan(D[s], w, near, second, near_slot, left)
        slot = np.argmin(left)
        gains[s], slots[s] = gain - left[slot], slot


@compiled
def fill_slot(C, n_slots, slot, d, near, second, near_slot, second_slot):
    """Put a candidate with dissimilarities d into `slot`, touching only the rows that it changes.

    `slot` may be the one after the last (the candidate joins) or an old one (it takes its place).
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
