"""Racing: score swaps on growing draws of validation rows until the decision is clear.

gomes2010, Appendix II (adaptive stopping rule): races as in maron1994. A candidate drops out when the upper confidence
limit of its best swap's gain is too small; the race ends when the lower limit of one is large enough. When draws do not
decide, all validation rows do, as in an exact comparison.

Departures: the paper draws rows uniformly, and its intervals, by Hoeffding's bound around the utility of each swap and
the present one, are as wide as the range of dissimilarities. Here the loss R_j of removing exemplar j is known from all
rows, and only what a candidate saves then is estimated: the mean T_j of `without_i - min(d_i, without_i)`, where
`without_i` is the dissimilarity of row i to its nearest exemplar except j. It is at most o_i, the dissimilarity to the
second nearest. Rows are drawn with probabilities proportional to o_i, so each draw is a number between 0 and the mean
of o, and the bound is the one with relative entropies (hoeffding1963, Theorem 1), which is narrow for small means.
"""

import math
from typing import Any

import numpy as np
from scipy.special import rel_entr

from modicum._jit import exemplar as jit
from modicum.kernels.dissimilarity import TILE
from modicum.numeric.parallel import run_tiles
from modicum.rows import n_rows, take
from modicum.select.objectives.exemplar import ExemplarObjective, leave_out

LOOKS = (1 / 16, 1 / 8, 1 / 4, 1 / 2)  # draws so far per validation row; a decision at the first saves 94%


class Race:
    """A race of candidates for slots of an exemplar objective; `delta` is the probability of a wrong decision."""

    def __init__(
        self,
        objective: ExemplarObjective,
        candidates: Any,
        delta: float,
        rng: np.random.Generator,
        own: np.ndarray | None = None,
    ):
        self.objective = objective
        self.candidates = candidates
        self.alive = np.arange(n_rows(candidates))
        self.own = np.full(n_rows(candidates), -1) if own is None else own
        W = len(objective.rows)
        self.D = np.empty((n_rows(candidates), W), objective.near.dtype)  # columns in the order of evaluation
        self.evaluated = np.empty(0, np.int64)  # validation rows in these columns, for candidates that are alive
        self.columns = np.full(W, -1)  # of validation rows
        self.n_evaluations = 0
        self._delta = delta
        self._rng = rng
        self._n_heats = 0

    def run(self, most: int | None, min_gain: float) -> list[tuple[int, int]]:
        """Swap in up to `most` winners (None: all that gain enough); returns (candidate, slot) pairs."""
        swapped: list[tuple[int, int]] = []
        while len(self.alive) and len(swapped) != most:
            winner = self._heat(min_gain)
            if winner is None:
                break
            i, slot = winner
            rest = np.flatnonzero(self.columns < 0)
            d = np.empty(len(self.columns), self.D.dtype)
            d[self.evaluated] = self.D[i, : len(self.evaluated)]
            d[rest] = self._compared(np.array([i]), rest)
            self.objective.fill(slot, take(self.candidates, slice(i, i + 1)), np.maximum(d, 0))
            self.alive = self.alive[self.alive != i]
            swapped.append(winner)
        return swapped

    def _heat(self, min_gain: float) -> tuple[int, int] | None:
        """A race for one slot; None if no candidate gains enough."""
        F = self.objective
        most = np.where(F.near_center > 0, F.second, F.near).astype(np.float64)  # that a row may save
        chances = F.shares * most
        scale = float(chances.sum())
        if not scale > 0:
            return None
        self._n_heats += 1
        # one statement per swap and look: those of all heats hold together with probability 1 - delta
        delta = self._delta / (self._n_heats * (self._n_heats + 1))
        doubt = math.log(2 * len(self.D) * F.n_centers * len(LOOKS) / delta)
        needed = (F.removal[: F.n_centers] + min_gain) / scale  # of the mean of a draw, for a swap to gain enough
        saved, drawn = np.zeros((len(self.D), F.n_centers)), 0
        for look in LOOKS:
            count = math.ceil(look * len(most)) - drawn
            rows, times = np.unique(self._rng.choice(len(most), count, p=chances / scale), return_counts=True)
            drawn += count
            self._evaluate(rows)
            self._add_savings(rows, self.D[:, self.columns[rows]], times / most[rows], saved)
            means = np.clip(saved[self.alive] / drawn, 0, 1)
            entropy = relative_entropy(means, np.minimum(needed, 1))
            clear = drawn * entropy >= doubt
            gains = np.where(clear & (means > needed), means - needed, -np.inf)
            best, center = np.unravel_index(gains.argmax(), gains.shape)
            if gains[best, center] > 0:
                return int(self.alive[best]), int(center) - 1
            self.alive = self.alive[~(clear & (means < needed)).all(axis=1)]
            if not len(self.alive):
                return None
            if not ((means > needed) & (LOOKS[-1] * len(most) * entropy >= doubt)).any():
                break  # at this rate no look would find a winner
        return self._exact(min_gain)

    def _exact(self, min_gain: float) -> tuple[int, int] | None:
        """The best swap of those left, on all validation rows."""
        F = self.objective
        self._evaluate(np.arange(len(F.rows)))
        saved = np.zeros((len(self.D), F.n_centers))
        self._add_savings(self.evaluated, self.D, F.shares[self.evaluated], saved)
        gains = saved[self.alive] - F.removal[: F.n_centers]
        best, center = np.unravel_index(gains.argmax(), gains.shape)
        return (int(self.alive[best]), int(center) - 1) if gains[best, center] > min_gain else None

    def _add_savings(self, rows: np.ndarray, D: np.ndarray, weights: np.ndarray, saved: np.ndarray) -> None:
        """Add what candidates save on some rows, for each center that might go."""
        F = self.objective
        gains, left = np.zeros(len(D)), np.zeros(saved.shape)
        caches = (F.near[rows], F.second[rows], F.near_center[rows])
        jit.swap_scans(D, self.alive, weights, *caches, gains, left)
        saved += gains[:, None] - left

    def _evaluate(self, rows: np.ndarray) -> None:
        """Compute the dissimilarities to some validation rows that are not there yet."""
        rows = rows[self.columns[rows] < 0]
        rows = rows[np.argsort(self.objective.near_center[rows], kind="stable")]  # scans are faster
        first, last = len(self.evaluated), len(self.evaluated) + len(rows)
        self.D[self.alive, first:last] = self._compared(self.alive, rows)
        self.columns[rows] = np.arange(first, last)
        self.evaluated = np.concatenate([self.evaluated, rows])

    def _compared(self, racers: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Dissimilarities of racers to validation rows, infinite where a racer meets itself."""
        F = self.objective
        D = np.empty((len(racers), len(rows)), self.D.dtype)
        if D.size:
            prepared = F.dissimilarity.prepare(take(F.rows.values, rows))
            run_tiles(
                lambda tile: F.dissimilarity.to(take(self.candidates, racers[tile]), prepared, D[tile]), len(D), TILE
            )
        here = np.full(len(F.rows) + 1, -1)
        here[rows] = np.arange(len(rows))
        leave_out(D, here[self.own[racers]])
        self.n_evaluations += D.size
        return D


def relative_entropy(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """That of Bernoulli distributions with these means."""
    return rel_entr(p, q) + rel_entr(1 - p, 1 - q)
