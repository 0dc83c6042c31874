"""Error of the projected process: how well functions spanned by the chosen rows fit all targets.

smola2000; seeger2003; quinonero2005 (subset of regressors, projected process); gomes2010 for the choice of rows from a
stream. The projected process of the chosen rows A predicts k(x, A) beta with

    beta = M^-1 b,    M = s2 K_AA + K_AW O K_WA,    b = K_AW O y_W

over the validation rows W with weights O whose sum is their number, and what it can't explain is

    L(A) = min_beta  sum_i o_i (y_i - k_i beta)^2 + s2 beta' K_AA beta = y' O y - b' beta

With m = s2 K_AB + K_AW O K_WB the column of M that a candidate would add and c its own entry, u = M^-1 m,
pivot = c - m u and e = b_B - m beta, joining lowers L by e^2 / pivot, and replacing j lowers it by

    (e + u_j beta_j / M^-1_jj)^2 / (pivot + u_j^2 / M^-1_jj) - beta_j^2 / M^-1_jj

as in stepwise regression. So K_AW O K_WB and K_BW O K_WB are the only large products: with them, scoring a candidate
again costs O(|A|^2) and a swap one factorization of M.

Kernel values of smooth functions are nearly collinear: pivots are a billion times smaller than the entries of M. So
everything is computed from the inverse J of the triangular factor of M, M^-1 = J'J, which is recomputed after each
change. Updates of M^-1 would lose half of the digits, and those of J by reflections nearly as many: where a row leaves
that another one nearly copies, the inverse shrinks by orders of magnitude.

Few candidates gain, and `Estimate` finds them for a fraction of the cost: e of all validation rows needs no product
with the features (e = K_BW O r - s2 K_BA beta with the residuals r), and the sum over rows may be in single precision;
for u and the pivot, which may not, a part of the rows is enough.
"""

from functools import cached_property
from typing import Any

import numpy as np

from modicum.kernels.projected_process import JITTER, ROUNDING, Solution, jittered
from modicum.numeric.parallel import run_tiles
from modicum.rows import put_values, take
from modicum.rules.invariants import Array
from modicum.select.objectives.logdet import UNSTARTED
from modicum.select.objectives.validated import TILE, Validated, ValidatedBlock

