"""Checks of chunks before they are learned: values, weights, columns, ids and targets."""

import warnings
from functools import lru_cache
from typing import Any

import numpy as np

from modicum.exceptions import DataError, DataWarning, StateError
from modicum.rows import is_sparse
from modicum.rules.invariants import check_compressed
from modicum.streams.readers.columns import as_values

ENOUGH_ROWS = 20  # of a first chunk, to compare the variances of columns
SOME_ROWS = 500  # of them that are compared
SCALES_APART = 1e4  # a ratio of variances: a hundred times as large
LARGEST_VALUE = 1e50  # weighted sums of fourth powers over any stream stay finite
WEIGHTS = (1e-60, 1e60)  # ratios of weights, and their squares, stay finite


@lru_cache(maxsize=64)
def largest_value(dtype: np.dtype, width: int) -> float:
    """The largest value whose squares can be summed over `width` columns in the dtype of the rows."""
    squares = float(np.finfo(dtype).max) / (8 * max(1, width))
    return min(LARGEST_VALUE, float(np.sqrt(squares)))


def check_values(name: str, X: Any) -> None:
    """Raise a `DataError` about the first value that is not finite, or too large to be squared."""
    values, largest = X.data if is_sparse(X) else X, largest_value(X.dtype, X.shape[1])
    flat = values.ravel()
    with np.errstate(over="ignore", invalid="ignore"):
        if flat.dot(flat) <= largest**2:  # one fast pass, which nearly always suffices
            return
    bad = np.argwhere(~(np.abs(values) <= largest))
    if not len(bad):
        return
    if is_sparse(X):
        at = int(bad[0][0])
        row, column = int(np.searchsorted(X.indptr, at, side="right")) - 1, int(X.indices[at])
        value = values[at]
    else:
        row, column = map(int, bad[0])
        value = values[row, column]
    if np.isfinite(value):
        raise DataError(
            f"{name}: row {row}, column {column} of this chunk is {value:g}; beyond {largest:.2g}, sums of powers of "
            f"{X.dtype} numbers overflow. Scale the column down, or drop such rows."
        )
    kind = "NaN" if np.isnan(value) else "infinity"
    raise DataError(
        f"{name}: row {row}, column {column} of this chunk is {kind} ({value}). Fill in or drop such rows first."
    )


