"""What all selectors share: buffered first rows, a chosen set, and features made from it.

schlegel2017, section 2: the similarities of a row to the chosen prototypes are its representation.
"""

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from modicum.contract.history import History
from modicum.contract.learner import Learner, Traits
from modicum.contract.picks import Picks
from modicum.contract.validation import check_same_kind
from modicum.exceptions import DataError, StateError
from modicum.kernels import Kernel, may_fail, takes_objects
from modicum.numeric.parallel import run_tiles
from modicum.rows import Waiting, average_bytes, equal_rows, n_rows, put_values, take
from modicum.rules.budget import Plan, as_budget, format_bytes
from modicum.rules.invariants import MOST, AbsentWhile, Array, Is, Real, Whole
from modicum.rules.params import BUDGET, NULL, Int
from modicum.select.sizes import sizes_within
from modicum.state.packing import held_bytes, missing_functions

TRANSFORM_TILE = 2048  # rows per tile when all rows are compared with all prototypes
BUFFERING = AbsentWhile(lambda its: its["_buffered"] is not None)  # there is no set yet
FIXED_BYTES = 512 * 3 * 8 + 2048  # the history and all scalars
SET_SCALARS = 256  # bytes of the scalars of one set
TARGET_BYTES = 8  # planned for, whether targets come or not: a plan does not know


