"""Log-determinant F_H: how different the chosen rows are (gomes2010, eq. 3.3; schlegel2017, sections 3 and 4).

    F(S) = log det(K_S + lambda I)

With P the inverse of that matrix, k the kernel values of a candidate x against S, u = P k, v = k(x, x) + lambda - k.u:

    adding x           gains log v
    removing j         gains log P_jj
    replacing j by x   gains log(P_jj v + u_j^2)

so that one product K P of a block of candidates scores all their swaps, O(b^2) per candidate where the papers need
O(b^3) or more. A change of the set updates P and the block's values by rank-one terms.
"""

import copy
from typing import Any

import numpy as np

from modicum._jit import logdet as jit
from modicum.kernels import GIVEN_KERNEL, KERNEL, Kernel, fitted_kernel
from modicum.numeric.linalg import Inverse
from modicum.rows import Rows, RowsOf, n_rows, take
from modicum.rules.invariants import AbsentWhile, Is, Real, Whole
from modicum.rules.params import Number, check_params
from modicum.state.part import Part

UNSTARTED = AbsentWhile(lambda its: "limit" not in its.sizes)  # a specification, without a set
SMALLEST_LEFT = 1e-12  # relative to a row's own kernel value: a smaller variance is rounding error


class LogDet(Part):
    """Log-determinant of the regularized kernel matrix of the chosen rows: their differential entropy, up to constants.

    Submodular; each row adds at least log(regularization), so with a regularization of 1 or more it never falls.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
    regularization : float, default=1.0
        The paper's lambda, added to the diagonal: the noise variance of a Gaussian process.
    """

    needs_validation = False
    needs_targets = False
    monotone_submodular = True  # relative to the least gain of every row
    conditions = ()  # under which it is

    limit: int
    chosen: Rows
    inverse: Inverse

    _invariants = {
        "kernel": GIVEN_KERNEL,
        "regularization": Real(above=0.0),
        "limit": [UNSTARTED, Whole(1)],
        "chosen": [UNSTARTED, RowsOf("n", most="limit")],
        "inverse": [UNSTARTED, Is(Inverse, n="n")],
    }

    def __init__(self, kernel: Any = "rbf", regularization: float = 1.0):
        self.kernel = kernel
        self.regularization = regularization

    def __repr__(self) -> str:
        return f"LogDet({self.kernel!r}, {self.regularization!r})"

    # ---- from a specification to a set -----------------------------------------------------------

    def fitted(self, rows: Any) -> "LogDet":
        """The same objective with a kernel whose parameters come from these rows, where they are not given."""
        check_params(self, vars(self), {"kernel": [KERNEL], "regularization": [Number(0.0, open_ends=True)]})
        return LogDet(fitted_kernel(self.kernel, rows), self.regularization)

    def empty_set(self, like: Any, limit: int, n_validation: int = 0) -> "LogDet":
        """A copy with an empty set for at most `limit` rows such as those of `like`."""
        empty = copy.copy(self)
        empty.limit = limit
        empty.chosen = Rows.like(like, limit)
        empty.inverse = Inverse(limit)
        return empty

    @staticmethod
    def set_bytes(limit: int, n_validation: int, row_bytes: int) -> int:
        """Bytes of a full set: rows, the matrix and its inverse."""
        return limit * row_bytes + 2 * 8 * limit * limit

    # ---- the set ---------------------------------------------------------------------------------

    @property
    def n_chosen(self) -> int:
        return len(self.chosen)

    @property
    def value(self) -> float:
        return self.inverse.log_det

    @property
    def least_gain(self) -> float:
        """The least that any row adds, copies of chosen ones included."""
        return float(np.log(self.regularization))

    def least_loss(self) -> float:
        """The loss of removing the least useful row, beyond a row's least gain."""
        return -float(np.log(self.inverse.inverse.diagonal().max())) - self.least_gain

    def ceiling(self, n_chosen: int, largest_own: float) -> float:
        """What no set of this many rows can exceed, beyond their least gains, if k(x, x) is at most `largest_own`."""
        return n_chosen * float(np.log1p(largest_own / self.regularization))  # Hadamard's inequality

    def share(self, candidates: Any) -> np.ndarray:
        """What several sets that look at the same candidates have in common: kernel values among them."""
        return self.kernel(candidates, candidates)

    def look(self, candidates: Any, y: np.ndarray | None = None, shared: np.ndarray | None = None) -> "LogDetBlock":
        """Prepare candidates; `shared` is what `share` gave for them, if several sets look at them."""
        return LogDetBlock(self, candidates, shared)

    def promising(self, candidates: Any, min_gain: float) -> np.ndarray:
        """The candidates that may gain `min_gain` by a swap: all, as exact gains are cheap."""
        return np.arange(n_rows(candidates))


