"""What all selectors share: buffered first rows, a chosen set, and features made from it.

schlegel2017, section 2: the similarities of a row to the chosen prototypes are its representation.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from modicum.contract.history import History
from modicum.contract.learner import Traits
from modicum.contract.picks import Picks
from modicum.contract.validation import check_all_or_none, check_same_targets
from modicum.exceptions import DataError
from modicum.kernels import Kernel, may_fail, takes_objects
from modicum.numeric.parallel import run_tiles
from modicum.rows import TARGET_BYTES, BufferedRows, bytes_with_target, equal_rows, find_slots, n_rows, put_values, take
from modicum.rules.budget import Plan, as_budget, format_bytes
from modicum.rules.invariants import MOST, AbsentWhile, Array, Is, Real, Scope, Whole
from modicum.rules.params import BUDGET, NULL, Int
from modicum.select.apart import ApartBlock, Close, first_apart, within
from modicum.select.certificates import Certificate, Certifies, largest_gains
from modicum.select.swaps import grow
from modicum.state.packing import held_bytes, missing_functions
from modicum.streams import Chunk

TRANSFORM_TILE = 2048  # rows per tile when all rows are compared with all prototypes
BUFFERING = AbsentWhile(lambda its: its["_buffered"] is not None)  # there is no set yet
FIXED_BYTES = 512 * 3 * 8 + 2048  # the history and all scalars
SET_SCALARS = 256  # bytes of the scalars of one set


def _n_recorded(its: Scope) -> int:
    """Targets that are kept with the set: buffered rows have their own."""
    return its["_objective"].n_chosen if its["_buffered"] is None else 0


class Selector(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Certifies):
    """Base of the selectors. A subclass writes `_given_objective`, `_offer`, `_plan` and what else differs.

    The first `n_prototypes` rows are buffered: the width of a kernel may have to be found from them, and until then all
    of them are chosen. Afterwards `_objective` is the objective with the chosen set. Weights only affect validation
    samples: a candidate counts once, however often it was seen.
    """

    _adds_up_columns = True
    traits = Traits(merge="approximate", weights=True, sparse=True, objects=True)
    _constraints = {"n_prototypes": [NULL, Int(1)], "budget": [NULL, BUDGET]}
    _invariants = {
        "_limit": Whole(lambda its: its["n_prototypes"] or 1, lambda its: its["n_prototypes"] or MOST),
        "_buffered": [NULL, Is(BufferedRows, at_most={"n": "_limit"})],
        "_targets": [NULL, Array(None, _n_recorded, finite=False)],
        "_history": Is(History, width=3),
        "n_swaps_": Whole(),
        "_ids": [BUFFERING, Array("int64", "_limit")],
        "_largest_own": [BUFFERING, Real(0.0)],
    }

    n_prototypes: int | None
    budget: int | str | None
    min_distance: float | None = None  # a parameter of some selectors
    _limit: int  # prototypes at most
    _buffered: BufferedRows | None
    _objective: Any
    _ids: np.ndarray
    _targets: np.ndarray | None
    _largest_own: float  # the largest k(x, x) of the rows seen

    # ---- learning --------------------------------------------------------------------------------

    def _given_objective(self) -> Any:
        """The objective as the parameters specify it, without a set."""
        raise NotImplementedError

    def _offer(self, X: Any, y: np.ndarray | None, row_ids: np.ndarray, n_seen: int) -> None:
        """Offer rows as candidates. The first call has at least as many as are to be chosen.

        `n_seen` is how many rows of the stream have been seen after these, for the history: `n_seen_` may count some of
        them already, if they were buffered, or none of those of a learner being merged.
        """
        raise NotImplementedError

    def _learn_rows(self, X: Any, y: Any, weight: np.ndarray | None, row_ids: np.ndarray, n_seen: int) -> None:
        """Offer rows, without those that an earlier pass has chosen already."""
        self._largest_own = max(self._largest_own, float(self._objective.kernel.diagonal(X).max()))
        new = ~self._are_chosen(X, row_ids)
        if new.all():
            self._offer(X, y, row_ids, n_seen)
        elif new.any():
            self._offer(take(X, np.flatnonzero(new)), None if y is None else y[new], row_ids[new], n_seen)

    def _are_chosen(self, X: Any, row_ids: np.ndarray) -> np.ndarray:
        """Whether rows are chosen already: the same id and the same row. Shards may use one id for different rows."""
        slots = find_slots(self.prototype_ids_, row_ids)
        known = np.flatnonzero(slots >= 0)
        out = np.zeros(len(row_ids), bool)
        if len(known):
            out[known] = equal_rows(take(X, known), take(self.prototypes_, slots[known]))
        return out

    def _check_params(self) -> None:
        super()._check_params()
        if self.n_prototypes is None and self.budget is None:
            raise ValueError(
                f"{type(self).__name__}: n_prototypes is None, for as many as the budget allows, and there is no "
                'budget. Give one of them: n_prototypes=200 or budget="1 MiB".'
            )

    def _check_chunk(self, X: Any, y: np.ndarray | None) -> None:
        if self.min_distance is not None and isinstance(X, list):
            raise DataError(f"{type(self).__name__}: min_distance is a distance of rows of numbers; these are objects.")
        if self._is_fitted():
            check_all_or_none(type(self).__name__, y, self._targets)

    def _learn(self, X: Any, y: np.ndarray | None, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        if not hasattr(self, "_limit"):
            self._given_objective().fitted(X)  # parameters and rows that it refuses are reported now and not later
            self._set_sizes(bytes_with_target(X, y))
            self._buffered = BufferedRows(X, y, self._limit)
            self._targets = None if y is None else y[:0]
            self._history = History("n_seen", "value", "swaps")
            self.n_swaps_ = 0
        buffered = self._buffered
        if buffered is not None and self.min_distance is not None:
            close = within(self.min_distance)
            X, y, weight, row_ids = self._apart_from_start(buffered, X, y, weight, row_ids, close)
            buffered = self._buffered = BufferedRows(X, y, self._limit)
        if buffered is not None and len(buffered) + n_rows(X) < self._limit:
            self._given_objective().fitted(X).kernel.diagonal(X)  # refuses rows that the kernel can't take
            buffered.append(X, y, weight, row_ids)
        else:
            n_seen = self.n_seen_ + n_rows(X)
            if buffered is not None:
                if len(buffered):
                    buffered.append(X, y, weight, row_ids)
                    X, y, weight, row_ids = buffered.contents
                self._initialize(X)
                self._buffered = None
            self._learn_rows(X, y, weight, row_ids, n_seen)
        self._check_budget()

    def _apart_from_start(
        self,
        buffered: BufferedRows,
        X: Any,
        y: np.ndarray | None,
        weight: np.ndarray | None,
        row_ids: np.ndarray,
        close: Close,
    ) -> tuple[Any, np.ndarray | None, np.ndarray, np.ndarray]:
        """Buffered rows and X without rows that are close to an earlier one, whose weight the earlier one has.

        The first `_limit` of them are apart, and after these come the rest.
        """
        everything = BufferedRows(X, y, len(buffered) + n_rows(X))
        for part in (buffered.contents, (X, y, weight, row_ids)):
            everything.append(*part)
        X, y, weights, row_ids = everything.contents
        first, owners = first_apart(X, self._limit, close)
        known = owners >= 0
        order = np.concatenate([first, np.flatnonzero(~known)])
        weights = weights[order]
        weights[: len(first)] = np.bincount(owners[known], everything.weights[known])
        return take(X, order), None if y is None else y[order], weights, row_ids[order]

    def _block(self, X: Any, y: np.ndarray | None = None) -> Any:
        """Candidates, those too close to a chosen row excluded."""
        block = self._objective.look(X, y)
        return block if self.min_distance is None else ApartBlock(block, within(self.min_distance))

    def _initialize(self, X: Any) -> None:
        """Set up with nothing chosen, for rows such as X."""
        self._objective = self._empty(X)
        self._ids = np.full(self._limit, -1)
        self._largest_own = 0.0

    def _empty(self, X: Any) -> Any:
        """An empty set for rows such as X, its kernel fitted to them."""
        return self._given_objective().fitted(X).empty_set(X, self._limit)

    def _record(self, slot: int, row_id: int, target: Any) -> None:
        """Record the id and the target of the row in a slot."""
        self._ids[slot] = row_id
        if self._targets is not None:
            self._targets = put_values(self._targets, np.array([slot]), np.array([target]))

    # ---- fewer prototypes ------------------------------------------------------------------------

    def _resize(self, count: int, budget: Any) -> None:
        """Keep the best `count` prototypes from now on, within another budget."""
        self.n_prototypes, self.budget = count, budget
        if not self._is_fitted():
            return
        rows, targets, row_ids = self.prototypes_, self.targets_, self.prototype_ids_
        self._set_sizes(bytes_with_target(rows, targets))
        buffered = self._buffered
        if buffered is None:
            self._choose_again(rows, targets, row_ids)
        elif len(buffered) < self._limit:
            self._buffered = BufferedRows(rows, targets, self._limit)
            self._buffered.append(*buffered.contents)
        else:
            self._initialize(rows)
            self._buffered = None
            self._learn_rows(*buffered.contents, self.n_seen_)
        self._check_budget()

    def _choose_again(self, rows: Any, targets: np.ndarray | None, row_ids: np.ndarray) -> None:
        """Choose greedily among these rows alone."""
        self._objective = self._smaller_set(rows)
        self._ids = np.full(self._limit, -1)
        self._targets = None if targets is None else targets[:0]
        for i, slot in grow(self._block(rows, targets), self._limit, -np.inf):
            self._record(slot, row_ids[i], None if targets is None else targets[i])

    def _smaller_set(self, rows: Any) -> Any:
        """An empty set with room for no more rows than are kept from now on, and with the present kernel."""
        return self._objective.fitted(rows).empty_set(rows, self._limit)

    # ---- budget ----------------------------------------------------------------------------------

    def plan(self, n_features: int, dtype: Any = np.float64) -> Plan:
        """What will be held for dense rows of `n_features` columns, in bytes, before any data is seen."""
        self._check_params()
        row_bytes = n_features * np.dtype(dtype).itemsize + TARGET_BYTES
        return self._plan(*self._sizes(row_bytes), row_bytes)

    def _plan(self, n_chosen: int, n_validation: int, row_bytes: int) -> Plan:
        """The most that is held with so many prototypes and validation rows."""
        raise NotImplementedError

    def _set_sizes(self, row_bytes: int) -> None:
        """Fix how many rows of such a size, targets included, are kept."""
        self._limit, _ = self._sizes(row_bytes)

    def _sizes(self, row_bytes: int) -> tuple[int, int]:
        """Numbers of prototypes and of validation rows."""
        n_validation, useful = self._validation_wanted()
        return as_budget(self.budget).split(
            lambda n, w: self._plan(n, w, row_bytes),
            n_produced=self.n_prototypes,
            n_validation=n_validation,
            useful=useful,
            what=f"{type(self).__name__} for rows of {format_bytes(row_bytes - TARGET_BYTES)}",
        )

    def _check_budget(self) -> None:
        """Raise `BudgetError` if rows have grown too large for a budget in bytes: none can be dropped."""
        if self._rows_differ_in_size():
            self._hold_budget(self._n_retained(), self._n_retained(), lambda size: None)

    def _validation_wanted(self) -> tuple[int | None, int]:
        """How many validation rows are asked for, None for as many as fit, and how many of those are useful."""
        return 0, 0

    def _kernel_bytes(self, row_bytes: int) -> int:
        """What a kernel holds at most: what it was given, and a width per column."""
        return held_bytes(self._given_objective().kernel) + 2 * row_bytes

    # ---- what was learned ------------------------------------------------------------------------

    def _set(self) -> Any:
        """The objective with the chosen set; buffered rows are all chosen."""
        self._check_fitted()
        return self._chosen()[0] if self._buffered is None else self._set_of(self._buffered)

    def _chosen(self) -> tuple[Any, np.ndarray, np.ndarray | None]:
        """The set that was chosen, and the ids and targets of its rows."""
        return self._objective, self._ids[: self._objective.n_chosen], self._targets

    def _set_of(self, buffered: BufferedRows) -> Any:
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
        if self._buffered is None:
            return self._chosen()[0].kernel
        return self._given_objective().fitted(self._buffered.rows.values).kernel

    @property
    def value_(self) -> float:
        return self._set().value

    @property
    def prototypes_(self) -> Any:
        return (self._chosen()[0].chosen if self._buffered is None else self._buffered.rows).values

    @property
    def prototype_ids_(self) -> np.ndarray:
        return self._chosen()[1] if self._buffered is None else self._buffered.ids

    @property
    def targets_(self) -> np.ndarray | None:
        """Targets of the prototypes, if the stream has any."""
        return self._chosen()[2] if self._buffered is None else self._buffered.targets

    @property
    def history_(self) -> dict[str, np.ndarray]:
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
        """The most similar prototype of each row as its prediction, its position in the stream and the similarity."""
        similarity = self.transform(X)
        if not similarity.shape[1]:
            raise ValueError(f"{type(self).__name__}: no row was chosen, so there is nothing to compare with.")
        nearest = similarity.argmax(axis=1)
        return {"prediction": nearest, "position": self.prototype_ids_[nearest], "similarity": similarity.max(axis=1)}

    # ---- how good it is --------------------------------------------------------------------------

    def _certify(self, chunks: Iterable[Chunk], confidence: float) -> Certificate:
        F = self._exact_set()
        if not F.monotone_submodular:
            name = type(self).__name__
            raise ValueError(f"{name}: nothing can be certified for {self._given_objective()!r}: it is not submodular.")

        def gains_of(X: Any, ids: np.ndarray) -> np.ndarray:
            gains = F.look(X).gains() - F.least_gain
            gains[self._are_chosen(X, ids)] = 0.0
            return gains

        gains, count = largest_gains(self, chunks, self._limit, gains_of)
        terms = self._terms(F, self._limit, confidence)
        terms["conditions"] += self._same_rows(count, terms.get("epsilon", 0.0))
        return Certificate(**terms, gains=gains, n_rows=count)

    def _exact_set(self) -> Any:
        """The objective with the chosen set, which scores rows without error."""
        return self._set()

    def _terms(self, F: Any, n_chosen: int, confidence: float) -> dict[str, Any]:
        """Terms of a guarantee about sets of `n_chosen` rows that depend on the objective."""
        raise NotImplementedError

    # ---- contract --------------------------------------------------------------------------------

    def _merge(self, other: "Selector") -> None:
        """Offer the rows that the other side has chosen as candidates."""
        check_same_targets(f"{type(self).__name__}.merge", self.targets_, other.targets_)
        buffered = self._buffered
        if buffered is not None and other._buffered is None:  # continue from the side that has been initialized
            self._adopt(other)
            self._learn_rows(*buffered.contents, self.n_seen_ + other.n_seen_)
        elif other._buffered is not None:
            self._learn(*other._buffered.contents)
        else:
            self._merge_sets(other)
        self._check_budget()

    def _merge_sets(self, other: Any) -> None:
        """Merge two sides that have been initialized."""
        self._offer(other.prototypes_, other.targets_, other.prototype_ids_, self.n_seen_ + other.n_seen_)
        self.n_swaps_ += other.n_swaps_
        self._largest_own = max(self._largest_own, other._largest_own)

    def _takes_objects(self, X: Any) -> bool:
        return takes_objects(self._given_objective().kernel, X)

    def _may_fail_midway(self) -> bool:
        return self._rows_differ_in_size() or may_fail(self._given_objective().kernel)

    def _rows_differ_in_size(self) -> bool:
        has_words = self._targets is not None and self._targets.dtype.kind in "OSU"
        return super()._rows_differ_in_size() or (has_words and as_budget(self.budget).nbytes is not None)

    def _n_retained(self) -> int:
        return self._n_prototypes() if self._buffered is None else len(self._buffered)

    def _n_prototypes(self) -> int:
        """Rows in the sets that are held."""
        return self._objective.n_chosen

    def _restored(self) -> None:
        if not self._is_fitted() or self._buffered is not None:
            return
        for F in self._sets():
            if missing_functions(F.kernel):  # a file can't hold a function: take the one among the parameters
                F.kernel = self._given_objective().fitted(self.prototypes_).kernel

    def _sets(self) -> list[Any]:
        """Every set that is held."""
        return [self._objective]

    @property
    def _n_features_out(self) -> int:
        return n_rows(self.prototypes_)
