"""The dictionary of kernel recursive least squares (engel2004), optionally of a fixed size (vanvaerenbergh2012)."""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from modicum._jit.krls import learn_rows
from modicum.exceptions import DataError
from modicum.kernels import Kernel
from modicum.numeric.linalg import Inverse, Squares
from modicum.rows import Rows, RowsOf, n_rows, put_values, take
from modicum.rules.invariants import LIMIT, Array, Is, Whole
from modicum.state.part import Part

FEWEST_PER_BLOCK, MOST_PER_BLOCK = 128, 1024  # rows; few while rows join, as those are compared with each other
LEAST_NOISE = 1e-10  # relative to that of a typical row and to the variance of a value; smaller ones are raised to it


class Fading(NamedTuple):
    """Values that return to their prior by a factor `decay` before each row: a function that changes over time.

    Values p and q rows later have the covariance decay^((p + q) / 2) (P - prior) + decay^(|p - q| / 2) prior, where P
    is the one of now: that of a Gaussian process whose kernel is multiplied by decay^(|p - q| / 2).
    """

    decay: float
    prior: np.ndarray  # covariance of the prototypes' values before any target is known

    def since(self, count: int) -> np.ndarray:
        """What is left of the means of now at each of the next rows."""
        return self.decay ** (np.arange(1, count + 1) / 2)

    def covariances(self, H: np.ndarray, P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Those of the next rows' values with each other, and with the prototypes' values at the last of these rows."""
        left, places = self.since(len(H))[:, None], np.arange(len(H))
        apart = self.decay ** (np.abs(places[:, None] - places) / 2)
        known, unknown = left * (H @ (P - self.prior)), H @ self.prior
        S = known @ H.T * left.T + apart * (unknown @ H.T)
        return S, left[-1] * known + apart[:, -1:] * unknown


class PrototypeValues(Squares):
    """Posterior mean and covariance of the function's values at the prototypes, in units of the noise variance."""

    _rooms = ("_covariance",)
    _covariance: np.ndarray

    _invariants = {
        "_covariance": Array("float64", "n", "n"),
        "_mean": Array("float64", "n"),
    }

    def __init__(self, limit: int):
        super().__init__(limit)
        self._mean = np.empty(0)

    @property
    def mean(self) -> np.ndarray:
        return self._mean[: self.n]

    @property
    def covariance(self) -> np.ndarray:
        return self._covariance[: self.n, : self.n]

    def observe(self, H: np.ndarray, y: np.ndarray, noise: np.ndarray, fading: "Fading | None" = None) -> None:
        """Condition on targets y, with noise of these variances, of rows that are combinations H of the prototypes."""
        size = max(FEWEST_PER_BLOCK, self.n // 2)  # the matrix of a longer block would cost more than it saves
        for first in range(0, len(H), size):
            block = slice(first, first + size)
            self._observe_block(H[block], y[block], noise[block], fading)

    def _observe_block(self, H: np.ndarray, y: np.ndarray, noise: np.ndarray, fading: "Fading | None") -> None:
        """Recursive least squares on all rows together.

        Without fading: S are the covariances of the rows' values, `crossed` those with the prototypes' values. With it,
        S has those at the times of the rows, and the prototypes' values are those at the last one.
        """
        if fading is None:
            crossed, errors = H @ self.covariance, y - H @ self.mean
            S = crossed @ H.T
        else:
            errors = y - fading.since(len(y)) * (H @ self.mean)
            S, crossed = fading.covariances(H, self.covariance)
            self.fade(fading.decay ** len(y), fading.prior)
        L = np.linalg.cholesky(S + np.diag(np.maximum(noise, LEAST_NOISE * np.diagonal(S))))
        gain = solve_triangular(L, crossed, lower=True, check_finite=False)
        self.mean[:] += gain.T @ solve_triangular(L, errors, lower=True, check_finite=False)
        self.covariance[:] -= gain.T @ gain

    def fade(self, decay: float, prior: np.ndarray) -> None:
        """Return to the prior, which has mean 0 and this covariance (vanvaerenbergh2012)."""
        self.mean[:] *= np.sqrt(decay)
        self.covariance[:] = decay * self.covariance + (1 - decay) * prior

    def information(self, prior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The precision matrix of the targets alone, without that of the prior, and precision times mean."""
        precision = Inverse.of(self.covariance, self.n).inverse
        return precision - prior, precision @ self.mean

    def put(self, mean: np.ndarray, covariance: np.ndarray) -> None:
        self.n = len(mean)
        self._mean, self._covariance = mean, np.ascontiguousarray(covariance)

    def lend(self, more: int) -> tuple[np.ndarray, np.ndarray]:
        """The arrays of mean and covariance, with room for `more` rows, to be changed by the compiled loop."""
        self._make_room(more)
        self._mean = np.concatenate([self.mean, np.empty(len(self._covariance) - self.n)])
        return self._mean, self._covariance

    def _corners(self) -> dict[str, np.ndarray]:
        return super()._corners() | {"_mean": self.mean}


class Rules(NamedTuple):
    """How rows are learned: those with a relative novelty above `novelty` join.

    `regularization` is the variance of noise over that of the signal. Values return to their prior by the factor
    `decay` before each row; 1 is for never.
    """

    novelty: float
    regularization: float
    decay: float


class Dictionary(Part):
    """Prototypes with the inverse of their kernel matrix (the prior) and the posterior of the function's values there.

    Parameters
    ----------
    kernel : Kernel
    like : rows of the kind to be kept
    limit : int
        Most prototypes.
    """

    _invariants = {
        "limit": LIMIT,
        "kernel": Is(Kernel),
        "rows": RowsOf("n"),
        "ids": Array("int64", "n"),
        "prior": Is(Inverse, n="n"),
        "values": Is(PrototypeValues, n="n"),
        "block_size": Whole(FEWEST_PER_BLOCK, MOST_PER_BLOCK),
    }

    def __init__(self, kernel: Kernel, like: Any, limit: int):
        self.limit = limit
        self.kernel = kernel
        self.rows = Rows.like(like, limit)
        self.ids = np.empty(0, np.int64)
        self.prior, self.values = Inverse(limit), PrototypeValues(limit)
        self.block_size = FEWEST_PER_BLOCK

    def __len__(self) -> int:
        return self.prior.n

    @property
    def coef(self) -> np.ndarray:
        """Weights of the prototypes' kernel functions in the posterior mean."""
        return self.prior.inverse @ self.values.mean

    def similarities(self, X: Any) -> np.ndarray:
        """Kernel values of rows against the prototypes."""
        return self.kernel(X, self.rows.values) if len(self.rows) else np.empty((n_rows(X), 0))

    @staticmethod
    def planned_bytes(n_prototypes: int, row_bytes: int) -> int:
        """Bytes held with this many prototypes: rows, ids and means; kernel matrix, inverse and covariance."""
        return n_prototypes * (row_bytes + 2 * 8 + 3 * 8 * n_prototypes)

    # ---- learning --------------------------------------------------------------------------------

    def learn(self, X: Any, y: np.ndarray, noise: np.ndarray, row_ids: np.ndarray, rules: "Rules") -> np.ndarray:
        """Learn rows in their order, block by block.

        `noise` are the variances of centered targets y, relative to that of a typical row. Returns the errors of the
        rows, predicted before their block was learned.
        """
        first, errors = 0, np.empty(len(y))
        while first < n_rows(X):
            block = slice(first, first + self.block_size)
            errors[block], joined = self._learn_block(take(X, block), y[block], noise[block], row_ids[block], rules)
            first += self.block_size
            self.block_size = FEWEST_PER_BLOCK if joined else min(MOST_PER_BLOCK, 2 * self.block_size)
        return errors

    def _learn_block(
        self, X: Any, y: np.ndarray, noise: np.ndarray, row_ids: np.ndarray, rules: "Rules"
    ) -> tuple[np.ndarray, bool]:
        """Learn rows up to the first novel one together, the others one by one.

        Returns the errors of all rows before, and whether any was novel.
        """
        K, own = self.similarities(X), self.kernel.diagonal(X)
        if not np.isfinite(K.sum() + own.sum()):
            raise DataError("KRLS: the kernel has values that are not finite.")
        H = K @ self.prior.inverse
        errors = y - H @ self.values.mean
        novel = np.flatnonzero(own - np.einsum("ij,ij->i", H, K) > rules.novelty * own)
        known = novel[0] if len(novel) else len(y)
        fading = None if rules.decay == 1 else Fading(rules.decay, self.prior.matrix / rules.regularization)
        self.values.observe(H[:known], y[:known], noise[:known], fading)
        if known < len(y):
            rest = slice(known, None)
            rows = take(X, rest)
            holder = self._learn_each(rows, K[rest], own[rest], y[rest], noise[rest], rules)
            taken = np.flatnonzero(holder >= 0)
            self._put(taken, take(rows, holder[taken]), row_ids[rest][holder[taken]])
        return errors, known < len(y)

    def _learn_each(
        self, X: Any, K: np.ndarray, own: np.ndarray, y: np.ndarray, noise: np.ndarray, rules: "Rules"
    ) -> np.ndarray:
        """Learn rows one by one; returns, for each slot, the last row that took it, -1 for none."""
        n = len(self)
        most = min(n + len(y), self.limit)
        M, Q = self.prior.lend(most - n)
        mean, P = self.values.lend(most - n)
        wide = np.zeros((len(y), most))
        wide[:, :n] = K
        holder = np.full(most, -1)
        between = self.kernel(X, X)
        n, log_det = learn_rows(wide, between, own, y, noise, *rules, self.limit, M, Q, P, mean, n, holder)
        self.prior.take_back(n, log_det)
        self.values.n = n
        return holder

    def _put(self, slots: np.ndarray, X: Any, row_ids: np.ndarray) -> None:
        self.rows.put(slots, X)
        self.ids = put_values(self.ids, slots, row_ids)

    def fade(self, factor: float, regularization: float) -> None:
        """Return to the prior by a factor."""
        self.values.fade(factor, self.prior.matrix / regularization)

    def shrink(self, n_prototypes: int) -> None:
        """Remove the prototypes whose values are best predicted by the others."""
        while len(self) > n_prototypes:
            errors = np.abs(self.coef / self.prior.inverse.diagonal())
            left = np.delete(np.arange(len(self)), errors.argmin())
            self.prior.remove(int(errors.argmin()))
            self.values.put(self.values.mean[left], self.values.covariance[np.ix_(left, left)])
            self.rows.keep(left)
            self.ids = self.ids[left]

    # ---- merging ---------------------------------------------------------------------------------

    def merge(
        self, other: "Dictionary", shift: float, scale: float, rules: "Rules", other_regularization: float
    ) -> None:
        """Add up the precisions of both sides' targets, on the prototypes of both.

        `shift` is added to the other's values, and its targets weigh `scale` times as much.
        """
        regularization = rules.regularization
        own_precision, own_sum = self.values.information(regularization * self.prior.inverse)
        precision, sums = other.values.information(other_regularization * other.prior.inverse)
        sums += shift * precision.sum(axis=1)
        n = len(self)
        K = self._join(other.rows.values, other.ids, rules.novelty)
        H = K @ self.prior.inverse  # values at the other's prototypes as combinations of those at all
        joint, total = regularization * self.prior.inverse + scale * H.T @ precision @ H, scale * H.T @ sums
        joint[:n, :n] += own_precision
        total[:n] += own_sum
        covariance = Inverse.of(joint, len(joint)).inverse
        self.values.put(covariance @ total, covariance)
        self.shrink(self.limit)

    def _join(self, X: Any, row_ids: np.ndarray, novelty: float) -> np.ndarray:
        """Let novel rows join, whatever the limit; returns the kernel values of all rows against the dictionary."""
        K, between, own = self.similarities(X), self.kernel(X, X), self.kernel.diagonal(X)
        for i in range(len(own)):
            explained = K[i] @ self.prior.inverse @ K[i]
            if own[i] - explained > novelty * own[i]:
                slot = np.array([len(self)])
                self.prior.append(K[i], own[i])
                self._put(slot, take(X, slice(i, i + 1)), row_ids[i : i + 1])
                K = np.column_stack([K, between[:, i]])
        return K
