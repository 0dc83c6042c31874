"""Error of the projected process: how well functions spanned by the chosen rows fit all targets.

smola2000; seeger2003; quinonero2005 (subset of regressors, projected process); gomes2010 for the choice of rows from a
stream. The projected process of the chosen rows A predicts k(x, A) beta with

    beta = M^-1 b,    M = s2 K_AA + K_AW O K_WA,    b = K_AW O y_W

over the validation rows W with weights O whose sum is their number, and what it can't explain is

    L(A) = min_beta  sum_i o_i (y_i - k_i beta)^2 + s2 beta' K_AA beta = y' O y - b' beta

With m = s2 K_AB + K_AW O K_WB the column of M that a candidate would add and c its own entry, u = M^-1 m,
pivot = c - m u and e = b_B - m beta, joining lowers L by e^2 / pivot, and replacing j lowers it by

    (e + u_j beta_j / M^-1_jj)^2 / (pivot + u_j^2 / M^-1_jj) - beta_j^2 / M^-1_jj

as in stepwise regression. So K_AW O K_WB is the only large product, and after a swap only one column of it is new: a
block keeps it up to date in O(|W| |B|), and scoring a candidate again costs O(|A|^2).

Kernel values of smooth functions are nearly collinear: pivots are a billion times smaller than the entries of M. So
everything is computed from the inverse J of the triangular factor of M, M^-1 = J'J, which is recomputed after each
change: half of the digits would be lost with M^-1 itself.
"""

from typing import Any

import numpy as np

from modicum.kernels.projected_process import JITTER, ROUNDING, Solution, jittered
from modicum.numeric.parallel import run_tiles
from modicum.rows import take
from modicum.rules.invariants import Array
from modicum.select.objectives.logdet import UNSTARTED
from modicum.select.objectives.validated import TILE, Validated, ValidatedBlock


class ProjectedError(Validated):
    """Minus the regularized mean squared error at the validation rows of the projected process of the chosen rows.

    Here the validation rows are learned from as well, and the chosen ones only span the functions to learn. Never
    falls when a row joins; not submodular.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
    noise : float, default=0.1
        Variance of the noise of targets, what the chosen rows can't express included.
    """

    needs_targets = True

    M: np.ndarray
    row_targets: np.ndarray

    _invariants = {
        "M": [UNSTARTED, Array("float64", "n", "n")],
    }

    def empty_set(self, like: Any, limit: int, n_validation: int) -> "ProjectedError":
        empty = super().empty_set(like, limit, n_validation)
        empty.M = np.empty((0, 0))
        return empty

    @classmethod
    def set_bytes(cls, limit: int, n_validation: int, row_bytes: int) -> int:
        return super().set_bytes(limit, n_validation, row_bytes) + 8 * limit * limit

    @property
    def value(self) -> float:
        """-L(A) / |W|."""
        unexplained = self.weighted_targets @ (self.row_targets - self._sample_features @ self.fit().beta)
        return -float(unexplained) / max(1, len(self.rows))

    @property
    def weights(self) -> np.ndarray:
        """The diagonal of O."""
        return len(self.shares) * self.shares

    @property
    def weighted_targets(self) -> np.ndarray:
        return self.weights * self.row_targets

    def look(self, candidates: Any, y: np.ndarray | None = None, shared: np.ndarray | None = None) -> "ProjectedBlock":
        return ProjectedBlock(self, candidates, y, shared)

    def fit(self) -> Solution:
        """beta and J of the chosen rows."""
        return Solution.of(self.M, self.weighted_targets @ self._sample_features)

    def fill(self, slot: int, row: Any, m: np.ndarray, c: float, to_rows: np.ndarray, target: Any) -> None:
        """A row takes `slot`; m and c are its entries of M, `to_rows` its kernel values against the validation rows."""
        if slot == self.n_chosen:
            self.M = np.pad(self.M, (0, 1))
            m = np.append(m, c)
        self.M[slot] = self.M[:, slot] = m
        self.M[slot, slot] = c
        self.features.values[:, slot] = to_rows
        self._choose(slot, row, target)

    # ---- the validation sample -------------------------------------------------------------------

    def put_rows(self, slots: np.ndarray, X: Any, shares: np.ndarray, y: np.ndarray | None = None) -> None:
        before, replaced = self.weights, slots[slots < len(self.rows)]
        gone = _moments(self._sample_features[replaced], before[replaced])
        super().put_rows(slots, X, shares, y)
        stay = np.delete(np.arange(len(before)), replaced)
        if len(slots) < len(before) and np.allclose(self.weights[stay], before[stay], rtol=1e-12):
            self.M += _moments(self._sample_features[slots], self.weights[slots]) - gone
        else:
            self._compute()

    def keep_rows(self, slots: np.ndarray, shares: np.ndarray) -> None:
        super().keep_rows(slots, shares)
        self._compute()

    def _compute(self) -> None:
        """M from all rows."""
        K = jittered(self._features(self.chosen.values))
        self.M = _moments(self._sample_features, self.weights) + self.noise * K

    def _features(self, X: Any) -> np.ndarray:
        return self.kernel(X, self.chosen.values)


