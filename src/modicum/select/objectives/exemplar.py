"""Exemplar objective F_C: how much nearer the rows are to chosen exemplars than to a phantom (gomes2010, eq. 3.6).

    F(A) = sum_i w_i [ d(x0, x_i) - min over c in A + {x0} of d(c, x_i) ]

over a validation sample x_1 .. x_W of the stream with weights that sum to 1. For every validation row the closest two
of the chosen exemplars and the phantom x0 are remembered, and then one scan of a candidate's dissimilarities scores
its joining and all its swaps: O(W) per candidate, where Appendix II of the paper needs O(K W). The scoring of
all swaps in one scan is that of schubert2021 for k-medoids.

A candidate that is itself a validation row (`own` gives its place in the sample) may be kept from standing for itself:
its dissimilarity to itself then counts as infinite. Otherwise rows of the sample look better than they are by what they
spare themselves, and a small sample fills up with exemplars that stand for nobody else.
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
from modicum.rules.invariants import ANYTHING, Array, Each, Is, Real, Sparse
from modicum.state.part import Part

LEAST_BLOCK = 2 * TILE  # enough tiles to keep some threads busy
BLOCK_VALUES = 2**22  # dissimilarities in a block of candidates: 16 MiB in float32


class ExemplarObjective(Part):
    """F_C on a validation sample that may change, for exemplars that may change.

    Slot 0 is the phantom, which never leaves; exemplar j has slot j + 1. `fixed` slots may not leave either.
    `phantom` is a row, or a number: its constant dissimilarity to every row. `like` shows what rows are like.
    """

    _invariants = {
        "dissimilarity": Is(Dissimilarity),
        "phantom": [Real(above=0.0), Array("dtype", 1, "n_features"), Sparse(1, "n_features"), Each(ANYTHING, 1)],
        "rows": RowsOf("n_validation"),
        "chosen": RowsOf("n_chosen", most=lambda its: its["n_slots_in_all"] - 1),
        "shares": Array("float64", "n_validation", low=0.0, high=1.0),
        "phantom_loss": Real(),
        "fixed": Array("bool", "n_slots_in_all"),
        "removal": Array("float64", "n_slots_in_all", finite=False),
        "to_slots": Is(DenseRows, n="n_validation", width="n_slots_in_all", of="of"),
        "near": Array("of", "n_validation"),
        "second": Array("of", "n_validation", finite=False),
        "near_slot": Array("int32", "n_validation", low=0, below="n_slots"),
        "second_slot": Array("int32", "n_validation", low=0, below="n_slots"),
    }

    def __init__(self, dissimilarity: Dissimilarity, phantom: Any, like: Any, n_exemplars: int, n_validation: int):
        dtype = getattr(like, "dtype", np.float64)
        self.dissimilarity = dissimilarity
        self.phantom = phantom
        self.rows = Rows.like(like, n_validation)
        self.chosen = Rows.like(like, n_exemplars)
        self.shares = np.empty(0)
        self.phantom_loss = 0.0  # L({x0}), the loss with no exemplar at all: the most that F_C can be
        self.fixed = np.zeros(n_exemplars + 1, bool)
        self.fixed[0] = True
        self.removal = np.full(n_exemplars + 1, np.inf)
        self.to_slots = DenseRows(dtype, n_exemplars + 1, n_validation)  # (W, slots)
        self.near = np.empty(0, dtype)
        self.second = np.empty(0, dtype)
        self.near_slot = np.empty(0, np.int32)
        self.second_slot = np.empty(0, np.int32)

    @property
    def n_chosen(self) -> int:
        return len(self.chosen)

    @property
    def n_slots(self) -> int:
        return self.n_chosen + 1

    @property
    def value(self) -> float:
        """F_C of the chosen exemplars on the validation sample."""
        return self.phantom_loss - self.loss

    @property
    def loss(self) -> float:
        """L(A + {x0}), the mean dissimilarity of rows to the nearest exemplar or the phantom."""
        return float(self.shares @ self.near.astype(np.float64))

    def least_loss(self) -> float:
        """What F_C loses with the least useful exemplar that may leave; 0 if none may."""
        least = float(self.removal[: self.n_slots].min())
        return least if np.isfinite(least) else 0.0

    def typical(self) -> float:
        """The typical dissimilarity of rows and exemplars, from some of the rows."""
        some = self.to_slots.values[:: max(1, len(self.rows) // 64), 1 : self.n_slots]
        return float(np.median(some[np.isfinite(some)]))

    # ---- the validation sample -------------------------------------------------------------------

    def put_rows(self, slots: np.ndarray, X: Any, shares: np.ndarray) -> None:
        """Rows of X take places in the validation sample, whose weights are now `shares`."""
        if n_rows(X):
            self.rows.put(slots, X)
            width = self.to_slots.values.shape[1]
            to_slots = np.zeros((n_rows(X), width), self.near.dtype)  # zeros: equal states are equal bytes
            to_slots[:, 0] = self.phantom_to(X)
            to_slots[:, 1 : self.n_slots] = self.dissimilarity(self.chosen.values, X).T
            self.to_slots.put(slots, to_slots)
            for name in ("near", "second", "near_slot", "second_slot"):
                column = getattr(self, name)
                setattr(self, name, put_values(column, slots, np.zeros(len(slots), column.dtype)))
            self._find_nearest(slots)
        self._weigh(shares)

    def keep_rows(self, slots: np.ndarray, shares: np.ndarray) -> None:
        """Drop all other rows from the validation sample."""
        self.rows.keep(slots)
        self.to_slots.keep(slots)
        for name in ("near", "second", "near_slot", "second_slot"):
            setattr(self, name, getattr(self, name)[slots])
        self._weigh(shares)

    def move_phantom(self, phantom: Any) -> None:
        """Put the phantom elsewhere."""
        self.phantom = phantom
        self.to_slots.values[:, 0] = self.phantom_to(self.rows.values)
        self._find_nearest(np.arange(len(self.rows)))
        self._weigh(self.shares)

    def phantom_to(self, X: Any) -> Any:
        """Dissimilarity of the phantom to each row."""
        return self.phantom if isinstance(self.phantom, float) else self.dissimilarity(self.phantom, X)[0]

    # ---- candidates ------------------------------------------------------------------------------

    def block_size(self) -> int:
        """Candidates to look at together: their dissimilarities to all validation rows are held at once."""
        return max(LEAST_BLOCK, BLOCK_VALUES // max(1, len(self.rows)) // TILE * TILE)

    def prepare(self) -> "Prepared":
        """What looking at candidates needs of the validation sample, for many blocks while the sample stays."""
        # Rows of one cluster side by side: a candidate concerns few clusters, so the scans' branches are foreseen.
        order = np.argsort(self.near_slot, kind="stable")
        scratch = np.empty((self.block_size(), len(order)), self.near.dtype)
        return Prepared(order, self.dissimilarity.prepare(take(self.rows.values, order)), scratch)

    def look(
        self, candidates: Any, prepared: "Prepared | None" = None, own: np.ndarray | None = None
    ) -> "ExemplarBlock":
        """At most `block_size` candidates; their dissimilarities are computed when first asked for.

        Blocks of one `prepared` share its scratch: the next one ends the last.
        """
        own = np.full(n_rows(candidates), -1) if own is None else own
        return ExemplarBlock(self, candidates, self.prepare() if prepared is None else prepared, own)

    def leave_out_own(self, own: np.ndarray) -> None:
        """Keep the chosen exemplars, which are the validation rows `own` (-1: none), from standing for themselves."""
        chosen = np.flatnonzero(own >= 0)
        self.to_slots.values[own[chosen], chosen + 1] = np.inf
        self._find_nearest(own[chosen])
        self._find_removal_losses()

    def fill(self, slot: int, row: Any, d: np.ndarray, *, fixed: bool = False) -> None:
        """A row with dissimilarities `d` takes `slot`: an old one, or the one after the last."""
        self.chosen.put(np.array([slot - 1]), row)
        self.fixed[slot] = fixed
        found = (self.near, self.second, self.near_slot, self.second_slot)
        jit.fill_slot(self.to_slots.values, self.n_slots, slot, d, *found)
        self._find_removal_losses()

    # ---- caches ----------------------------------------------------------------------------------

    def _weigh(self, shares: np.ndarray) -> None:
        self.shares = shares
        self.phantom_loss = float(shares @ self.to_slots.values[:, 0].astype(np.float64))
        self._find_removal_losses()

    def _find_nearest(self, slots: np.ndarray) -> None:
        found = (self.near, self.second, self.near_slot, self.second_slot)
        jit.two_nearest(self.to_slots.values, self.n_slots, slots, *found)

    def _find_removal_losses(self) -> None:
        jit.removal_losses(self.shares, self.near, self.second, self.near_slot, self.removal)
        self.removal[self.fixed] = np.inf
        self.removal[self.n_slots :] = np.inf


@dataclass(frozen=True)
class Prepared:
    """The validation sample, ready to be looked at."""

    order: np.ndarray  # of validation rows in columns of D
    rows: Any  # prepared by the dissimilarity, in that order
    scratch: np.ndarray  # room for D: fresh pages for every block would cost as much as filling them


def columns_in(order: np.ndarray, slots: np.ndarray) -> np.ndarray:
    """Where the given slots are in an order of all slots; -1 stays -1."""
    place = np.empty(len(order) + 1, np.int64)
    place[order] = np.arange(len(order))
    place[-1] = -1  # found by slot -1
    return place[slots]


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
        self._found = self._in_order()

    def gains(self) -> np.ndarray:
        out = np.empty(len(self.D))
        self._scan(lambda part: self._gains(part, out[part]))
        return out

    def gain(self, i: int) -> float:
        out = np.empty(1)
        self._gains(slice(i, i + 1), out)
        return float(out[0])

    def swap_gains(self) -> tuple[np.ndarray, np.ndarray]:
        gains, slots = np.empty(len(self.D)), np.empty(len(self.D), np.int64)
        self._scan(lambda part: self._best_swaps(part, gains[part], slots[part]))
        return gains, slots

    def swap_gain(self, i: int) -> tuple[float, int]:
        gains, slots = np.empty(1), np.empty(1, np.int64)
        self._best_swaps(slice(i, i + 1), gains, slots)
        return float(gains[0]), int(slots[0])

    def add(self, i: int) -> int:
        slot = self.objective.n_slots
        self.swap(i, slot)
        return slot

    def swap(self, i: int, slot: int) -> None:
        d = np.empty_like(self.D[i])
        d[self._prepared.order] = np.maximum(self.D[i], 0)  # rounding may have left it a little below
        self.objective.fill(slot, take(self.candidates, slice(i, i + 1)), d)
        self._found = self._in_order()

    def _in_order(self) -> tuple[np.ndarray, ...]:
        F = self.objective
        return tuple(column[self._prepared.order] for column in (F.shares, F.near, F.second, F.near_slot))

    def _scan(self, scan: Callable[[slice], None]) -> None:
        """Scan all tiles; the first scan also computes each tile, so that it is read while in cache."""
        filled, self._is_filled = self._is_filled, True

        def work(part: slice) -> None:
            if not filled:
                self.objective.dissimilarity.to(take(self.candidates, part), self._prepared.rows, self.D[part])
                leave_out(self.D[part], self._own_columns[part])
            scan(part)

        run_tiles(work, len(self.D), TILE)

    def _gains(self, part: slice, out: np.ndarray) -> None:
        shares, near, _, _ = self._found
        jit.add_gains(self.D[part], shares, near, out)

    def _best_swaps(self, part: slice, gains: np.ndarray, slots: np.ndarray) -> None:
        shares, near, second, near_slot = self._found
        jit.best_swaps(self.D[part], shares, near, second, near_slot, self.objective.removal, gains, slots)
