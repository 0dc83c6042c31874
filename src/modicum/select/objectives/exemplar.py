"""Exemplar objective F_C: how much nearer the rows are to chosen exemplars than to a phantom (gomes2010, eq. 3.6).

    F(A) = sum_i w_i [ d(x0, x_i) - min over c in A + {x0} of d(c, x_i) ]

over a validation sample x_1 .. x_W of the stream with weights that sum to 1. The two nearest centers (exemplars or the
phantom x0) of every validation row are cached. One scan of a candidate's dissimilarities then scores its addition and
all its swaps: O(W) per candidate, where Appendix II of the paper needs O(K W). Scoring all swaps in one scan is due to
schubert2021, for k-medoids.

A candidate that is itself a validation row (`own` is its slot in the sample) can be excluded from representing itself:
its dissimilarity to itself then counts as infinite. Otherwise rows of the sample look better than they are, since they
represent themselves at no cost, and a small sample fills up with exemplars that represent no other row.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum._jit import exemplar as jit
from modicum.kernels import Dissimilarity
from modicum.kernels.dissimilarity import TILE
from modicum.numeric.parallel import run_tiles
from modicum.rows import DenseRows, Rows, RowsOf, n_rows, put_values, take
from modicum.rules.invariants import ANYTHING, Array, Each, Is, Real, Scope, Sparse
from modicum.state.part import Part

LEAST_CANDIDATES = 2 * TILE  # per block: enough tiles to keep some threads busy
BLOCK_VALUES = 2**22  # dissimilarities in a block of candidates: 16 MiB in float32
CACHES = ("near", "second", "near_center", "second_center")


def _n_centers(scope: Scope) -> int:
    return scope["n_exemplars"] + 1


class ExemplarObjective(Part):
    """F_C on a validation sample that may change, for exemplars that may change.

    Exemplars have slots 0 .. n_chosen - 1; `fixed` ones may not be swapped out. `phantom` is a row, or a number: its
    dissimilarity to every row. `like` is an example of the rows.

    Caches and compiled loops count centers: center 0 is the phantom, center j + 1 is the exemplar in slot j.
    """

    _invariants = {
        "dissimilarity": Is(Dissimilarity),
        "phantom": [Real(above=0.0), Array("dtype", 1, "n_features"), Sparse(1, "n_features"), Each(ANYTHING, 1)],
        "rows": RowsOf("n_validation"),
        "chosen": RowsOf("n_chosen", most="n_exemplars"),
        "shares": Array("float64", "n_validation", low=0.0, high=1.0),
        "phantom_loss": Real(),
        "fixed": Array("bool", "n_exemplars"),
        "removal": Array("float64", _n_centers, finite=False),
        "to_centers": Is(DenseRows, n="n_validation", width=_n_centers, of="of"),
        "near": Array("of", "n_validation"),
        "second": Array("of", "n_validation", finite=False),
        "near_center": Array("int32", "n_validation", low=0, below="n_centers"),
        "second_center": Array("int32", "n_validation", low=0, below="n_centers"),
    }

    def __init__(self, dissimilarity: Dissimilarity, phantom: Any, like: Any, n_exemplars: int, n_validation: int):
        dtype = getattr(like, "dtype", np.float64)
        self.dissimilarity = dissimilarity
        self.phantom = phantom
        self.rows = Rows.like(like, n_validation)
        self.chosen = Rows.like(like, n_exemplars)
        self.shares = np.empty(0)
        self.phantom_loss = 0.0  # L({x0}), the loss without exemplars: an upper bound of F_C
        self.fixed = np.zeros(n_exemplars, bool)
        self.removal = np.full(n_exemplars + 1, np.inf)
        self.to_centers = DenseRows(dtype, n_exemplars + 1, n_validation)  # (W, centers)
        self.near = np.empty(0, dtype)
        self.second = np.empty(0, dtype)
        self.near_center = np.empty(0, np.int32)
        self.second_center = np.empty(0, np.int32)

    @property
    def n_chosen(self) -> int:
        return len(self.chosen)

    @property
    def n_missing(self) -> int:
        """Free slots."""
        return len(self.fixed) - self.n_chosen

    @property
    def n_centers(self) -> int:
        return self.n_chosen + 1

    @property
    def value(self) -> float:
        """F_C of the chosen exemplars on the validation sample."""
        return self.phantom_loss - self.loss

    @property
    def loss(self) -> float:
        """L(A + {x0}), the mean dissimilarity of rows to the nearest exemplar or the phantom."""
        return float(self.shares @ self.near.astype(np.float64))

    @property
    def to_phantom(self) -> np.ndarray:
        """Dissimilarity of the phantom to each validation row."""
        return self.to_centers.values[:, 0]

    @property
    def to_exemplars(self) -> np.ndarray:
        """Dissimilarities, validation rows x exemplars; infinite where an exemplar does not represent its own row."""
        return self.to_centers.values[:, 1 : self.n_centers]

    @property
    def removal_losses(self) -> np.ndarray:
        """By how much F_C falls without each exemplar; infinite for fixed ones."""
        return self.removal[1 : self.n_centers]

    def least_loss(self) -> float:
        """By how much F_C falls without the least useful exemplar that is not fixed; 0 if all are."""
        least = float(self.removal_losses.min(initial=np.inf))
        return least if np.isfinite(least) else 0.0

    def typical(self) -> float:
        """The median dissimilarity of rows and exemplars, over some of the rows."""
        some = self.to_exemplars[:: max(1, len(self.rows) // 64)]
        return float(np.median(some[np.isfinite(some)]))

    def nearest_exemplar(self) -> np.ndarray:
        """Dissimilarity of each validation row to its nearest exemplar, which may be the row itself."""
        found = self.to_exemplars.min(axis=1, initial=np.inf).astype(np.float64)
        own = np.flatnonzero(np.isinf(self.to_exemplars).any(axis=1))
        if len(own):
            found[own] = self.dissimilarity(self.chosen.values, take(self.rows.values, own)).min(axis=0)
        return found

    # ---- the validation sample -------------------------------------------------------------------

    def put_rows(self, slots: np.ndarray, X: Any, shares: np.ndarray) -> None:
        """Put rows of X into slots of the validation sample, whose weights are now `shares`."""
        if n_rows(X):
            self.rows.put(slots, X)
            width = self.to_centers.values.shape[1]
            to_centers = np.zeros((n_rows(X), width), self.near.dtype)  # zeros: equal states are equal bytes
            to_centers[:, 0] = self.phantom_to(X)
            to_centers[:, 1 : self.n_centers] = self.dissimilarity(self.chosen.values, X).T
            self.to_centers.put(slots, to_centers)
            for name in CACHES:
                column = getattr(self, name)
                setattr(self, name, put_values(column, slots, np.zeros(len(slots), column.dtype)))
            self._find_nearest(slots)
        self._weigh(shares)

    def keep_rows(self, slots: np.ndarray, shares: np.ndarray) -> None:
        """Drop all other rows from the validation sample."""
        self.rows.keep(slots)
        self.to_centers.keep(slots)
        for name in CACHES:
            setattr(self, name, getattr(self, name)[slots])
        self._weigh(shares)

    def move_phantom(self, phantom: Any) -> None:
        """Replace the phantom by another row or number."""
        self.phantom = phantom
        self.to_phantom[:] = self.phantom_to(self.rows.values)
        self._find_nearest(np.arange(len(self.rows)))
        self._weigh(self.shares)

    def phantom_to(self, X: Any) -> Any:
        """Dissimilarity of the phantom to each row."""
        return self.phantom if isinstance(self.phantom, int | float) else self.dissimilarity(self.phantom, X)[0]

    # ---- candidates ------------------------------------------------------------------------------

    def block_size(self) -> int:
        """Candidates per block: their dissimilarities to all validation rows are held together."""
        return max(LEAST_CANDIDATES, BLOCK_VALUES // max(1, len(self.rows)) // TILE * TILE)

    def prepare(self) -> "Prepared":
        """The validation sample as blocks of candidates need it; valid while the sample stays the same."""
        # Rows of one cluster side by side: a candidate concerns few clusters, so branches of the scans are predicted.
        order = np.argsort(self.near_center, kind="stable")
        scratch = np.empty((self.block_size(), len(order)), self.near.dtype)
        return Prepared(order, self.dissimilarity.prepare(take(self.rows.values, order)), scratch)

    def look(
        self, candidates: Any, prepared: "Prepared | None" = None, own: np.ndarray | None = None
    ) -> "ExemplarBlock":
        """At most `block_size` candidates; their dissimilarities are computed when first needed.

        Blocks with the same `prepared` share its scratch memory: a new block invalidates the one before.
        """
        own = np.full(n_rows(candidates), -1) if own is None else own
        return ExemplarBlock(self, candidates, self.prepare() if prepared is None else prepared, own)

    def leave_out_own(self, own: np.ndarray) -> None:
        """Keep exemplars from representing themselves; `own` are their slots in the validation sample, -1: none."""
        chosen = np.flatnonzero(own >= 0)
        self.to_exemplars[own[chosen], chosen] = np.inf
        self._find_nearest(own[chosen])
        self._find_removal_losses()

    def fill(self, slot: int, row: Any, d: np.ndarray, *, fixed: bool = False) -> None:
        """Put a row with dissimilarities `d` into `slot`: one in use, or the next free one."""
        self.chosen.put(np.array([slot]), row)
        self.fixed[slot] = fixed
        jit.fill_center(self.to_centers.values, self.n_centers, slot + 1, d, *self._caches())
        self._find_removal_losses()

    # ---- caches ----------------------------------------------------------------------------------

    def _caches(self) -> tuple[np.ndarray, ...]:
        return self.near, self.second, self.near_center, self.second_center

    def _weigh(self, shares: np.ndarray) -> None:
        self.shares = shares
        self.phantom_loss = float(shares @ self.to_phantom.astype(np.float64))
        self._find_removal_losses()

    def _find_nearest(self, rows: np.ndarray) -> None:
        jit.two_nearest(self.to_centers.values, self.n_centers, rows, *self._caches())

    def _find_removal_losses(self) -> None:
        jit.removal_losses(self.shares, self.near, self.second, self.near_center, self.removal)
        self.removal[0] = np.inf
        self.removal[1:][self.fixed] = np.inf
        self.removal[self.n_centers :] = np.inf


@dataclass(frozen=True)
class Prepared:
    """The validation sample, prepared for comparisons with candidates."""

    order: np.ndarray  # of validation rows in columns of D
    rows: Any  # prepared by the dissimilarity, in that order
    scratch: np.ndarray  # room for D: allocating pages for every block would cost as much as filling them


def columns_in(order: np.ndarray, slots: np.ndarray) -> np.ndarray:
    """Columns of the given slots in an order of all slots; -1 stays -1."""
    columns = np.empty(len(order) + 1, np.int64)
    columns[order] = np.arange(len(order))
    columns[-1] = -1  # of slot -1
    return columns[slots]


def leave_out(D: np.ndarray, columns: np.ndarray) -> None:
    """Make D infinite where a candidate meets itself."""
    candidates = np.flatnonzero(columns >= 0)
    D[candidates, columns[candidates]] = np.inf


class ExemplarBlock:
    """Candidates with their dissimilarities D (candidates x validation rows, in the prepared order)."""

    def __init__(self, objective: ExemplarObjective, candidates: Any, prepared: Prepared, own: np.ndarray):
        self.objective = objective
        self.candidates = candidates
        self._own_columns = columns_in(prepared.order, own)
        self.D = prepared.scratch[: n_rows(candidates)]
        self._prepared = prepared
        self._is_filled = False
        self._caches = self._caches_in_order()

    def gains(self) -> np.ndarray:
        out = np.empty(len(self.D))
        self._scan(lambda tile: self._gains(tile, out[tile]))
        return out

    def gain(self, i: int) -> float:
        out = np.empty(1)
        self._gains(slice(i, i + 1), out)
        return float(out[0])

    def swap_gains(self) -> tuple[np.ndarray, np.ndarray]:
        gains, centers = np.empty(len(self.D)), np.empty(len(self.D), np.int64)
        self._scan(lambda tile: self._best_swaps(tile, gains[tile], centers[tile]))
        return gains, centers - 1

    def swap_gain(self, i: int) -> tuple[float, int]:
        gains, centers = np.empty(1), np.empty(1, np.int64)
        self._best_swaps(slice(i, i + 1), gains, centers)
        return float(gains[0]), int(centers[0]) - 1

    def gains_of(self, candidates: np.ndarray, slots: np.ndarray) -> np.ndarray:
        """The gains of given swaps; `swap_gains` must have been called before."""
        shares, near, second, near_center = self._caches
        out = np.full(len(candidates), -np.inf)
        for slot in np.unique(slots):
            if not self.objective.fixed[slot]:
                own = np.flatnonzero(slots == slot)
                without = np.where(near_center == slot + 1, second, near)
                out[own] = (near - np.minimum(self.D[candidates[own]], without)).astype(np.float64) @ shares
        return out

    def add(self, i: int) -> int:
        slot = self.objective.n_chosen
        self.swap(i, slot)
        return slot

    def swap(self, i: int, slot: int) -> None:
        d = np.empty_like(self.D[i])
        d[self._prepared.order] = np.maximum(self.D[i], 0)  # rounding may have left it slightly negative
        self.objective.fill(slot, take(self.candidates, slice(i, i + 1)), d)
        self._caches = self._caches_in_order()

    def _caches_in_order(self) -> tuple[np.ndarray, ...]:
        F = self.objective
        return tuple(column[self._prepared.order] for column in (F.shares, F.near, F.second, F.near_center))

    def _scan(self, scan: Callable[[slice], None]) -> None:
        """Scan all tiles; the first scan also computes each tile, so that it is read while in cache."""
        filled, self._is_filled = self._is_filled, True

        def work(tile: slice) -> None:
            if not filled:
                self.objective.dissimilarity.to(take(self.candidates, tile), self._prepared.rows, self.D[tile])
                leave_out(self.D[tile], self._own_columns[tile])
            scan(tile)

        run_tiles(work, len(self.D), TILE)

    def _gains(self, tile: slice, out: np.ndarray) -> None:
        shares, near, _, _ = self._caches
        jit.add_gains(self.D[tile], shares, near, out)

    def _best_swaps(self, tile: slice, gains: np.ndarray, centers: np.ndarray) -> None:
        shares, near, second, near_center = self._caches
        jit.best_swaps(self.D[tile], shares, near, second, near_center, self.objective.removal, gains, centers)