def warn_of_scales(name: str, X: Any, columns: Any) -> None:
    """Warn if one column varies so much more than the others that these hardly count."""
    if not isinstance(X, np.ndarray) or X.shape[0] < ENOUGH_ROWS or X.shape[1] < 2:
        return
    some = X[:: max(1, len(X) // SOME_ROWS)].astype(np.float64)
    variances = np.clip(some, *np.quantile(some, [0.02, 0.98], axis=0)).var(axis=0)  # whatever a few outliers do
    varying = variances[variances > 0]
    if len(varying) > 1 and varying.max() > SCALES_APART * np.median(np.delete(varying, varying.argmax())):
        largest = int(variances.argmax())
        column = f"column {largest}" if columns is None else columns[largest]
        warnings.warn(
            f"{name}: {column} varies {np.sqrt(varying.max() / np.median(varying)):,.0f} times as much as most other "
            "columns, so that they hardly count. Scale them: make_pipeline(TableEncoder(scale='standard'), ...).",
            DataWarning,
            stacklevel=4,
        )


def check_sparse(name: str, X: Any) -> None:
    """Raise a `DataError` for a sparse matrix with invalid indices: compiled loops would read out of bounds."""
    if not hasattr(X, "check_format"):
        return
    try:
        check_compressed(X)
    except ValueError as error:
        raise DataError(f"{name}: not a valid sparse matrix: {error}.") from None


def refuse_disguised(name: str, what: str, values: Any) -> None:
    """Raise a `DataError` for arrays that numpy would silently treat as numbers: masked ones, dates and times."""
    if np.ma.is_masked(values):
        raise DataError(f"{name}: some {what} are masked, and numpy would ignore the mask. Fill them in first.")
    dtypes = values.dtypes if hasattr(values, "dtypes") else [getattr(values, "dtype", None)]
    for column, dtype in enumerate(np.atleast_1d(np.asarray(dtypes, dtype=object))):
        if getattr(dtype, "kind", "?") in "mM" or str(dtype).startswith(("Date", "Duration", "Time")):
            where = f" in column {column}" if hasattr(values, "dtypes") else ""
            raise DataError(
                f"{name}: {what} are dates or times ({dtype}){where}. Convert them to numbers first: days since a "
                "date, the hour of the day, and so on."
            )


def check_columns(name: str, ours: list[str] | None, theirs: list[str] | None) -> None:
    """Raise a `StateError` if both sides have names of columns, and they differ."""
    if ours is None or theirs is None or list(ours) == list(theirs):
        return
    missing = [column for column in ours if column not in theirs]
    if missing or len(ours) != len(theirs):
        new = [column for column in theirs if column not in ours]
        raise StateError(f"{name}: columns differ; only here: {_listed(missing)}; only there: {_listed(new)}.")
    raise StateError(
        f"{name}: the order of columns differs: {_listed(ours)} here, {_listed(theirs)} there. Use the same order."
    )


def _listed(names: list[str]) -> str:
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "") if names else "none"


def check_weights(name: str, weight: Any, count: int) -> np.ndarray:
    """Weights as an array, one per row."""
    refuse_disguised(name, "weights", weight)
    weight = np.asarray(weight, np.float64)
    if weight.ndim == 0:
        weight = np.full(count, weight)
    if weight.ndim != 1:
        raise ValueError(f"{name}: sample_weight must be 1-dimensional; got {weight.ndim} dimensions.")
    if len(weight) != count:
        raise DataError(f"{name}: {count} rows came with {len(weight)} weights.")
    bad = np.flatnonzero(~(weight >= 0) | ~np.isfinite(weight))
    if len(bad):
        raise DataError(f"{name}: weights must be finite and non-negative; row {bad[0]} has {weight[bad[0]]}.")
    bad = np.flatnonzero((weight > WEIGHTS[1]) | ((weight < WEIGHTS[0]) & (weight > 0)))
    if len(bad):
        raise DataError(
            f"{name}: weights must be 0 or from {WEIGHTS[0]:g} to {WEIGHTS[1]:g}; row {bad[0]} has {weight[bad[0]]}. "
            "Only their ratios matter: scale them, or use 0 for rows to leave out."
        )
    return weight


def check_ids(name: str, row_ids: Any, count: int) -> np.ndarray:
    """Row ids as int64, one per row."""
    refuse_disguised(name, "row_ids", row_ids)
    given = np.asarray(row_ids)
    if given.shape != (count,):
        raise DataError(f"{name}: {count} rows came with row_ids of shape {given.shape}.")
    with np.errstate(invalid="ignore"):
        ids = given.astype(np.int64) if given.dtype.kind in "iuf" else None
    if ids is None or not (ids == given).all() or (given.dtype.kind == "u" and (ids < 0).any()):
        raise DataError(
            f"{name}: row_ids must be integers of at most 64 bits; got {given.dtype}, such as {given[0]!r}."
        )
    return ids


def check_targets(name: str, y: Any, count: int) -> np.ndarray:
    """Targets as an array, one per row, of a dtype that can be saved."""
    refuse_disguised(name, "targets", y)
    y = as_values(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise DataError(f"{name}: there must be one target per row; got an array of shape {y.shape}.")
    if len(y) != count:
        raise DataError(f"{name}: {count} rows came with {len(y)} targets.")
    if y.dtype.kind == "f" and y.itemsize > 8:
        y = y.astype(np.float64)  # a file can't hold extended precision
    if y.dtype.kind not in "biufUSO":
        raise DataError(f"{name}: targets must be numbers, booleans or strings; got {y.dtype}.")
    return y


def check_same_targets(name: str, ours: np.ndarray | None, theirs: np.ndarray | None) -> None:
    """Raise a `StateError` if only one side has targets, or if only one has numbers: all would be cast."""
    if (ours is None) != (theirs is None):
        raise StateError(f"{name}: one side has targets and the other has none.")
    if ours is not None and theirs is not None and (ours.dtype.kind in "biuf") != (theirs.dtype.kind in "biuf"):
        raise StateError(f"{name}: targets are {ours.dtype} here and {theirs.dtype} there.")


def check_all_or_none(name: str, y: np.ndarray | None, earlier: np.ndarray | None) -> None:
    """Raise a `DataError` if targets came with earlier chunks and not with this one, or the other way round."""
    if (y is None) != (earlier is None):
        raise DataError(f"{name}: either all chunks come with targets or none does.")