ESTIMATE_PER_CHOSEN, ESTIMATE_ROWS = 3, 600  # rows to estimate u and pivots from, per chosen row and at least
WORTHWHILE = 2  # times as many validation rows pay for the estimate
PROMISING = 4  # at most one candidate in this many is compared exactly


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

    def promising(self, candidates: Any, min_gain: float) -> np.ndarray:
        """The candidates, in their order, of which a swap is estimated to gain `min_gain`; all if that is not cheap."""
        rows, enough = len(self.rows), max(ESTIMATE_ROWS, ESTIMATE_PER_CHOSEN * self.n_chosen)
        if rows < WORTHWHILE * enough:
            return super().promising(candidates, min_gain)
        gains = Estimate(self, rows // enough).swap_gains(candidates)
        best = np.argsort(-gains, kind="stable")[: -(-len(gains) // PROMISING)]
        return np.sort(best[gains[best] > min_gain])

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
    _per_candidate = (*ValidatedBlock._per_candidate, "m", "c", "b", "least")

    def __init__(self, objective: ProjectedError, candidates: Any, y: np.ndarray | None, shared: np.ndarray | None):
        super().__init__(objective, candidates, y, shared)
        F, n, weights = objective, objective.n_chosen, objective.weights
        self.m = np.zeros((len(self.own), F.limit))
        self.m[:, :n] = F.noise * F.kernel(candidates, F.chosen.values) + self._times(F.features.values[:, :n])
        self.c = F.noise * (1 + JITTER) * self.own + np.einsum("bw,bw,w->b", self.to_rows, self.to_rows, weights)
        self.b = self.to_rows @ F.weighted_targets
        self.least = _least_pivots(F, self.own, self.c)
        self.fit = F.fit()

    def _times(self, features: np.ndarray) -> np.ndarray:
        """K_BW O times features (W, .)."""
        out, weights = np.empty((len(self.own), features.shape[1])), self.objective.weights

        def multiply(tile: slice) -> None:
            np.matmul(self.to_rows[tile] * weights, features, out=out[tile])

        run_tiles(multiply, len(self.own), TILE)
        return out

    @cached_property
    def _among(self) -> np.ndarray:
        """K_BW O K_WB: what the candidates add to each other's m."""
        return self._times(self.to_rows.T)

    def add_all(self) -> None:
        F = self.objective
        if F.n_chosen or len(F.rows):
            super().add_all()
            return
        F.chosen.put(np.arange(len(self.own)), self.candidates)
        F.targets = self.targets
        F._compute()

    def _take(self, i: int, slot: int) -> None:
        F, one, n = self.objective, slice(i, i + 1), self.objective.n_chosen
        row, target = take(self.candidates, one), None if self.targets is None else self.targets[one]
        F.fill(slot, row, self.m[i, :n], self.c[i], self.to_rows[i], target)
        self.fit = Solution.of(F.M, put_values(self.fit.b, np.array([slot]), self.b[i : i + 1]))
        self.m[:, slot] = F.noise * F.kernel(self.candidates, row)[:, 0] + self._among[:, i]

    def _gains(self, tile: slice) -> np.ndarray:
        _, pivot, e = self._compare(tile)
        return e**2 / pivot / max(1, len(self.objective.rows))

    def _swap_gains(self, tile: slice) -> np.ndarray:
        half, pivot, e = self._compare(tile)
        return _swap_gains(self.fit, half @ self.fit.J, pivot, e) / max(1, len(self.objective.rows))

    def _compare(self, tile: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """J m, pivot and e of candidates."""
        m = self.m[tile, : self.objective.n_chosen]
        half, pivot = _pivots(self.fit.J, m, self.c[tile], self.least[tile])
        return half, pivot, self.b[tile] - m @ self.fit.beta


class Estimate:
    """Gains of the swaps of candidates, with u and pivots of every `step`-th validation row.

    The errors e are those of all rows: of fewer, they would be mostly noise. Pivots come out a little too small, as the
    chosen rows explain a few rows better than all of them, so that rather too many candidates seem to gain.
    """

    def __init__(self, objective: ProjectedError, step: int):
        F = self.objective = objective
        self.fit = F.fit()
        self.residuals = F.weights * (F.row_targets - F._sample_features @ self.fit.beta)
        self.part = np.arange(0, len(F.rows), step)
        self.weights = F.weights[self.part] * (len(F.rows) / len(self.part))
        self.features = F._sample_features[self.part]
        K = jittered(F.kernel(F.chosen.values, F.chosen.values))
        self.J = Solution.of(_moments(self.features, self.weights) + F.noise * K, np.zeros(len(K))).J

    def swap_gains(self, candidates: Any) -> np.ndarray:
        """The largest gain of each candidate over the rows that it may replace."""
        F = self.objective
        part, own = take(F.rows.values, self.part), F.kernel.diagonal(candidates)
        from_rows = F.kernel.sums(candidates, F.rows.values, self.residuals)
        out = np.empty(len(own))

        def score(tile: slice) -> None:
            some = take(candidates, tile)
            to_part, to_chosen = F.kernel(some, part), F.kernel(some, F.chosen.values)
            weighted = to_part * self.weights
            m = F.noise * to_chosen + weighted @ self.features
            c = F.noise * (1 + JITTER) * own[tile] + np.einsum("bw,bw->b", weighted, to_part)
            half, pivot = _pivots(self.J, m, c, _least_pivots(F, own[tile], c))
            errors = from_rows[tile] - F.noise * (to_chosen @ self.fit.beta)
            out[tile] = _swap_gains(self.fit, half @ self.J, pivot, errors).max(axis=1)

        run_tiles(score, len(own), TILE)
        return out / len(F.rows)


def _least_pivots(F: ProjectedError, own: np.ndarray, c: np.ndarray) -> np.ndarray:
    """What no pivot is smaller than; a row whose kernel values are all zero gains nothing."""
    return np.maximum(np.maximum(F.noise * JITTER * own, ROUNDING * c), np.finfo(float).tiny)


def _pivots(J: np.ndarray, m: np.ndarray, c: np.ndarray, least: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """J m and pivots of candidates."""
    half = m @ J.T
    return half, np.maximum(c - np.einsum("bk,bk->b", half, half), least)


def _swap_gains(fit: Solution, u: np.ndarray, pivot: np.ndarray, e: np.ndarray) -> np.ndarray:
    """What replacing each chosen row by each candidate lowers L by."""
    own, beta = fit.inverse_diagonal, fit.beta
    e = e[:, None] + u * (beta / own)
    return e**2 / (pivot[:, None] + u**2 / own) - beta**2 / own


def _moments(F: np.ndarray, weights: np.ndarray) -> np.ndarray:
    half = F * np.sqrt(weights)[:, None]
    return half.T @ half
