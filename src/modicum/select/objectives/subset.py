"""The Gaussian process that has seen only the chosen rows, and the effect of a swap on it at other rows.

gomes2010, Appendix II; rasmussen2006, eq. 2.25 and 2.26. With chosen rows A, P = (K_AA + s2 I)^-1, validation rows W
of weights w, and candidates B:

    G = K_WA P              features of the validation rows: the posterior mean there is G y_A
    U = K_BA P              the same of the candidates
    C = K_WB - G K_AB       posterior covariances of validation rows and candidates
    v = k_BB + s2 - U K_AB  posterior variance of a candidate's target

Without chosen row j these are C + G_j beta' and v_j = v + beta U_j with beta = U_j / P_jj. So the scores of swaps need
only the sums (weighted by w) of G^2, C^2 and C G over the validation rows, and C'G is the only large product.

A block keeps only K_BW: it needs no update when the set changes, and scoring a candidate again costs O(|W| |A|).
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.linalg import blas

from modicum.numeric.linalg import Inverse
from modicum.rows import take
from modicum.rules.invariants import Is
from modicum.select.objectives.logdet import SMALLEST_LEFT, UNSTARTED
from modicum.select.objectives.validated import Validated, ValidatedBlock

DRIFT = 1e-7  # relative to the largest kernel value: features with larger errors are recomputed


@dataclass(frozen=True)
class Comparison:
    """Candidates against chosen and validation rows, in the notation of the module's text."""

    K: np.ndarray  # K_BA, (B, K)
    U: np.ndarray  # (B, K)
    v: np.ndarray  # (B,)
    C: np.ndarray  # (B, W), times the weights of the validation rows
    CC: np.ndarray  # (B,)
    targets: np.ndarray | None  # (B,)


@dataclass(frozen=True)
class Pairs:
    """What swaps need beside a `Comparison`: all (B, K)."""

    beta: np.ndarray
    v: np.ndarray  # variance of the candidate once j is gone
    CG: np.ndarray


class SubsetObjective(Validated):
    """Base of objectives of the posterior at the validation rows. `inverse` is of K_AA + s2 I, `features` are G.

    A subclass writes `value`, `summary`, `gains` and `swap_gains`.
    """

    inverse: Inverse

    _invariants = {
        "inverse": [UNSTARTED, Is(Inverse, n="n")],
    }

    def empty_set(self, like: Any, limit: int, n_validation: int) -> Self:
        empty = super().empty_set(like, limit, n_validation)
        empty.inverse = Inverse(limit)
        return empty

    @classmethod
    def set_bytes(cls, limit: int, n_validation: int, row_bytes: int) -> int:
        return super().set_bytes(limit, n_validation, row_bytes) + 2 * 8 * limit * limit

    def look(self, candidates: Any, y: np.ndarray | None = None, shared: np.ndarray | None = None) -> "SubsetBlock":
        return SubsetBlock(self, candidates, y, shared)

    @abstractmethod
    def summary(self) -> Any:
        """What the scores of all candidates have in common, until the set or the sample changes."""

    @abstractmethod
    def gains(self, summary: Any, B: Comparison) -> np.ndarray:
        """The gain of adding each candidate."""

    @abstractmethod
    def swap_gains(self, summary: Any, B: Comparison) -> np.ndarray:
        """The gain of replacing each chosen row by each candidate, (B, K)."""

    def compare(self, K: np.ndarray, to_rows: np.ndarray, own: np.ndarray, targets: np.ndarray | None) -> Comparison:
        """Candidates with these kernel values against chosen rows, validation rows and themselves."""
        U = K @ self.inverse.inverse
        own = own + self.noise
        v = np.maximum(own - np.einsum("bk,bk->b", U, K), SMALLEST_LEFT * own)
        C = to_rows - K @ self._sample_features.T
        weighted = C * self.shares
        return Comparison(K, U, v, weighted, np.einsum("bw,bw->b", C, weighted), targets)

    def _pair(self, B: Comparison) -> Pairs:
        beta = B.U / self.inverse.inverse.diagonal()
        return Pairs(beta, B.v[:, None] + beta * B.U, B.C @ self._sample_features)

    def _squares(self) -> np.ndarray:
        """GG, the sum of squares of each feature."""
        return np.einsum("wk,wk,w->k", self._sample_features, self._sample_features, self.shares)

    def _features(self, X: Any) -> np.ndarray:
        return self.kernel(X, self.chosen.values) @ self.inverse.inverse

    def fill(self, slot: int, row: Any, k: np.ndarray, to_rows: np.ndarray, own: float, target: Any) -> None:
        """Put a row into `slot`; k and `to_rows` are its kernel values against chosen and validation rows."""
        n, refreshes, G = self.n_chosen, self.inverse.n_refreshes, self._sample_features
        covariance, gone, change = to_rows - G @ k, np.zeros(len(G)), np.zeros((2, self.limit))
        if slot < n:
            change[0, :n] = -self.inverse.inverse[slot] / self.inverse.inverse[slot, slot]
            gone = G[:, slot].copy()
            covariance -= gone * (change[0, :n] @ k)
        if slot < n:
            self.inverse.swap(slot, k, own + self.noise)
        else:
            self.inverse.append(k, own + self.noise)
        self._choose(slot, row, target)
        change[1, : self.n_chosen] = self.inverse.inverse[slot]
        add_outer(self.features.values, np.stack([gone, covariance]), change)
        if self.inverse.n_refreshes > refreshes or self._has_drifted(slot):
            self._sample_features[:] = self._features(self.rows.values)

    def _has_drifted(self, slot: int) -> bool:
        """Whether G (K_AA + s2 I) = K_WA is violated for one chosen row: that in the slot after the given one."""
        other = (slot + 1) % self.n_chosen
        column = self.kernel(self.rows.values, take(self.chosen.values, slice(other, other + 1)))[:, 0]
        error = np.abs(self._sample_features @ self.inverse.matrix[other] - column).max(initial=0.0)
        return bool(error > DRIFT * self.inverse.matrix.diagonal().max())


def add_outer(G: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
    """G += left' right, in place and in one pass over G, which is in C order."""
    if len(G):
        blas.dgemm(1.0, right.T, left, beta=1.0, c=G.T, overwrite_c=True)  # BLAS takes G' as it is


class SubsetBlock(ValidatedBlock):
    """Candidates that are scored on request."""

    _summary: Any = None

    def _take(self, i: int, slot: int) -> None:
        one = slice(i, i + 1)
        target = None if self.targets is None else self.targets[one]
        self.objective.fill(
            slot, take(self.candidates, one), self._to_chosen(one)[0], self.to_rows[i], self.own[i], target
        )
        self._summary = None

    def _gains(self, tile: slice) -> np.ndarray:
        return self.objective.gains(self._summarize(), self._compare(tile))

    def _swap_gains(self, tile: slice) -> np.ndarray:
        return self.objective.swap_gains(self._summarize(), self._compare(tile))

    def _compare(self, tile: slice) -> Comparison:
        targets = None if self.targets is None else self.targets[tile]
        return self.objective.compare(self._to_chosen(tile), self.to_rows[tile], self.own[tile], targets)

    def _to_chosen(self, tile: slice) -> np.ndarray:
        return self.objective.kernel(take(self.candidates, tile), self.objective.chosen.values)

    def _scan(self, work: Any) -> None:
        self._summarize()  # once, before threads need it
        super()._scan(work)

    def _summarize(self) -> Any:
        if self._summary is None:
            self._summary = self.objective.summary()
        return self._summary