class LogDetBlock:
    """Candidates with their kernel values against the chosen rows, kept up to date as the set changes.

    A candidate that was chosen has a gain of minus infinity: it is not chosen twice. `to_chosen` are those kernel
    values, where they are known.
    """

    def __init__(
        self, objective: LogDet, candidates: Any, among: np.ndarray | None = None, to_chosen: np.ndarray | None = None
    ):
        kernel: Kernel = objective.kernel
        self.objective = objective
        self.candidates = candidates
        self._among = among
        self._is_chosen = np.zeros(len(among) if among is not None else n_rows(candidates), bool)
        self._own = kernel.diagonal(candidates) + objective.regularization
        self._floor = max(SMALLEST_LEFT * float(self._own.max()), np.finfo(float).tiny)
        n, shape = objective.n_chosen, (len(self._own), objective.limit)
        self.K, self.U, self.v = np.zeros(shape), np.zeros(shape), self._own.copy()
        if n:
            self.K[:, :n] = kernel(candidates, objective.chosen.values) if to_chosen is None else to_chosen
            np.matmul(self.K[:, :n], objective.inverse.inverse, out=self.U[:, :n])
            self.v -= np.einsum("ij,ij->i", self.K[:, :n], self.U[:, :n])

    def gains(self) -> np.ndarray:
        return np.where(self._is_chosen, -np.inf, np.log(np.maximum(self.v, self._floor)))

    def gain(self, i: int) -> float:
        return -np.inf if self._is_chosen[i] else float(np.log(max(self.v[i], self._floor)))

    def swap_gains(self) -> tuple[np.ndarray, np.ndarray]:
        factors, slots = np.empty(len(self.v)), np.empty(len(self.v), np.int64)
        jit.best_swaps(self.U, self.v, self._p(), self._floor, factors, slots)
        return np.where(self._is_chosen, -np.inf, np.log(factors)), slots

    def swap_gain(self, i: int) -> tuple[float, int]:
        slot, factor = jit.best_swap(self.U[i], self.v[i], self._p(), self._floor)
        return -np.inf if self._is_chosen[i] else float(np.log(factor)), int(slot)

    def gains_of(self, candidates: np.ndarray, slots: np.ndarray) -> np.ndarray:
        """The gains of given swaps."""
        factors = self._p()[slots] * np.maximum(self.v[candidates], self._floor) + self.U[candidates, slots] ** 2
        return np.where(self._is_chosen[candidates], -np.inf, np.log(factors))

    def first_swap(self, start: int, min_gain: float) -> tuple[int, int] | None:
        """The first candidate from `start` on with a swap that gains more than `min_gain`, and the swap's slot."""
        i, slot, _ = jit.first_swap(self.U, self.v, self._p(), self._floor, start, np.exp(min_gain))
        return None if i < 0 else (i, slot)

    def add(self, i: int, start: int = 0) -> int:
        """Candidate i joins; returns its slot. Candidates before `start <= i` no longer need scores."""
        F, slot = self.objective, self.objective.n_chosen
        F.inverse.append(self.K[i, :slot], self._own[i])
        self._fill(i, slot, start)
        return slot

    def add_all(self) -> None:
        """All candidates join, in their order."""
        for i in range(len(self.v)):
            self.add(i)

    def swap(self, i: int, slot: int, start: int = 0) -> None:
        """Candidate i replaces the row in `slot`. Candidates before `start <= i` no longer need scores."""
        F = self.objective
        jit.drop_slot(self.U, self.v, F.inverse.inverse[slot].copy(), slot, start)
        F.inverse.swap(slot, self.K[i, : F.n_chosen], self._own[i])
        self._fill(i, slot, start)

    def keep(self, some: np.ndarray) -> None:
        """Drop all other candidates."""
        self.candidates = take(self.candidates, some)
        self._among = None if self._among is None else self._among[np.ix_(some, some)]
        for name in ("_is_chosen", "_own", "K", "U", "v"):
            setattr(self, name, getattr(self, name)[some])

    def _fill(self, i: int, slot: int, start: int) -> None:
        F, row = self.objective, take(self.candidates, slice(i, i + 1))
        F.chosen.put(np.array([slot]), row)
        self._is_chosen[i] = True
        others = slice(start, None)
        similar = F.kernel(row, take(self.candidates, others))[0] if self._among is None else self._among[i, others]
        jit.fill_slot(self.K, self.U, F.n_chosen, self.v, similar, i, slot, self._floor, start)

    def _p(self) -> np.ndarray:
        return np.ascontiguousarray(np.diagonal(self.objective.inverse.inverse))