class Selector(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Learner):
    """Base of the selectors. A subclass writes `_objective`, `_offer`, `_plan_parts` and what else differs.

    The first `n_prototypes` rows are buffered: the width of a kernel may have to be found from them, and until then all
    of them are chosen. Afterwards `_F` is the objective with the chosen set. Weights count where rows validate; a
    candidate is a candidate, however often it was seen.
    """

    traits = Traits(merge="approximate", weights=True, sparse=True, objects=True)
    _constraints = {"n_prototypes": [NULL, Int(1)], "budget": [NULL, BUDGET]}
    _invariants = {
        "_limit": Whole(lambda its: its["n_prototypes"] or 1, lambda its: its["n_prototypes"] or MOST),
        "_buffered": [NULL, Is(Waiting, at_most={"n": "_limit"})],
        "_targets": [NULL, Array(None, lambda its: its.owner._n_targets(), finite=False)],
        "_history": Is(History, width=3),
        "n_swaps_": Whole(),
        "_ids": [BUFFERING, Array("int64", "_limit")],
        "_largest_own": [BUFFERING, Real(0.0)],
    }

    _limit: int  # prototypes at most
    _buffered: Waiting | None
    _F: Any
    _ids: np.ndarray
    _targets: np.ndarray | None
    _largest_own: float  # the largest k(x, x) of the rows seen

    # ---- learning --------------------------------------------------------------------------------

    def _objective(self) -> Any:
        """The objective as the parameters specify it, without a set."""
        raise NotImplementedError

    def _offer(self, X: Any, y: np.ndarray | None, row_ids: np.ndarray, n_seen: int) -> None:
        """Offer rows as candidates. The first call has at least as many as are to be chosen.

        `n_seen` is how many rows of the stream have been seen after these, for the history: `n_seen_` may count some of
        them already, if they were buffered, or none of those of a learner being merged.
        """
        raise NotImplementedError

    def _learn_rows(self, X: Any, y: Any, weight: np.ndarray | None, row_ids: np.ndarray, n_seen: int) -> None:
        """Learn rows once the set has been initialized; `n_seen` as in `_offer`."""
        self._offer_unchosen(X, y, row_ids, n_seen)

    def _offer_unchosen(self, X: Any, y: np.ndarray | None, row_ids: np.ndarray, n_seen: int) -> None:
        """Offer rows, without those that an earlier pass has chosen already."""
        self._largest_own = max(self._largest_own, float(self._sets()[0].kernel.diagonal(X).max()))
        new = ~self._are_chosen(X, row_ids)
        if new.all():
            self._offer(X, y, row_ids, n_seen)
        elif new.any():
            self._offer(take(X, np.flatnonzero(new)), None if y is None else y[new], row_ids[new], n_seen)

    def _are_chosen(self, X: Any, row_ids: np.ndarray) -> np.ndarray:
        """Whether rows are chosen already: the same id and the same row. Shards may use one id for different rows."""
        ids = self.prototype_ids_
        order = np.argsort(ids)
        position = np.searchsorted(ids, row_ids, sorter=order)
        found = np.append(order, -1)[np.minimum(position, len(order))]
        known = np.flatnonzero((found >= 0) & (np.append(ids, -1)[found] == row_ids))
        out = np.zeros(len(row_ids), bool)
        if len(known):
            out[known] = equal_rows(take(X, known), take(self.prototypes_, found[known]))
        return out

    def _check_params(self) -> None:
        super()._check_params()
        if self.n_prototypes is None and self.budget is None:
            raise ValueError(
                f"{type(self).__name__}: n_prototypes is None, for as many as the budget allows, and there is no "
                'budget. Give one of them: n_prototypes=200 or budget="1 MiB".'
            )

    def _check_chunk(self, X: Any, y: np.ndarray | None) -> None:
        if self._is_fitted() and (y is None) != (self._targets is None):
            raise DataError(f"{type(self).__name__}: either all chunks come with targets or none does.")

    def _learn(self, X: Any, y: np.ndarray | None, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        if not hasattr(self, "_limit"):
            self._objective().fitted(X)  # parameters and rows that it refuses are reported now and not later
            self._set_sizes(average_bytes(X) + max(TARGET_BYTES, 0 if y is None else y.itemsize))
            self._buffered = Waiting(X, y, self._limit)
            self._targets = None if y is None else y[:0]
            self._history = History("n_seen", "value", "swaps")
            self.n_swaps_ = 0
        if self._buffered is not None and len(self._buffered.ids) + n_rows(X) < self._limit:
            self._objective().fitted(X).kernel.diagonal(X)  # rows that the kernel can't take are refused as they come
            self._buffered.append(X, y, weight, row_ids)
        else:
            n_seen = self.n_seen_ + n_rows(X)
            if self._buffered is not None:
                X, y, weight, row_ids = self._initialize_with(self._buffered, X, y, weight, row_ids)
            self._learn_rows(X, y, weight, row_ids, n_seen)
        self._check_budget()

    def _initialize_with(self, buffered: Waiting, X: Any, y: Any, weight: Any, row_ids: np.ndarray) -> tuple[Any, ...]:
        """Initialize the set; returns the buffered rows and the new ones together."""
        if len(buffered.ids):
            buffered.append(X, y, weight, row_ids)
            X, y, weight, row_ids = buffered.rows.values, buffered.targets, buffered.weights, buffered.ids
        self._initialize(X)
        self._buffered = None
        return X, y, weight, row_ids

    def _initialize(self, X: Any) -> None:
        """Set up with nothing chosen, for rows such as X."""
        self._F = self._empty(X)
        self._ids = np.full(self._limit, -1)
        self._largest_own = 0.0

    def _empty(self, X: Any) -> Any:
        """An empty set for rows such as X, its kernel fitted to them."""
        return self._objective().fitted(X).empty_set(X, self._limit)

    def _record(self, slot: int, row_id: int, target: Any) -> None:
        """Record the id and the target of the row in a slot."""
        self._ids[slot] = row_id
        if self._targets is not None:
            self._targets = put_values(self._targets, np.array([slot]), np.array([target]))

    # ---- budget ----------------------------------------------------------------------------------

    def plan(self, n_features: int, dtype: Any = np.float64) -> Plan:
        """What will be held for dense rows of `n_features` columns, in bytes, before any data is seen."""
        self._check_params()
        row_bytes = n_features * np.dtype(dtype).itemsize + TARGET_BYTES
        sizes = self._sizes(row_bytes)
        return Plan.of(self._planned_rows(*sizes), **self._plan_parts(*sizes, row_bytes))

    def _set_sizes(self, row_bytes: int) -> None:
        """Fix how many rows of such a size, targets included, are kept."""
        self._limit, _ = self._sizes(row_bytes)

    def _sizes(self, row_bytes: int, n_validation: int | None = 0, useful: int = 0) -> tuple[int, int]:
        """Numbers of prototypes and of validation rows."""
        budget = as_budget(self.budget)

        def held(n_chosen: int, n_validation: int) -> int:
            if budget.rows is not None:
                return self._planned_rows(n_chosen, n_validation)
            return sum(self._plan_parts(n_chosen, n_validation, row_bytes).values())

        return sizes_within(
            budget,
            held,
            n_prototypes=self.n_prototypes,
            n_validation=n_validation,
            useful=useful,
            what=f"{type(self).__name__} for rows of {format_bytes(row_bytes - TARGET_BYTES)}",
        )

    def _check_budget(self) -> None:
        """A `BudgetError` if rows have grown too large for a budget in bytes: none can be spared."""
        if self._rows_differ_in_size():
            self._hold_budget(self._n_retained(), self._n_retained(), lambda size: None)

    def _planned_rows(self, n_chosen: int, n_validation: int) -> int:
        """The most rows that are held."""
        return n_chosen + n_validation

    def _plan_parts(self, n_chosen: int, n_validation: int, row_bytes: int) -> dict[str, int]:
        """The most bytes that are held, by what they are for."""
        raise NotImplementedError

    def _kernel_bytes(self, row_bytes: int) -> int:
        """What a kernel holds at most: what it was given, and a width per column."""
        return held_bytes(self._objective().kernel) + 2 * row_bytes

    # ---- what was learned ------------------------------------------------------------------------

    def _set(self) -> Any:
        """The objective with the chosen set; buffered rows are all chosen."""
        self._check_fitted()
        return self._chosen()[0] if self._buffered is None else self._set_of(self._buffered)

    def _chosen(self) -> tuple[Any, np.ndarray, np.ndarray | None]:
        """The set that was chosen, and the ids and targets of its rows."""
        return self._F, self._ids[: self._F.n_chosen], self._targets

    def _set_of(self, buffered: Waiting) -> Any:
        rows = buffered.rows.values
        F = self._empty(rows)
        if F.needs_validation:
            F.put_rows(np.arange(n_rows(rows)), rows, buffered.weights / buffered.weights.sum(), buffered.targets)
        block = F.look(rows, buffered.targets)
        for i in range(n_rows(rows)):
            block.add(i)
        return F

    @property
    def kernel_(self) -> Kernel:
        """The kernel in use, its parameters filled in."""
        self._check_fitted()
        if self._buffered is None:
            return self._chosen()[0].kernel
        return self._objective().fitted(self._buffered.rows.values).kernel

    @property
    def value_(self) -> float:
        return self._set().value

    @property
    def prototypes_(self) -> Any:
        self._check_fitted()
        return (self._chosen()[0].chosen if self._buffered is None else self._buffered.rows).values

    @property
    def prototype_ids_(self) -> np.ndarray:
        self._check_fitted()
        return self._chosen()[1] if self._buffered is None else self._buffered.ids

    @property
    def targets_(self) -> np.ndarray | None:
        """Targets of the prototypes, if the stream has any."""
        self._check_fitted()
        return self._chosen()[2] if self._buffered is None else self._buffered.targets

    @property
    def history_(self) -> dict[str, np.ndarray]:
        self._check_fitted()
        return self._history.columns_as_arrays()

    def picks(self) -> Picks:
        """The prototypes, with their ids and targets."""
        return Picks("prototype", self.prototypes_, self.prototype_ids_, targets=self.targets_)

    def transform(self, X: Any) -> np.ndarray:
        """Similarities of every row to every prototype, rows x prototypes."""
        X = self._check_input(X)
        kernel, prototypes = self.kernel_, self.prototypes_
        out = np.empty((n_rows(X), n_rows(prototypes)), getattr(X, "dtype", np.float64))

        def fill(tile: slice) -> None:
            out[tile] = kernel(take(X, tile), prototypes)

        run_tiles(fill, len(out), TRANSFORM_TILE)
        return out

    def table(self, X: Any) -> dict[str, np.ndarray]:
        """The most similar prototype of each row, its position in the stream and the similarity."""
        similarity = self.transform(X)
        if not similarity.shape[1]:
            raise ValueError(f"{type(self).__name__}: no row was chosen, so there is nothing to compare with.")
        nearest = similarity.argmax(axis=1)
        return {"prototype": nearest, "position": self.prototype_ids_[nearest], "similarity": similarity.max(axis=1)}

    def _n_targets(self) -> int:
        """The length of `_targets`: buffered rows have their own."""
        return self._F.n_chosen if self._buffered is None else 0

    # ---- contract --------------------------------------------------------------------------------

    def _merge(self, other: "Selector") -> None:
        """Offer the rows that the other side has chosen as candidates."""
        if (self._targets is None) != (other._targets is None):
            raise StateError(f"{type(self).__name__}.merge: one side has targets and the other has none.")
        check_same_kind(f"{type(self).__name__}.merge", self.targets_, other.targets_)
        buffered = self._buffered
        if buffered is not None and other._buffered is None:  # go on from the side that has been initialized
            self._adopt(other)
            n_seen = self.n_seen_ + other.n_seen_
            self._learn_rows(buffered.rows.values, buffered.targets, buffered.weights, buffered.ids, n_seen)
        elif other._buffered is not None:
            self._learn(other._buffered.rows.values, other.targets_, other._buffered.weights, other.prototype_ids_)
        else:
            self._merge_sets(other)
        self._check_budget()

    def _merge_sets(self, other: Any) -> None:
        """Merge two sides that have been initialized."""
        self._offer(other.prototypes_, other.targets_, other.prototype_ids_, self.n_seen_ + other.n_seen_)
        self.n_swaps_ += other.n_swaps_
        self._largest_own = max(self._largest_own, other._largest_own)

    def _takes_objects(self, X: Any) -> bool:
        return takes_objects(self._objective().kernel, X)

    def _may_fail_midway(self) -> bool:
        return self._rows_differ_in_size() or may_fail(self._objective().kernel)

    def _rows_differ_in_size(self) -> bool:
        has_words = self._targets is not None and self._targets.dtype.kind in "OSU"
        return super()._rows_differ_in_size() or (has_words and as_budget(self.budget).nbytes is not None)

    def _n_retained(self) -> int:
        return self._n_prototypes() if self._buffered is None else len(self._buffered.ids)

    def _n_prototypes(self) -> int:
        """Rows in the sets that are held."""
        return self._F.n_chosen

    def _restored(self) -> None:
        if not self._is_fitted() or self._buffered is not None:
            return
        for F in self._sets():
            if missing_functions(F.kernel):  # a file can't hold a function: take the one among the parameters
                F.kernel = self._objective().fitted(self.prototypes_).kernel

    def _sets(self) -> list[Any]:
        """Every set that is held."""
        return [self._F]

    @property
    def _n_features_out(self) -> int:
        return n_rows(self.prototypes_)
