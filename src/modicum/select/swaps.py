"""Swaps: how a block of candidates changes a chosen set (gomes2010, Algorithm 1).

While fewer rows are chosen than asked for, the best candidates of a block are added (`grow`); after that they replace
chosen rows if that gains enough (`improve`).
"""

import numpy as np

from modicum.select.objectives.objective import Block

CANDIDATES_PER_SWAP = 64  # candidates per block with one swap per block: small, so that a pass has enough swaps


def grow(block: Block, most: int, min_gain: float) -> list[tuple[int, int]]:
    """Add up to `most` candidates, the best one each time, as long as it gains more than `min_gain`.

    Returns (candidate, slot) pairs. Lazy: for a submodular objective an old gain bounds the present one, so only
    the candidate with the largest bound is scored again.
    """
    bounds = block.gains()
    joined: list[tuple[int, int]] = []
    while len(joined) < most:
        i = int(np.argmax(bounds))
        if not bounds[i] > min_gain:
            break
        bound, bounds[i] = bounds[i], -np.inf
        gain = block.gain(i) if joined else bound
        if gain < bounds.max():
            bounds[i] = gain
        elif gain > min_gain:
            joined.append((i, block.add(i)))
    return joined


def improve(block: Block, most: int | None, min_gain: float) -> list[tuple[int, int]]:
    """Swap up to `most` candidates (None: all that gain more than `min_gain`) for chosen rows, best first.

    Returns (candidate, slot) pairs. After the first swap, each candidate is scored again before it is swapped in.
    """
    gains, slots = block.swap_gains()
    swapped: list[tuple[int, int]] = []
    for i in np.argsort(-gains, kind="stable"):
        if gains[i] <= min_gain or len(swapped) == most:
            break
        gain, slot = block.swap_gain(i) if swapped else (gains[i], int(slots[i]))
        if gain > min_gain:
            block.swap(i, slot)
            swapped.append((int(i), slot))
    return swapped
