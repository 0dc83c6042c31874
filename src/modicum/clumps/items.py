"""The items that a model is learned from (gomes2008, eq. 2.8-2.12): rows, and clumps of rows."""

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.special import entr

from modicum.families import Family
from modicum.numeric.parallel import run_tiles
from modicum.rows import is_sparse, take

MIN_TILE_ITEMS = 512  # enough for matrix products at full speed
MAX_TILES = 64  # each has sums of its own, so that results do not depend on the number of threads
KEPT_BYTES = 256 * 2**20  # dense statistics up to this size are computed once and kept; of sums of tiles the most

Scores = tuple[np.ndarray, np.ndarray]  # slopes, offsets: S of eq. 2.9 is mean statistics @ slopes.T + offsets
Extra = Callable[[slice], np.ndarray]  # what is added to S of some items, one column per component


@dataclass(frozen=True)
class Expectation:
    """Statistics of the assignments of all items to components."""

    likelihood: float  # eq. 2.12
    counts: np.ndarray
    sums: np.ndarray
    labels: np.ndarray  # most likely component of each item


class Items:
    """Clumps first, then rows. An item has a count and mean statistics, which are a CSR matrix if rows are."""

    def __init__(
        self, family: Family, rows: Any, weights: np.ndarray, clump_counts: np.ndarray, clump_sums: np.ndarray
    ):
        self.family = family
        self.rows = rows
        self.n_clumps = len(clump_counts)
        self.counts = np.concatenate([clump_counts, weights])
        self._clump_means = clump_sums / clump_counts[:, None]
        self._kept: Any = None
        if is_sparse(rows):
            means = sparse.csr_matrix(self._clump_means)
            self._kept = sparse.vstack([means, family.statistics(rows)], format="csr")
        elif len(self) * family.n_statistics * 8 <= KEPT_BYTES:
            self._kept = self._computed(slice(0, len(self)))

    @classmethod
    def of_rows(cls, family: Family, rows: Any, weights: np.ndarray) -> Self:
        """Items that are all rows."""
        return cls(family, rows, weights, np.empty(0), np.empty((0, family.n_statistics)))

    def scaled(self, growth: float) -> Self:
        """The same items with `growth` times their counts."""
        items = copy.copy(self)
        items.counts = growth * self.counts
        return items

    def __len__(self) -> int:
        return len(self.counts)

    def averages(self, which: slice | np.ndarray) -> Any:
        """Mean statistics of some items."""
        return self._computed(which) if self._kept is None else take(self._kept, which)

    def _computed(self, which: slice | np.ndarray) -> np.ndarray:
        at = np.arange(len(self))[which]
        is_clump = at < self.n_clumps
        if not is_clump.any():
            return self.family.statistics(self.rows[at - self.n_clumps])
        out = np.empty((len(at), self.family.n_statistics))
        out[is_clump] = self._clump_means[at[is_clump]]
        out[~is_clump] = self.family.statistics(self.rows[at[~is_clump] - self.n_clumps])
        return out

    def totals(self, groups: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Counts and sums of statistics of groups of items."""
        counts = np.array([self.counts[group].sum() for group in groups])
        sums = np.empty((len(groups), self.family.n_statistics))
        for at, group in enumerate(groups):
            sums[at] = self.counts[group] @ self.averages(group)
        return counts, sums

    def scored(self, which: slice | np.ndarray, scores: Scores) -> np.ndarray:
        """S of eq. 2.9 for some items, one column per component."""
        return _scored(self.averages(which), scores)

    def shares(self, which: slice, scores: Scores, extra: Extra | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Log-likelihoods of some items, and the posterior probabilities of components (eq. 2.8)."""
        scored = self.scored(which, scores)
        return _normalized(scored if extra is None else scored + extra(which))

    def expect(
        self,
        scores: Scores,
        extra: Extra | None = None,
        see: Callable[[slice, np.ndarray], None] | None = None,
    ) -> Expectation:
        """Assign all items to components by eq. 2.8, and sum their statistics by component.

        Threads call `extra` and `see` for slices of items; `see` is given their shares times their counts.
        """
        n_components = len(scores[1])
        max_tiles = max(1, min(MAX_TILES, KEPT_BYTES // (8 * n_components * self.family.n_statistics)))
        tile_items = max(MIN_TILE_ITEMS, math.ceil(len(self) / max_tiles))
        n_tiles = math.ceil(len(self) / tile_items)
        likelihoods, counts = np.empty(n_tiles), np.empty((n_tiles, n_components))
        sums = np.empty((n_tiles, n_components, self.family.n_statistics))
        labels = np.empty(len(self), np.int32)

        def work(tile: slice) -> None:
            at, averages = tile.start // tile_items, self.averages(tile)
            scored = _scored(averages, scores)
            logs, shares = _normalized(scored if extra is None else scored + extra(tile))
            likelihoods[at] = self.counts[tile] @ logs
            labels[tile] = shares.argmax(axis=1)
            shares *= self.counts[tile, None]
            counts[at] = shares.sum(axis=0)
            sums[at] = shares.T @ averages
            if see is not None:
                see(tile, shares)

        run_tiles(work, len(self), tile_items)
        return Expectation(float(likelihoods.sum()), counts.sum(axis=0), sums.sum(axis=0), labels)

    def entropy_between(self, scores: Scores, pairs: np.ndarray, extra: Extra | None = None) -> np.ndarray:
        """For pairs of components: the entropy of assignments of items between the two, which a merge would lose."""
        total = np.zeros(len(pairs))
        for first in range(0, len(self), 8 * MIN_TILE_ITEMS):
            block = slice(first, min(first + 8 * MIN_TILE_ITEMS, len(self)))
            _, shares = self.shares(block, scores, extra)
            one, two = shares[:, pairs[:, 0]], shares[:, pairs[:, 1]]
            total += self.counts[block] @ (entr(one) + entr(two) - entr(one + two))
        return total


def _scored(averages: Any, scores: Scores) -> np.ndarray:
    slopes, offsets = scores
    out = averages @ slopes.T
    out += offsets
    return out


def _normalized(shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Logs of sums of exponentials, and the exponentials divided by the sums; the input is overwritten."""
    largest = shares.max(axis=1)
    shares -= largest[:, None]
    np.exp(shares, out=shares)
    totals = shares.sum(axis=1)
    shares /= totals[:, None]
    return largest + np.log(totals), shares
