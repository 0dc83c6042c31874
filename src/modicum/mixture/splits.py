"""Two parts of each of many groups of items, moved by likelihood from a first cut (kurihara2007; gomes2008).

Items of a group follow each other, and `starts` tells where each group begins: all groups are split at once.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, entr, expit

from modicum._jit.splits import add_halves, dot_with_groups
from modicum.families import Family

Statistics = tuple[np.ndarray, np.ndarray]  # counts, sums


@dataclass(frozen=True)
class Split:
    """Two parts of a group, the larger first: counts, sums of statistics, and the gain.

    The gain is that of the evidence of rows, and of the entropy of shares. Weights of components are another matter.
    """

    counts: np.ndarray
    sums: np.ndarray
    gain: float


@dataclass(frozen=True)
class FirmSplits:
    """Parts that have each item whole.

    `first` tells the items of first parts, `counts` the counts of first and second ones, in two rows. A group that
    can't be split has all its items in one part.
    """

    first: np.ndarray
    counts: np.ndarray
    gains: np.ndarray  # of the evidence of rows


def split_softly(
    family: Family, counts: np.ndarray, averages: np.ndarray, starts: np.ndarray, along: np.ndarray, steps: int
) -> list[Split]:
    """Parts that share items as components of a mixture do, first cut where `along` changes its sign."""
    groups = _Groups(family, counts, averages, starts)
    shares = (along > 0).astype(np.float64)
    for _ in range(steps):
        halves = groups.halves(shares)
        logs = np.subtract(*np.split(digamma(1 + halves[0]), 2))  # of weights
        shares = expit(groups.differences(halves, logs))
    halves = groups.halves(shares)
    gains = groups.gains(halves) + np.add.reduceat(counts * (entr(shares) + entr(1 - shares)), starts)
    both, sums = (np.stack(np.split(values, 2), axis=1) for values in halves)
    order = np.argsort(-both, axis=1, kind="stable")
    return [Split(both[g][order[g]], sums[g][order[g]], float(gains[g])) for g in range(len(starts))]


def split_firmly(
    family: Family, counts: np.ndarray, averages: np.ndarray, starts: np.ndarray, steps: int
) -> FirmSplits:
    """Parts that have each item whole, first cut at the mean of each group along its principal direction."""
    groups = _Groups(family, counts, averages, starts)
    first = family.projections(counts, averages, starts)[:, 0] > 0
    for _ in range(steps):
        moved = groups.differences(groups.halves(first)) > 0
        size = np.add.reduceat(moved.astype(np.intp), starts)
        empty = (size == 0) | (size == groups.sizes)  # these stay as they are
        moved = np.where(empty[groups.of_items], first, moved)
        if (moved == first).all():
            break
        first = moved
    halves = groups.halves(first)
    return FirmSplits(first, halves[0].reshape(2, -1), groups.gains(halves))


class _Groups:
    """Statistics of groups of items and of their parts; those of first parts come before those of second ones."""

    def __init__(self, family: Family, counts: np.ndarray, averages: np.ndarray, starts: np.ndarray):
        self._family = family
        self._averages = averages
        self._counts = counts
        self._starts = starts
        self._borders = np.append(starts, len(counts))
        self.sizes = np.diff(self._borders)
        self.of_items = np.repeat(np.arange(len(starts)), self.sizes)

    def halves(self, shares: np.ndarray) -> Statistics:
        """Of parts, if first ones have these shares of items. A difference from the whole might have no digits left."""
        shares = shares.astype(np.float64, copy=False)
        counts = [np.add.reduceat(self._counts * part, self._starts) for part in (shares, 1 - shares)]
        sums = np.zeros((2, len(self._starts), self._averages.shape[1]))
        add_halves(self._counts, self._averages, shares, self._borders, *sums)
        return np.concatenate(counts), np.concatenate(sums)

    def differences(self, halves: Statistics, logs: float | np.ndarray = 0.0) -> np.ndarray:
        """What first parts expect of each item beyond second ones; `logs` are differences of groups to add."""
        slopes, offsets = self._family.expected_log_likelihood(*halves)
        pulls, leans = np.subtract(*np.split(slopes, 2)), np.subtract(*np.split(offsets, 2)) + logs
        out = np.empty(len(self._counts))
        dot_with_groups(self._averages, pulls, self._borders, out)
        return out + leans[self.of_items]

    def gains(self, halves: Statistics) -> np.ndarray:
        """Of the evidence of rows, by being split."""
        parts = np.add(*np.split(self._family.log_evidence(*halves), 2))
        whole = [np.add(*np.split(values, 2)) for values in halves]
        return parts - self._family.log_evidence(*whole)
