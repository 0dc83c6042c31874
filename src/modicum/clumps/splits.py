"""Splits of groups of items into halves, refined by likelihood from an initial cut (kurihara2007; gomes2008).

Items are sorted by group; `starts` is the index of the first item of each group. All groups are split together. Mean
statistics may be a CSR matrix.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import digamma, entr, expit

from modicum._jit.splits import add_halves, dot_with_groups
from modicum.families import Family
from modicum.numeric.grouped import dots, weighted_sums
from modicum.rows import is_sparse

Statistics = tuple[np.ndarray, np.ndarray]  # counts, sums


@dataclass(frozen=True)
class Split:
    """Two halves of a group, the larger first: counts, sums of statistics, and the gain.

    The gain is in the evidence of rows and the entropy of shares; it does not include the weights of components.
    """

    counts: np.ndarray
    sums: np.ndarray
    gain: float


@dataclass(frozen=True)
class FirmSplits:
    """Halves to which each item belongs entirely or not at all.

    `first` is True for items of first halves. `counts` has two rows: those of first and of second halves. A group that
    can't be split has all its items in one half.
    """

    first: np.ndarray
    counts: np.ndarray
    gains: np.ndarray  # in the evidence of rows


def split_softly(
    family: Family, counts: np.ndarray, averages: Any, starts: np.ndarray, along: np.ndarray, steps: int
) -> list[Split]:
    """Halves that share items as components of a mixture do, first cut where `along` changes sign."""
    groups = ItemGroups(family, counts, averages, starts)
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


def split_firmly(family: Family, counts: np.ndarray, averages: Any, starts: np.ndarray, steps: int) -> FirmSplits:
    """Halves that do not share items, first cut at the mean of each group along its principal direction."""
    groups = ItemGroups(family, counts, averages, starts)
    first = family.projections(counts, averages, starts)[:, 0] > 0
    for _ in range(steps):
        moved = groups.differences(groups.halves(first)) > 0
        size = np.add.reduceat(moved.astype(np.intp), starts)
        empty = (size == 0) | (size == groups.sizes)  # these groups are left unchanged
        moved = np.where(empty[groups.of_items], first, moved)
        if (moved == first).all():
            break
        first = moved
    halves = groups.halves(first)
    return FirmSplits(first, halves[0].reshape(2, -1), groups.gains(halves))


class ItemGroups:
    """Statistics of groups of items and of their halves; all first halves come before all second halves."""

    def __init__(self, family: Family, counts: np.ndarray, averages: Any, starts: np.ndarray):
        self._family = family
        self._averages = averages
        self._counts = counts
        self._starts = starts
        self._borders = np.append(starts, len(counts))
        self.sizes = np.diff(self._borders)
        self.of_items = np.repeat(np.arange(len(starts)), self.sizes)

    def halves(self, shares: np.ndarray) -> Statistics:
        """Statistics of halves, where first halves have these shares of items.

        Both are summed: the difference of the whole and one half might have no digits left.
        """
        shares = shares.astype(np.float64, copy=False)
        parts = [self._counts * share for share in (shares, 1 - shares)]
        counts = [np.add.reduceat(part, self._starts) for part in parts]
        if is_sparse(self._averages):
            sums = [weighted_sums(self._averages, part, self._starts) for part in parts]
        else:
            sums = list(np.zeros((2, len(self._starts), self._averages.shape[1])))
            add_halves(self._counts, self._averages, shares, self._borders, *sums)
        return np.concatenate(counts), np.concatenate(sums)

    def differences(self, halves: Statistics, logs: float | np.ndarray = 0.0) -> np.ndarray:
        """Expected log-likelihood of each item under first minus second halves; `logs` is added for each group."""
        slopes, offsets = self._family.expected_log_likelihood(*halves)
        pulls, leans = np.subtract(*np.split(slopes, 2)), np.subtract(*np.split(offsets, 2)) + logs
        if is_sparse(self._averages):
            out = dots(self._averages, pulls, self.of_items)
        else:
            out = np.empty(len(self._counts))
            dot_with_groups(self._averages, pulls, self._borders, out)
        return out + leans[self.of_items]

    def gains(self, halves: Statistics) -> np.ndarray:
        """Gains in the evidence of rows by splitting."""
        split = np.add(*np.split(self._family.log_evidence(*halves), 2))
        whole = [np.add(*np.split(values, 2)) for values in halves]
        return split - self._family.log_evidence(*whole)
