"""Two parts of a set of items, cut by its principal direction, then moved by likelihood (kurihara2007; gomes2008)."""

from dataclasses import dataclass

import numpy as np
from scipy.special import entr, expit

from modicum.families import Family
from modicum.mixture.sticks import Sticks


@dataclass(frozen=True)
class Split:
    """Two parts, the larger first: counts, sums of statistics, the second one's share of each item, and the gain.

    The gain is that of the evidence of rows, and of the entropy of shares. Weights of components are another matter.
    """

    counts: np.ndarray
    sums: np.ndarray
    shares: np.ndarray
    gain: float


def split_softly(
    family: Family, counts: np.ndarray, averages: np.ndarray, along: np.ndarray, concentration: float, steps: int
) -> Split:
    """Parts that share items as components of a mixture do, first cut where `along` changes its sign."""
    shares = (along > 0).astype(np.float64)
    for _ in range(steps):
        both, sums = _both(counts, averages, shares)
        pull, lean = _difference(family, both, sums)
        lean += np.subtract(*Sticks(both, concentration).expected_logs)
        shares = expit(averages @ pull + lean)
    return _finished(family, counts, averages, shares)


def split_firmly(family: Family, counts: np.ndarray, averages: np.ndarray, steps: int) -> Split:
    """Parts that have each item whole."""
    first = family.projections(counts, averages)[:, 0] > 0
    for _ in range(steps):
        pull, lean = _difference(family, *_both(counts, averages, first))
        moved = averages @ pull + lean > 0
        if (moved == first).all() or moved.all() or not moved.any():
            break
        first = moved
    return _finished(family, counts, averages, first.astype(np.float64))


def _both(counts: np.ndarray, averages: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Counts and sums of statistics of the part with the given shares, and of the other."""
    weights = np.stack([counts * shares, counts * (1 - shares)])
    return weights.sum(axis=1), weights @ averages


def _difference(family: Family, counts: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, float]:
    """Slope and offset of what the first part expects of an item beyond the second."""
    slopes, offsets = family.expected(counts, sums)
    return slopes[0] - slopes[1], offsets[0] - offsets[1]


def _finished(family: Family, counts: np.ndarray, averages: np.ndarray, shares: np.ndarray) -> Split:
    both, sums = _both(counts, averages, shares)
    whole = family.log_evidence(both.sum(keepdims=True), sums.sum(axis=0, keepdims=True))
    gain = family.log_evidence(both, sums).sum() - whole[0] + counts @ (entr(shares) + entr(1 - shares))
    if both[0] > both[1]:
        return Split(both, sums, 1 - shares, float(gain))
    return Split(both[::-1], sums[::-1], shares, float(gain))
