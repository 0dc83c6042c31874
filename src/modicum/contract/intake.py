"""Input of learners: rows, weights, targets and ids, checked before any state changes."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from modicum.contract.validation import (
    check_columns,
    check_ids,
    check_sparse,
    check_targets,
    check_values,
    check_weights,
    refuse_disguised,
)
from modicum.exceptions import DataError
from modicum.rows.kinds import is_sparse


class Intake(BaseEstimator):
    """Checks and conversion of input; every error names the class."""

    _kind: str
    _dtype: str

    def _takes_objects(self, X: Any) -> bool:
        """Hook: whether the rows of X are Python objects rather than numbers."""
        return False

    def _check_rows(self, X: Any, *, reset: bool) -> Any:
        """X as a valid array, CSR matrix or list; a `DataError` that names row, column and value otherwise."""
        kind = "objects" if self._takes_objects(X) else "sparse" if is_sparse(X) else "dense"
        if not reset and "objects" in (kind, self._kind) and kind != self._kind:
            raise DataError(f"{type(self).__name__}: these rows are {kind}; earlier rows were {self._kind}.")
        if kind == "objects":
            X = list(X)
            if reset:
                self.n_features_in_, self._dtype = 1, "object"
        else:
            X = self._check_numbers(X, reset=reset)
        if reset:
            self._kind = kind
        elif kind != self._kind:
            X = sparse.csr_matrix(X) if self._kind == "sparse" else X.toarray()
        return X

    def _check_numbers(self, X: Any, *, reset: bool) -> Any:
        if not reset and self._is_as_before(X):
            check_values(type(self).__name__, X)
            return X
        refuse_disguised(type(self).__name__, "rows", X)
        if not reset and hasattr(X, "columns"):
            check_columns(type(self).__name__, getattr(self, "_column_names", None), list(X.columns))
        check_sparse(type(self).__name__, X)
        if hasattr(X, "dtype") and X.dtype == np.float16:
            X = X.astype(np.float32)
        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr" if self.traits.sparse else False,
            dtype=[np.float64, np.float32] if reset else self._dtype,  # other dtypes become the first
            order="C",
            ensure_all_finite=False,
            ensure_min_samples=0,
        )
        if is_sparse(X) and not X.has_canonical_format:
            X = X.copy()  # the caller's matrix must not change
            X.sum_duplicates()
        check_values(type(self).__name__, X)
        if reset:
            self._dtype = X.dtype.name
        return X

    def _is_as_before(self, X: Any) -> bool:
        """Whether rows are an array that needs no conversion: a shortcut that makes single rows fast."""
        return (
            type(X) is np.ndarray
            and X.dtype == self._dtype
            and X.ndim == 2
            and X.shape[1] == self.n_features_in_
            and X.flags.c_contiguous
            and not hasattr(self, "feature_names_in_")
        )

    def _check_input(self, X: Any) -> Any:
        """Rows to answer for, checked against the columns learned from; `NotFittedError` before any data."""
        self._check_fitted()
        return self._check_rows(X, reset=False)

    def _check_weight(self, weight: Any, count: int) -> np.ndarray | None:
        if weight is None:
            return None
        if not self.traits.weights:
            raise ValueError(f"{type(self).__name__} takes no sample_weight.")
        return check_weights(type(self).__name__, weight, count)

    def _check_target(self, y: Any, count: int) -> np.ndarray | None:
        if y is None:
            return None
        return check_targets(type(self).__name__, y, count)

    def _require_target(self, y: Any) -> None:
        """Raise a `DataError` if there is no target."""
        if y is None:
            name = type(self).__name__
            raise DataError(f"{name} requires y to be passed, but the target y is None. Name it in `stream(target=)`.")

    def _check_ids(self, row_ids: Any, count: int) -> np.ndarray:
        if row_ids is None:
            first = self._position if self._is_fitted() else 0
            return np.arange(first, first + count)
        return check_ids(type(self).__name__, row_ids, count)
