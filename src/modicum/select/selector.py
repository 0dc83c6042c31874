"""What all selectors share: rows that wait until there are enough, a chosen set, and features made from it.

schlegel2017, section 2: the similarities of a row to the chosen prototypes are its representation.
"""

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from modicum.contract.history import History
from modicum.contract.learner import Learner, Traits
from modicum.contract.validation import check_same_kind
from modicum.exceptions import DataError, StateError
from modicum.kernels import Kernel, may_fail, takes_objects
from modicum.numeric.parallel import run_tiles
from modicum.rows import Waiting, average_bytes, equal_rows, n_rows, put_values, take
from modicum.rules.budget import as_budget, format_bytes
from modicum.rules.invariants import AbsentWhile, Array, Is, Real, Whole
from modicum.rules.params import NULL
from modicum.state.packing import missing_functions

TRANSFORM_TILE = 2048  # rows per tile when all rows are compared with all prototypes
WAITS = AbsentWhile(lambda its: its["_waiting"] is not None)  # there is no set yet
HISTORY_BYTES = 512 * 3 * 8


class Selector(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Learner):
    """Base of the selectors. A subclass writes `_objective`, `_stand`, `_bytes_for` and what else differs.

    The first `budget` rows wait: the width of a kernel may have to be found from them, and until then every one of
    them is chosen. `_F` is the objective with the chosen set inside, once there are more. Weights count where rows
    judge; a candidate is a candidate, however often it was seen.
    """

    traits = Traits(merge="approximate", weights=True, sparse=True, objects=True)
    _invariants = {
        "_limit": Whole(1),
        "_waiting": [NULL, Is(Waiting, at_most={"n": "_limit"})],
        "_targets": [NULL, Array(None, lambda its: its.owner._n_targets(), finite=False)],
        "_history": Is(History, width=3),
        "n_swaps_": Whole(),
        "_ids": [WAITS, Array("int64", "_limit")],
        "_largest_own": [WAITS, Real(0.0)],
    }

    _waiting: Waiting | None
    _F: Any
    _ids: np.ndarray
    _targets: np.ndarray | None
    _largest_own: float  # k(x, x) of the rows seen, the largest

    # ---- learning --------------------------------------------------------------------------------

    def _objective(self) -> Any:
        """The objective as the parameters specify it, without a set."""
        raise NotImplementedError

    def _stand(self, X: Any, y: np.ndarray | None, row_ids: np.ndarray) -> None:
        """Rows stand as candidates. The first call comes with at least as many as are to be chosen."""
        raise NotImplementedError

    def _offer(self, X: Any, y: np.ndarray | None, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        """Learn rows once the set has been started."""
        self._stand_again(X, y, row_ids)

    def _stand_again(self, X: Any, y: np.ndarray | None, row_ids: np.ndarray) -> None:
        """`_stand`, without rows that an earlier pass has chosen already."""
        self._largest_own = max(self._largest_own, float(self._sets()[0].kernel.diagonal(X).max()))
        new = ~self._are_chosen(X, row_ids)
        if new.all():
            self._stand(X, y, row_ids)
        elif new.any():
            self._stand(take(X, np.flatnonzero(new)), None if y is None else y[new], row_ids[new])

    def _are_chosen(self, X: Any, row_ids: np.ndarray) -> np.ndarray:
        """Whether rows are chosen already: the same id and the same row. Shards may use one id for different rows."""
        order = np.argsort(self.indices_)
        place = np.searchsorted(self.indices_, row_ids, sorter=order)
        found = np.append(order, -1)[np.minimum(place, len(order))]
        known = np.flatnonzero((found >= 0) & (np.append(self.indices_, -1)[found] == row_ids))
        out = np.zeros(len(row_ids), bool)
        if len(known):
            out[known] = equal_rows(take(X, known), take(self.prototypes_, found[known]))
        return out

    def _check_chunk(self, X: Any, y: np.ndarray | None) -> None:
        if self._is_fitted() and (y is None) != (self._targets is None):
            raise DataError(f"{type(self).__name__}: either all chunks come with targets or none does.")

    def _learn(self, X: Any, y: np.ndarray | None, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        if not hasattr(self, "_limit"):
            self._objective().fitted(X)  # what is wrong with it, or with rows it can't take, shows now and not later
            self._limit = self._most_chosen(average_bytes(X))
            self._waiting = Waiting(X, y, self._limit)
            self._targets = None if y is None else y[:0]
            self._history = History("rows", "value", "swaps")
            self.n_swaps_ = 0
        if self._waiting is not None and len(self._waiting.ids) + n_rows(X) < self._limit:
            self._objective().fitted(X).kernel.diagonal(X)  # rows that the kernel can't take are refused as they come
            self._waiting.append(X, y, weight, row_ids)
        else:
            if self._waiting is not None:
                X, y, weight, row_ids = self._begin(X, y, weight, row_ids)
            self._offer(X, y, weight, row_ids)
        if self._rows_differ_in_size():
            self._hold_budget(self._n_retained(), self._n_retained(), lambda size: None)  # an error: none can be spared

    def _begin(self, X: Any, y: Any, weight: Any, row_ids: np.ndarray) -> tuple[Any, Any, Any, np.ndarray]:
        """Start the chosen set; returns the rows that waited and the new ones together."""
        waiting = self._waiting
        assert waiting is not None
        if len(waiting.ids):
            waiting.append(X, y, weight, row_ids)
            X, y, weight, row_ids = waiting.rows.values, waiting.targets, waiting.weights, waiting.ids
        self._start(X)
        self._waiting = None
        return X, y, weight, row_ids

    def _start(self, X: Any) -> None:
        """Begin with nothing chosen."""
        self._F = self._empty(X)
        self._ids = np.full(self._limit, -1)
        self._largest_own = 0.0

    def _empty(self, X: Any) -> Any:
        """An empty set for rows such as X, its kernel fitted to them."""
        return self._objective().fitted(X).empty_set(X, self._limit)

    def _place(self, slot: int, row_id: int, target: Any) -> None:
        """Note who has taken a slot, its first time or in place of another."""
        self._ids[slot] = row_id
        if self._targets is not None:
            self._targets = put_values(self._targets, np.array([slot]), np.array([target]))

    # ---- budget ----------------------------------------------------------------------------------

    def _most_chosen(self, row_bytes: int) -> int:
        what = f"{type(self).__name__} for rows of {format_bytes(row_bytes)}"
        return as_budget(self.budget).most_within(lambda n: self._bytes_for(n, row_bytes), at_least=1, what=what)

    def _bytes_for(self, n_chosen: int, row_bytes: int) -> int:
        """What is held with so many chosen rows."""
        raise NotImplementedError

    # ---- what was learned ------------------------------------------------------------------------

    def _set(self) -> Any:
        """The objective with the chosen set; as long as rows wait, all of them make the set."""
        self._check_fitted()
        return self._chosen()[0] if self._waiting is None else self._set_of(self._waiting)

    def _chosen(self) -> tuple[Any, np.ndarray, np.ndarray | None]:
        """The set that was chosen, and the ids and targets of its rows."""
        return self._F, self._ids[: self._F.n_chosen], self._targets

    def _set_of(self, waiting: Waiting) -> Any:
        rows = waiting.rows.values
        F = self._empty(rows)
        if F.needs_validation:
            F.put_rows(np.arange(n_rows(rows)), rows, waiting.weights / waiting.weights.sum(), waiting.targets)
        block = F.look(rows, waiting.targets)
        for i in range(n_rows(rows)):
            block.add(i)
        return F

    @property
    def kernel_(self) -> Kernel:
        """The kernel in use, its parameters filled in."""
        self._check_fitted()
        if self._waiting is None:
            return self._chosen()[0].kernel
        return self._objective().fitted(self._waiting.rows.values).kernel

    @property
    def value_(self) -> float:
        return self._set().value

    @property
    def prototypes_(self) -> Any:
        self._check_fitted()
        return (self._chosen()[0].chosen if self._waiting is None else self._waiting.rows).values

    @property
    def indices_(self) -> np.ndarray:
        self._check_fitted()
        return self._chosen()[1] if self._waiting is None else self._waiting.ids

    @property
    def targets_(self) -> np.ndarray | None:
        """Targets of the prototypes, if the stream has any."""
        self._check_fitted()
        return self._chosen()[2] if self._waiting is None else self._waiting.targets

    @property
    def history_(self) -> dict[str, np.ndarray]:
        self._check_fitted()
        return self._history.columns_as_arrays()

    def transform(self, X: Any) -> np.ndarray:
        """Similarities of every row to every prototype, rows x prototypes."""
        X = self._check_input(X)
        kernel, prototypes = self.kernel_, self.prototypes_
        out = np.empty((n_rows(X), n_rows(prototypes)), getattr(X, "dtype", np.float64))

        def fill(part: slice) -> None:
            out[part] = kernel(take(X, part), prototypes)

        run_tiles(fill, len(out), TRANSFORM_TILE)
        return out

    def table(self, X: Any) -> dict[str, np.ndarray]:
        """The most similar prototype of each row, its position in the stream and the similarity."""
        similarity = self.transform(X)
        if not similarity.shape[1]:
            raise ValueError(f"{type(self).__name__}: no row was worth choosing, so there is nothing to compare with.")
        nearest = similarity.argmax(axis=1)
        return {"prototype": nearest, "position": self.indices_[nearest], "similarity": similarity.max(axis=1)}

    def _n_targets(self) -> int:
        """Targets in `_targets`: those of rows that wait are with them."""
        return self._F.n_chosen if self._waiting is None else 0

    # ---- contract --------------------------------------------------------------------------------

    def _merge(self, other: "Selector") -> None:
        """The rows that the other side has chosen stand as candidates here."""
        if (self._targets is None) != (other._targets is None):
            raise StateError(f"{type(self).__name__}.merge: one side has targets and the other has none.")
        check_same_kind(f"{type(self).__name__}.merge", self.targets_, other.targets_)
        waiting = self._waiting
        if waiting is not None and other._waiting is None:  # go on from the side that has begun
            self._adopt(other)
            self._offer(waiting.rows.values, waiting.targets, waiting.weights, waiting.ids)
        elif other._waiting is not None:
            self._learn(other._waiting.rows.values, other.targets_, other._waiting.weights, other.indices_)
        else:
            self._absorb(other)

    def _absorb(self, other: Any) -> None:
        """Merge with a side that has begun, as this one has."""
        self._stand(other.prototypes_, other.targets_, other.indices_)
        self.n_swaps_ += other.n_swaps_
        self._largest_own = max(self._largest_own, other._largest_own)

    def _takes_objects(self, X: Any) -> bool:
        return takes_objects(self._objective().kernel, X)

    def _may_fail_midway(self) -> bool:
        return self._rows_differ_in_size() or may_fail(self._objective().kernel)

    def _rows_differ_in_size(self) -> bool:
        """Whether rows to come may be too large for a budget in bytes."""
        return as_budget(self.budget).nbytes is not None and self._kind != "dense"

    def _n_retained(self) -> int:
        return n_rows(self.prototypes_)

    def _restored(self) -> None:
        if not self._is_fitted() or self._waiting is not None:
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
