"""Reservoir: a uniform or weighted sample of a stream (efraimidis2006, cohen2007)."""

from typing import Any

import numpy as np

from modicum.contract.forgetting import Forgetting
from modicum.contract.learner import Traits
from modicum.contract.picks import Picks
from modicum.contract.validation import check_all_or_none, check_same_targets
from modicum.rows import TARGET_BYTES, BottomK, Rows, RowsOf, are_objects, bytes_with_target, n_rows, put_values, take
from modicum.rules.budget import Plan, as_budget
from modicum.rules.invariants import Array, Is
from modicum.rules.params import BUDGET, NULL, RANDOM_STATE, Int

SCALAR_BYTES = 256


class Reservoir(Forgetting):
    """Uniform sample of a stream, kept in a fixed number of rows.

    Each row draws a random key and the rows with the smallest keys are kept, so early and late rows are equally likely.
    With `sample_weight`, rows are drawn in proportion to it, without replacement; with `half_life`, recent rows are
    preferred, as if their weight had halved every so many rows.

    Guarantee: every set of `budget` rows seen so far is equally likely to be the sample; this also holds after `merge`
    of samples drawn with different seeds (with one seed, all shards would draw the same positions). The sum of
    `point_weights_` over rows of some kind estimates the weight of that kind in the stream.
    Cost: O(accepted rows) random draws per chunk, about `budget * log(n_seen_ / budget)` of them in a whole stream;
    O(budget * d) memory.

    Parameters
    ----------
    budget : int or str, default=100
        Rows to keep, or a size such as "64 MiB" for everything held.
    half_life : int or None, default=None
        Rows after which the weight of a row has halved. None: rows of all times weigh the same.
    random_state : int, Generator or None, default=None

    Attributes
    ----------
    points_ : ndarray of shape (n_retained_, d), sparse matrix or list
    point_ids_ : ndarray of shape (n_retained_,)
        Row ids of the kept rows (their positions in the stream unless `row_ids` was given).
    targets_ : ndarray of shape (n_retained_,) or None
        Their targets, if the stream has any.
    point_weights_ : ndarray of shape (n_retained_,)
        The weight of the stream that each represents; the sum is the total weight of the stream. With `half_life`,
        weights are those of now: the next row would weigh 1.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum import Reservoir
    >>> west = Reservoir(budget=3, random_state=0).partial_fit(np.zeros((10, 2)))
    >>> east = Reservoir(budget=3, random_state=1).partial_fit(np.ones((5, 2)))
    >>> both = west.merge(east)
    >>> both.n_seen_, both.points_.shape
    (15, (3, 2))

    References
    ----------
    efraimidis2006, A-Res and its exponential jumps. cohen2007, section 3 (weights of a bottom-k sample). cormode2009
    (samples with forward decay).
    Departures: the keys below the threshold are drawn for a whole chunk, as points of a Poisson process;
    `point_weights_` are scaled to sum to the total weight.
    """

    traits = Traits(merge="exact", weights=True, sparse=True, objects=True, forgets=True)
    _count_param = "budget"
    _constraints = {"budget": [BUDGET], "half_life": [NULL, Int(1)], "random_state": [RANDOM_STATE]}
    _invariants = {
        "_sample": Is(BottomK, n="n"),
        "_rows": RowsOf("n"),
        "_targets": [NULL, Array(None, "n", finite=False)],
    }

    def __init__(self, budget: int | str = 100, *, half_life: int | None = None, random_state: Any = None):
        self.budget = budget
        self.half_life = half_life
        self.random_state = random_state

    def plan(self, n_features: int, dtype: Any = np.float64) -> Plan:
        """What will be held for dense rows of `n_features` columns, in bytes, before any data is seen."""
        self._check_params()
        row = n_features * np.dtype(dtype).itemsize
        rows = self._size(row + TARGET_BYTES)
        return Plan.of(rows, points=rows * row, keys_weights_ids_and_targets=rows * 32, scalars=SCALAR_BYTES)

    def _size(self, row_bytes: int) -> int:
        """How many rows of such a size, targets included, are kept."""
        each = row_bytes + 24  # key, weight and row id
        return as_budget(self.budget).rows_within(each, fixed_bytes=SCALAR_BYTES, at_least=1, what="Reservoir")

    @property
    def points_(self) -> Any:
        return self._rows.values

    @property
    def point_ids_(self) -> np.ndarray:
        return self._sample.row_ids

    @property
    def targets_(self) -> np.ndarray | None:
        return self._targets

    @property
    def point_weights_(self) -> np.ndarray:
        return self._sample.total_weight / self._unit() * self._sample.shares()

    def picks(self) -> Picks:
        """The sample, with ids, weights and targets."""
        return Picks("point", self.points_, self.point_ids_, self.point_weights_, self.targets_)

    @property
    def is_exact_(self) -> bool:
        """Whether every row seen so far is kept."""
        return self._sample.is_everything

    def _takes_objects(self, X: Any) -> bool:
        return are_objects(X)

    def _check_chunk(self, X: Any, y: np.ndarray | None) -> None:
        if self._is_fitted():
            check_all_or_none("Reservoir", y, self._targets)

    def _may_fail_midway(self) -> bool:
        has_words = self._targets is not None and self._targets.dtype.kind in "OSU"
        return self._rows_differ_in_size() or (has_words and as_budget(self.budget).nbytes is not None)

    def _learn(self, X: Any, y: Any, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        if not hasattr(self, "_sample"):
            self._sample = BottomK(self._size(bytes_with_target(X, y)))
            self._rows = Rows.like(X, self._sample.size)
            self._targets = None if y is None else y[:0]
        slots, chosen = self._sample.offer(n_rows(X), weight, row_ids, self._rng)
        self._keep(slots, take(X, chosen), None if y is None else y[chosen])
        self._hold_budget(len(self._sample), 1, self._shrink)

    def _fade(self, factor: float) -> None:
        self._sample.fade(factor)

    def _shrink(self, size: int) -> None:
        stay = self._sample.shrink_to(size)
        self._rows.keep(stay)
        self._targets = None if self._targets is None else self._targets[stay]

    def _resize(self, count: int, budget: Any) -> None:
        """Keep `count` rows from now on: a uniform sample of the sample."""
        self.budget = count
        if self._is_fitted():
            self._shrink(count)

    def _merge(self, other: "Reservoir") -> None:
        check_same_targets("Reservoir.merge", self._targets, other._targets)
        if other._sample.size < self._sample.size:
            self._shrink(other._sample.size)
        slots, chosen = self._sample.merge(other._sample)
        self._keep(slots, take(other._rows.values, chosen), None if other._targets is None else other._targets[chosen])
        self._hold_budget(len(self._sample), 1, self._shrink)

    def _keep(self, slots: np.ndarray, X: Any, y: np.ndarray | None) -> None:
        self._rows.put(slots, X)
        if self._targets is not None and y is not None:
            self._targets = put_values(self._targets, slots, y)

    def _n_retained(self) -> int:
        return len(self._sample)
