"""Objectives of a Gaussian process that are estimated on a validation sample: what they share (gomes2010, section 4).

An objective holds the chosen rows A and a validation sample W of the stream. For every validation row it keeps a
vector of `features` with one entry per chosen row, so that a block of candidates B costs one product of its kernel
values K_BW with them: O(|W| |A|) per candidate for all its swaps together, where Appendix II of the paper needs
O(|W| |A|^2).
"""

import copy
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from modicum.kernels import GIVEN_KERNEL, KERNEL, fitted_kernel
from modicum.numeric.parallel import run_tiles
from modicum.rows import DenseRows, Rows, RowsOf, n_rows, put_values, take
from modicum.rules.invariants import Array, Is, Real, Whole
from modicum.rules.params import NULL, Number, check_params
from modicum.select.objectives.logdet import UNSTARTED
from modicum.state.part import Part

TILE = 64  # candidates that a thread scores together


class Validated(Part):
    """Base of the objectives. A subclass writes `value`, `look` and `_features`.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
    noise : float, default=0.1
        Variance of the noise of targets around the function that is learned.
    """

    needs_validation = True
    needs_targets = False
    monotone_submodular = False
    least_gain = 0.0  # the least that any row adds

    limit: int
    chosen: Rows
    targets: np.ndarray | None
    rows: Rows
    row_targets: np.ndarray | None
    shares: np.ndarray
    features: DenseRows

    _invariants = {
        "kernel": GIVEN_KERNEL,
        "noise": Real(above=0.0),
        "limit": [UNSTARTED, Whole(1)],
        "chosen": [UNSTARTED, RowsOf("n", most="limit")],
        "rows": [UNSTARTED, RowsOf("n_validation")],
        "shares": [UNSTARTED, Array("float64", "n_validation", low=0.0, high=1.0)],
        "features": [UNSTARTED, Is(DenseRows, n="n_validation", width="limit", of=lambda _: "float64")],
        "targets": [UNSTARTED, NULL, Array("float64", "n")],
        "row_targets": [UNSTARTED, NULL, Array("float64", "n_validation")],
    }

    def __init__(self, kernel: Any = "rbf", noise: float = 0.1):
        self.kernel = kernel
        self.noise = noise

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.kernel!r}, {self.noise!r})"

    # ---- from a specification to a set -----------------------------------------------------------

    def fitted(self, rows: Any) -> Self:
        """The same objective with a kernel whose parameters come from these rows, where they are not given."""
        check_params(self, vars(self), {"kernel": [KERNEL], "noise": [Number(0.0, open_ends=True)]})
        return type(self)(fitted_kernel(self.kernel, rows), self.noise)

    def empty_set(self, like: Any, limit: int, n_validation: int) -> Self:
        """A copy with an empty set for at most `limit` rows such as those of `like`, and for validation rows."""
        empty = copy.copy(self)
        empty.limit = limit
        empty.chosen = Rows.like(like, limit)
        empty.rows = Rows.like(like, n_validation)
        empty.shares = np.empty(0)
        empty.features = DenseRows(np.float64, limit, n_validation)
        empty.targets = empty.row_targets = np.empty(0) if self.needs_targets else None
        return empty

    @classmethod
    def set_bytes(cls, limit: int, n_validation: int, row_bytes: int) -> int:
        """Bytes of a full set: rows with their targets, and features."""
        row = row_bytes + (8 if cls.needs_targets else 0)
        return limit * row + n_validation * (row + 8 * limit)

    # ---- the set ---------------------------------------------------------------------------------

    @property
    def n_chosen(self) -> int:
        return len(self.chosen)

    @property
    @abstractmethod
    def value(self) -> float: ...

    def share(self, candidates: Any) -> np.ndarray:
        """What several sets that look at the same candidates have in common: kernel values to the validation rows."""
        return self.kernel(candidates, self.rows.values)  # (B, W)

    @abstractmethod
    def look(self, candidates: Any, y: np.ndarray | None = None, shared: np.ndarray | None = None) -> "ValidatedBlock":
        """Prepare candidates; `shared` is what `share` gave for them, if several sets look at them."""

    def promising(self, candidates: Any, min_gain: float) -> np.ndarray:
        """The candidates that may gain `min_gain` by a swap: all, unless a subclass knows better."""
        return np.arange(n_rows(candidates))

    @property
    def _sample_features(self) -> np.ndarray:
        """Features of the validation rows (W, K); a view."""
        return self.features.values[:, : self.n_chosen]

    @abstractmethod
    def _features(self, X: Any) -> np.ndarray:
        """The features of rows of X, given the chosen rows."""

    def _choose(self, slot: int, row: Any, target: np.ndarray | None) -> None:
        """Put a chosen row into `slot`, an old one or the one after the last."""
        self.chosen.put(np.array([slot]), row)
        if self.targets is not None and target is not None:
            self.targets = put_values(self.targets, np.array([slot]), target)

    # ---- the validation sample -------------------------------------------------------------------

    def put_rows(self, slots: np.ndarray, X: Any, shares: np.ndarray, y: np.ndarray | None = None) -> None:
        """Put rows of X into slots of the validation sample, whose weights, with sum 1, are now `shares`."""
        if n_rows(X):
            features = np.zeros((n_rows(X), self.limit))  # zeros: equal states are equal bytes
            features[:, : self.n_chosen] = self._features(X)
            self.rows.put(slots, X)
            self.features.put(slots, features)
            if self.row_targets is not None and y is not None:
                self.row_targets = put_values(self.row_targets, slots, y.astype(np.float64))
        self.shares = shares

    def keep_rows(self, slots: np.ndarray, shares: np.ndarray) -> None:
        """Drop all other rows from the validation sample."""
        self.rows.keep(slots)
        self.features.keep(slots)
        self.row_targets = None if self.row_targets is None else self.row_targets[slots]
        self.shares = shares

    def shift_targets(self, by: float) -> None:
        """Add a number to all targets."""
        assert self.targets is not None
        assert self.row_targets is not None
        self.targets = self.targets + by
        self.row_targets = self.row_targets + by


