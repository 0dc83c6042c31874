"""Two parts of a set of items, cut by its principal direction, then moved by likelihood (kurihara2007; gomes2008)."""

from dataclasses import dataclass

import numpy as np
from scipy.special import entr, expit

from modicum.families import Family
from modicum.mixture.sticks import Sticks


@dataclass(frozen=True)
class Split:
    """Two parts, the larger first: counts, sums of statistics, and the gain.

    The gain is that of the evidence of rows, and of the entropy of shares. Weights of components are another matter.
    """

    counts: np.ndarray
    sums: np.ndarray
    gain: float


def split_softly(
    family: Family, counts: np.ndarray, averages: np.ndarray, along: np.ndarray, concentration: float, steps: int
) -> Split:
    """Parts that share items as components of a mixture do, first cut where `along` changes its sign."""
    shares = (along > 0).astype(np.float64)
    for _ in range(steps):
        both, sums = _both(counts, averages, shares)
        slopes, offsets = family.expected(both, sums)
        offsets += Sticks(both, concentration).expected_logs
        shares = expit(averages @ (slopes[0] - slopes[1]) + (offsets[0] - offsets[1]))
    both, sums = _both(counts, averages, shares)
    whole = family.log_evidence(both.sum(keepdims=True), sums.sum(axis=0, keepdims=True))[0]
    gain = family.log_evidence(both, sums).sum() - whole + counts @ (entr(shares) + entr(1 - shares))
    larger = np.argsort(-both, kind="stable")
    return Split(both[larger], sums[larger], float(gain))


def _both(counts: np.ndarray, averages: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Counts and sums of statistics of the part with the given shares, and of the other."""
    weights = np.stack([counts * shares, counts * (1 - shares)])
    return weights.sum(axis=1), weights @ averages


@dataclass(frozen=True)
class FirmSplits:
    """Two parts of each of many groups, which have each item whole.

    `first` tells the items of first parts, `counts` the counts of first and second ones, in two rows. A group that
    can't be split has all its items in one part.
    """

    first: np.ndarray
    counts: np.ndarray
    gains: np.ndarray  # of the evidence of rows


def split_firmly(
    family: Family, counts: np.ndarray, averages: np.ndarray, starts: np.ndarray, steps: int
) -> FirmSplits:
    """Split all groups at once. Their items follow each other; `starts` tells where each group begins."""
    group = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(counts)))
    weighted = counts[:, None] * averages
    totals = np.add.reduceat(counts, starts), np.add.reduceat(weighted, starts)
    first = family.projections(counts, averages, starts)[:, 0] > 0
    for step in range(steps + 1):
        halves = _halves(counts, weighted, first, starts, totals)
        if step == steps:
            break
        slopes, offsets = family.expected(*halves)
        pulls, leans = np.subtract(*np.split(slopes, 2)), np.subtract(*np.split(offsets, 2))
        moved = np.einsum("ip,ip->i", averages, pulls[group]) + leans[group] > 0
        size = np.add.reduceat(moved.astype(np.intp), starts)
        empty = (size == 0) | (size == np.bincount(group))  # these stay as they are
        moved = np.where(empty[group], first, moved)
        if (moved == first).all():
            break
        first = moved
    gains = np.add(*np.split(family.log_evidence(*halves), 2)) - family.log_evidence(*totals)
    return FirmSplits(first, halves[0].reshape(2, -1), gains)


def _halves(
    counts: np.ndarray,
    weighted: np.ndarray,
    first: np.ndarray,
    starts: np.ndarray,
    totals: tuple[np.ndarray, np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """Counts and sums of statistics of the first parts of all groups, then of the second ones."""
    part = np.add.reduceat(counts * first, starts)
    sums = np.add.reduceat(weighted * first[:, None], starts)
    return np.append(part, totals[0] - part), np.concatenate([sums, totals[1] - sums])
