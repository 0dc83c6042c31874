"""Racing: score swaps on growing subsets of the validation sample until the decision is clear.

gomes2010, Appendix II (adaptive stopping rule): Hoeffding races of maron1994 with the correction of Corollary 1 for
sampling without replacement. A candidate drops out when the upper confidence limit of its best swap's gain is too
small; the race ends when the lower limit of one is large enough, or when no candidate is left. On the whole sample the
interval has width zero, and the race decides like an exact comparison.

Departure: the paper puts one interval around the utility of each swap and one around the present utility, both as wide
as the range of dissimilarities. Here the interval is around their difference, whose range over the validation
sample is known: a row loses at most second - near and gains at most near.
"""

import math
from itertools import pairwise
from typing import Any

import numpy as np

from modicum._jit import exemplar as jit
from modicum.kernels.dissimilarity import TILE
from modicum.numeric.hoeffding import hoeffding_error
from modicum.numeric.parallel import run_tiles
from modicum.rows import n_rows, take
from modicum.select.objectives.exemplar import ExemplarObjective, columns_in, leave_out

FIRST_PIECE = 1 / 16  # of the sample, then doubled: at most 5 looks at a candidate, and a loser costs a sixteenth


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
        W = len(objective.rows)
        self.objective = objective
        self.candidates = candidates
        self.alive = np.arange(n_rows(candidates))
        ends = [math.ceil(W * FIRST_PIECE * 2**step) for step in range(round(-math.log2(FIRST_PIECE)) + 1)]
        self.pieces = [slice(a, b) for a, b in pairwise([0, *ends]) if b > a]
        self.order = rng.permutation(W)  # validation rows in the order in which they are used
        for piece in self.pieces:  # within a piece, rows of one cluster side by side: scans are faster
            self.order[piece] = self.order[piece][np.argsort(objective.near_center[self.order[piece]], kind="stable")]
        own = np.full(n_rows(candidates), -1) if own is None else own
        self.own_columns = columns_in(self.order, own)
        self.D = np.empty((n_rows(candidates), W), objective.near.dtype)  # columns in that order
        self.known = np.zeros(n_rows(candidates), int)  # pieces evaluated
        # one statement per swap and piece: all of them hold together with probability 1 - delta
        self.log_term = math.log(2 * n_rows(candidates) * objective.n_chosen * len(self.pieces) / delta)
        self.n_evaluations = 0

    def run(self, most: int | None, min_gain: float) -> list[tuple[int, int]]:
        """Swap in up to `most` winners (None: all that gain enough); returns (candidate, slot) pairs."""
        swapped: list[tuple[int, int]] = []
        d = np.empty(len(self.order), self.D.dtype)
        while len(self.alive) and len(swapped) != most:
            winner = self._run_once(min_gain)
            if winner is None:
                break
            i, slot = winner
            for number in range(len(self.pieces)):
                self._evaluate(np.array([i]), number)
            d[self.order] = np.maximum(self.D[i], 0)
            self.objective.fill(slot, take(self.candidates, slice(i, i + 1)), d)
            self.alive = self.alive[self.alive != i]
            swapped.append(winner)
        return swapped

    def _run_once(self, min_gain: float) -> tuple[int, int] | None:
        """One race for one slot; None if no candidate gains enough."""
        F, W = self.objective, len(self.order)
        shares, near, second = F.shares[self.order], F.near[self.order], F.second[self.order]
        near_center = F.near_center[self.order]
        leaving = np.where(np.isfinite(second), second - near, 0.0)  # only rows of the phantom may have no second
        width = W * float((shares * near).max() + (shares * leaving).max())
        gains, left = np.zeros(len(self.D)), np.zeros((len(self.D), F.n_centers))
        removal = np.where(np.isfinite(F.removal[: F.n_centers]), 0.0, np.inf)  # infinite: may not be swapped out
        for number, piece in enumerate(self.pieces):
            self._evaluate(self.alive, number)
            caches = (shares[piece], near[piece], second[piece], near_center[piece])
            removal += np.bincount(near_center[piece], shares[piece] * leaving[piece], F.n_centers)
            jit.swap_scans(self.D[:, piece], self.alive, *caches, gains, left)
            cost = removal + left[self.alive]
            centers = cost.argmin(axis=1)
            estimate = (gains[self.alive] - cost[np.arange(len(centers)), centers]) * (W / piece.stop)
            error = hoeffding_error(piece.stop, width, self.log_term, population=W)
            best = int(estimate.argmax())
            if estimate[best] - error > min_gain:
                return int(self.alive[best]), int(centers[best]) - 1
            self.alive = self.alive[estimate + error > min_gain]
            if not len(self.alive):
                break
        return None

    def _evaluate(self, racers: np.ndarray, number: int) -> None:
        """Compute dissimilarities to a piece of the validation sample for the racers that lack them."""
        racers, piece = racers[self.known[racers] <= number], self.pieces[number]
        if len(racers):
            F = self.objective
            prepared = F.dissimilarity.prepare(take(F.rows.values, self.order[piece]))
            D = np.empty((len(racers), piece.stop - piece.start), self.D.dtype)
            run_tiles(
                lambda tile: F.dissimilarity.to(take(self.candidates, racers[tile]), prepared, D[tile]), len(D), TILE
            )
            here = (self.own_columns[racers] >= piece.start) & (self.own_columns[racers] < piece.stop)
            leave_out(D, np.where(here, self.own_columns[racers] - piece.start, -1))
            self.D[racers, piece] = D
            self.known[racers] = number + 1
            self.n_evaluations += D.size