class ValidatedBlock:
    """Candidates with their kernel values against the validation rows.

    A candidate that was chosen is not chosen again: a copy of it would count as another observation. A subclass writes
    `_take`, and scores some of the candidates: `_gains` (B,) and `_swap_gains` (B, K).
    """

    _per_candidate: tuple[str, ...] = ("to_rows", "own", "_chosen")  # arrays

    def __init__(self, objective: Any, candidates: Any, y: np.ndarray | None, shared: np.ndarray | None):
        self.objective = objective
        self.candidates = candidates
        self.targets = y.astype(np.float64) if objective.needs_targets and y is not None else None
        self.to_rows = objective.share(candidates) if shared is None else shared
        self.own = objective.kernel.diagonal(candidates)
        self._chosen = np.zeros(len(self.own), bool)

    def gains(self) -> np.ndarray:
        out = np.empty(len(self.own))
        self._scan(lambda tile: out.__setitem__(tile, self._gains(tile)))
        out[self._chosen] = -np.inf
        return out

    def gain(self, i: int) -> float:
        return -np.inf if self._chosen[i] else float(self._gains(slice(i, i + 1))[0])

    def swap_gains(self) -> tuple[np.ndarray, np.ndarray]:
        best, slots = np.empty(len(self.own)), np.empty(len(self.own), np.int64)

        def note(tile: slice) -> None:
            gains = self._swap_gains(tile)
            slots[tile] = gains.argmax(axis=1)
            best[tile] = gains.max(axis=1)

        self._scan(note)
        best[self._chosen] = -np.inf
        return best, slots

    def swap_gain(self, i: int) -> tuple[float, int]:
        gains = self._swap_gains(slice(i, i + 1))[0]
        slot = int(gains.argmax())
        return -np.inf if self._chosen[i] else float(gains[slot]), slot

    def gains_of(self, candidates: np.ndarray, slots: np.ndarray) -> np.ndarray:
        """The gains of given swaps."""
        gains = [self._swap_gains(slice(i, i + 1))[0, slot] for i, slot in zip(candidates, slots, strict=True)]
        return np.where(self._chosen[candidates], -np.inf, np.array(gains))

    def add(self, i: int, start: int = 0) -> int:
        """Candidate i joins; returns its slot. Candidates before `start` no longer need scores."""
        slot = self.objective.n_chosen
        self.swap(i, slot)
        return slot

    def add_all(self) -> None:
        """All candidates join, in their order."""
        for i in range(len(self.own)):
            self.add(i)

    def swap(self, i: int, slot: int) -> None:
        """Candidate i takes a slot: that of a chosen row, or the one after the last."""
        self._take(i, slot)
        self._chosen[i] = True

    def keep(self, some: np.ndarray) -> None:
        """Drop all other candidates."""
        self.candidates = take(self.candidates, some)
        self.targets = None if self.targets is None else self.targets[some]
        for name in self._per_candidate:
            setattr(self, name, getattr(self, name)[some])

    def _take(self, i: int, slot: int) -> None:
        raise NotImplementedError

    def _gains(self, tile: slice) -> np.ndarray:
        raise NotImplementedError

    def _swap_gains(self, tile: slice) -> np.ndarray:
        raise NotImplementedError

    def _scan(self, work: Callable[[slice], Any]) -> None:
        """Run `work` on tiles of candidates, in all threads."""
        run_tiles(work, len(self.own), TILE)