class ProjectedBlock(ValidatedBlock):
    """Candidates with the columns m, the corners c and the entries of b that they would add, kept up to date."""

    objective: ProjectedError

    def __init__(self, objective: ProjectedError, candidates: Any, y: np.ndarray | None, shared: np.ndarray | None):
        super().__init__(objective, candidates, y, shared)
        F, n, weights = objective, objective.n_chosen, objective.weights
        self.m = np.zeros((len(self.own), F.limit))
        self.m[:, :n] = F.noise * F.kernel(candidates, F.chosen.values)

        def multiply(tile: slice) -> None:
            self.m[tile, :n] += (self.to_rows[tile] * weights) @ F.features.values[:, :n]

        run_tiles(multiply, len(self.own), TILE)
        self.c = F.noise * (1 + JITTER) * self.own + np.einsum("bw,bw,w->b", self.to_rows, self.to_rows, weights)
        self.b = self.to_rows @ F.weighted_targets
        self.fit = F.fit()

    def _take(self, i: int, slot: int) -> None:
        F, one, n = self.objective, slice(i, i + 1), self.objective.n_chosen
        row, target = take(self.candidates, one), None if self.targets is None else self.targets[one]
        F.fill(slot, row, self.m[i, :n], self.c[i], self.to_rows[i], target)
        self.m[:, slot] = F.noise * F.kernel(self.candidates, row)[:, 0] + self.to_rows @ (F.weights * self.to_rows[i])
        self.fit = F.fit()

    def _gains(self, tile: slice) -> np.ndarray:
        _, pivot, e = self._compare(tile)
        return e**2 / pivot / max(1, len(self.objective.rows))

    def _swap_gains(self, tile: slice) -> np.ndarray:
        own, beta = self.fit.inverse_diagonal, self.fit.beta
        half, pivot, e = self._compare(tile)
        u = half @ self.fit.J
        e = e[:, None] + u * (beta / own)
        return (e**2 / (pivot[:, None] + u**2 / own) - beta**2 / own) / max(1, len(self.objective.rows))

    def _compare(self, tile: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """J m, pivot and e of candidates."""
        m, c = self.m[tile, : self.objective.n_chosen], self.c[tile]
        half = m @ self.fit.J.T
        least = np.maximum(self.objective.noise * JITTER * self.own[tile], ROUNDING * c)  # no pivot is smaller
        least = np.maximum(least, np.finfo(float).tiny)  # a row whose kernel values are all zero gains nothing
        return half, np.maximum(c - np.einsum("bk,bk->b", half, half), least), self.b[tile] - m @ self.fit.beta


def _moments(F: np.ndarray, weights: np.ndarray) -> np.ndarray:
    half = F * np.sqrt(weights)[:, None]
    return half.T @ half
