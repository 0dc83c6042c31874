"""Preparations are decided by the first rows and then stay fixed, so that early and late rows compare."""

import copy
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import TransformerMixin

from modicum.contract.learner import Learner
from modicum.rows import BufferedRows, n_rows, take
from modicum.rules.invariants import Is
from modicum.rules.params import NULL
from modicum.state.files import to_bytes

WAITING_BYTES = 32 * 2**20  # of first rows, above which fewer than `n_first` decide


class Preparation(TransformerMixin, Learner):
    """A transformer that is decided by the first `n_first` rows, and stays fixed afterwards.

    Fewer rows decide when `fit` or `learn` ends, or when their size exceeds 32 MiB. An answer before that is what the
    rows so far would decide.
    """

    _invariants = {"_waiting": [NULL, Is(BufferedRows)]}
    _waiting: BufferedRows | None
    n_first: int

    def _decide(self, X: Any) -> None:
        """Decide by the first rows."""
        raise NotImplementedError

    def _encode(self, X: Any) -> Any:
        """The numbers of checked rows; changes nothing."""
        raise NotImplementedError

    def _watch(self, X: Any) -> None:
        """Hook: look at rows after the first ones."""

    def _encode_and_count(self, X: Any) -> tuple[Any, Any]:
        """Hook: the numbers of checked rows, and what `_watch_counts` takes in once they have been learned."""
        return self._encode(X), None

    def _watch_counts(self, counts: Any) -> None:
        """Hook: take in what `_encode_and_count` found in rows after the first ones."""

    def _reserve(self, names: Mapping[str, str]) -> None:
        """Hook: leave out columns for a reason, before any row comes: targets and weights."""

    def _stay(self) -> None:
        """Hook: from now on, give the same numbers for the same rows."""

    def _most_bytes(self) -> int:
        """Bytes that are ever held once the first rows have decided."""
        return self.nbytes_

    def _decided(self) -> Any:
        """Hook: what was decided, to compare with another preparation."""
        raise NotImplementedError

    @property
    def is_decided_(self) -> bool:
        """Whether the first rows have come."""
        return self._waiting is None

    def transform(self, X: Any) -> Any:
        """Rows as numbers."""
        X = self._check_input(X)
        return self._ready()._encode(X)

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Decide by X, and return it as numbers."""
        return self.fit(X, y).transform(X)

    def has_same_form_as(self, other: "Preparation") -> bool:
        """Whether two preparations give the same numbers for the same rows."""
        ours, theirs = ({"decided": side._ready()._decided()} for side in (self, other))
        return type(self) is type(other) and to_bytes(ours) == to_bytes(theirs)

    def _ready(self) -> Self:
        """This one if it is decided, otherwise a copy that is decided by the rows so far."""
        if self._waiting is None:
            return self
        return self._derive("decided", self._decided_copy)

    def _decided_copy(self) -> Self:
        same = copy.deepcopy(self)
        same._decide_now()
        return same

    def _decide_now(self) -> None:
        assert self._waiting is not None
        rows, self._waiting = self._waiting.rows.values, None
        self._decide(rows)

    def _learn(self, X: Any, y: Any, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        if "_waiting" not in vars(self):
            self._waiting = BufferedRows(X, None, self.n_first)
        if self._waiting is not None:
            first = slice(0, self.n_first - len(self._waiting))
            self._waiting.append(take(X, first), None, None, row_ids[first])
            X = take(X, slice(first.stop, None))
            if len(self._waiting) >= self.n_first or self._waiting.rows.nbytes > WAITING_BYTES:
                self._decide_now()
        if self._waiting is None and n_rows(X):
            self._watch(X)

    def _end_of_stream(self) -> None:
        if self._waiting is not None:
            self._decide_now()

    def _may_fail_midway(self) -> bool:
        return self._waiting is not None  # the first rows may be such that nothing can be decided

    def _merge(self, other: Self) -> None:
        if other._waiting is not None:
            rows, ids = other._waiting.rows.values, other._waiting.ids
            self._learn(rows, None, None, ids)
        elif self._waiting is not None:
            rows, ids = self._waiting.rows.values, self._waiting.ids
            self._adopt(other)
            self._learn(rows, None, None, ids)
        else:
            self._merge_decided(other)

    def _merge_decided(self, other: Self) -> None:
        """Hook: both sides are decided; this side's decisions stay."""

    def _n_retained(self) -> int:
        return 1 if self._waiting is None else len(self._waiting)
