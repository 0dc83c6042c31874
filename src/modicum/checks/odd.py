"""Odd chunks: unusual dtypes, layouts and containers, huge and tiny numbers, odd weights.

Each is learned or refused. A refused chunk changes nothing; if it was the first, the learner stays unfitted.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
from scipy import sparse

from modicum.checks.common import check_answers
from modicum.contract.learner import Learner

Chunk = dict[str, Any]  # arguments of `partial_fit`
Make = Callable[[np.ndarray], Any]


def odd_chunks(X: np.ndarray, y: np.ndarray | None) -> Iterator[tuple[str, Chunk]]:
    """(name, chunk) of odd chunks made from valid rows X with targets y."""
    good = {"X": X} if y is None else {"X": X, "y": y}
    for makers, key in ((ROWS, "X"), (TARGETS, "y"), (WEIGHTS, "sample_weight"), (IDS, "row_ids")):
        for name, make in makers.items():
            with suppress(ImportError), np.errstate(all="ignore"):  # data frames need pandas
                yield f"{key}: {name}", good | {key: make(X if key == "X" else _like(key, X, y))}


def harm_of_chunk(model: Learner, chunk: Chunk, good: Chunk) -> str | None:
    """What goes wrong with a chunk, apart from a refusal; None if nothing does."""
    with warnings.catch_warnings(action="ignore"):
        return _harm_of_chunk(model, chunk, good)


def _harm_of_chunk(model: Learner, chunk: Chunk, good: Chunk) -> str | None:
    before, was_fitted = model.to_bytes(), model._is_fitted()
    try:
        model.partial_fit(**chunk)
    except (ValueError, TypeError):
        if model.to_bytes() != before:
            return "it is refused, but changes the learner"
        was_fitted = True
        model.partial_fit(**good)
    except Exception as error:
        return f"it raises {error!r}"
    try:
        model.to_bytes()
        if model._is_fitted():
            check_answers(model, good["X"])
    except Exception as error:
        if was_fitted or not isinstance(error, ValueError | TypeError):  # a first chunk may have had other columns
            return f"afterwards, asking raises {error!r}"
    return None


def _like(key: str, X: np.ndarray, y: np.ndarray | None) -> np.ndarray:
    """Valid targets, weights or ids."""
    if key == "y" and y is not None:
        return y
    return np.ones(len(X)) if key == "sample_weight" else np.arange(len(X))


def _with(value: Any, at: int = 5) -> Make:
    """The same array with one value replaced, in the middle."""

    def make(array: np.ndarray) -> np.ndarray:
        changed = array.astype(np.float64)
        changed.reshape(-1)[at] = value
        return changed

    return make


def _table(X: np.ndarray, **columns: Any) -> Any:
    """A data frame, with some columns replaced."""
    import pandas as pd

    return pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])]).assign(**columns)


def _csr(X: np.ndarray, **changes: Any) -> Any:
    """A CSR matrix whose arrays have been tampered with."""
    matrix = sparse.csr_matrix(X)
    for name, value in changes.items():
        setattr(matrix, name, value(getattr(matrix, name)))
    return matrix


def _masked(array: np.ndarray) -> np.ndarray:
    mask = np.zeros(array.shape, bool)
    mask.reshape(-1)[3] = True
    return np.ma.MaskedArray(array, mask)


def _as(dtype: str) -> Make:
    return lambda array: (array if dtype in SIGNED else np.abs(array)).astype(dtype)


def _times(value: float, dtype: str = "float64") -> Make:
    return lambda array: array.astype(dtype) * np.dtype(dtype).type(value)


SIGNED = ("f2", "f4", "f8", "g", "F", "D", "O", "U32", "S32")
HUGE = (1e15, 1e18, 1e30, 1e45, 1e51, 1e154, 1e155, 1e200, 1.7e308)
TINY = (5e-324, 1e-320, 1e-200, 1e-154, 1e-45, 1e-30)

ROWS: dict[str, Make] = {
    **{f"as {dtype}": _as(dtype) for dtype in (*SIGNED, "i1", "i8", "u1", "u8", "?", "M8[s]", "m8[s]")},
    **{f"one {value:g}": _with(value) for value in (np.nan, np.inf, -np.inf, -0.0, *HUGE, *TINY)},
    **{f"one -{value:g}": _with(-value) for value in HUGE},
    **{f"times {value:g}": _times(value) for value in (*HUGE, *TINY)},
    **{f"float32 times {value:g}": _times(value, "float32") for value in (1e15, 1e30)},
    "a float32 1e30": lambda X: _with(1e30)(X).astype("f4"),
    "a record array": lambda X: np.rec.fromarrays(list(X.T)),
    "masked": _masked,
    "masked nowhere": np.ma.MaskedArray,
    "strings": lambda X: np.array([["a"] * X.shape[1]] * len(X)),
    "objects with None": lambda X: np.array([[None, *row[1:]] for row in X.tolist()], object),
    "all zero": np.zeros_like,
    "all the same": np.ones_like,
    "Fortran order": np.asfortranarray,
    "every second row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "backwards": lambda X: X[::-1, ::-1],
    "broadcast": lambda X: np.broadcast_to(X[0], X.shape),
    "read-only": lambda X: np.lib.stride_tricks.as_strided(X.copy(), X.shape, writeable=False),
    "big-endian": lambda X: X.astype(">f8"),
    "a number": lambda X: 3.0,
    "a row": lambda X: X[0],
    "a cube": lambda X: X[:, :, None],
    "no columns": lambda X: X[:, :0],
    "a column less": lambda X: X[:, :-1],
    "a column more": lambda X: np.column_stack([X, X[:, 0]]),
    "no rows": lambda X: X[:0],
    "a list": lambda X: X.tolist(),
    "a tuple": lambda X: tuple(map(tuple, X)),
    "a ragged list": lambda X: [[1.0], [1.0, 2.0]],
    "an empty list": lambda X: [],
    "None": lambda X: None,
    "a string": lambda X: "rows",
    "a dict": lambda X: {"a": 1},
    "a set": lambda X: {1, 2},
    "an iterator": iter,
    "a frame": _table,
    "a frame with words": lambda X: _table(X, c0="a"),
    "a frame with times": lambda X: _table(X, c0=np.datetime64("2020-01-01")),
    "a frame with a gap": lambda X: _table(X, c0=np.where(np.arange(len(X)) == 3, np.nan, 1.0)),
    "COO": sparse.coo_matrix,
    "CSC": sparse.csc_matrix,
    "LIL": sparse.lil_matrix,
    "CSR": sparse.csr_matrix,
    "a CSR array": sparse.csr_array,
    "CSR of complex numbers": lambda X: sparse.csr_matrix(X * 1j),
    "CSR with NaN": lambda X: sparse.csr_matrix(_with(np.nan)(X)),
    "CSR with 1e200": lambda X: sparse.csr_matrix(_with(1e200)(X)),
    "CSR with long indices": lambda X: _csr(
        X, indices=lambda i: i.astype(np.int64), indptr=lambda i: i.astype(np.int64)
    ),
    "CSR with indices beyond": lambda X: _csr(X, indices=lambda i: i + 2**30),
    "CSR with negative indices": lambda X: _csr(X, indices=lambda i: i - 7),
    "CSR with falling pointers": lambda X: _csr(X, indptr=lambda i: i[::-1].copy()),
    "CSR with pointers beyond": lambda X: _csr(X, indptr=lambda i: i * 1000),
}
TARGETS: dict[str, Make] = {
    **{f"one {value:g}": _with(value) for value in (np.nan, np.inf, 1e49, 1e60, 1e200, 1.7e308, 5e-324)},
    "missing": lambda y: None,
    "too few": lambda y: y[:-1],
    "too many": lambda y: np.append(y, y[:1]),
    "a number": lambda y: 1.0,
    "a table": lambda y: np.column_stack([y, y]),
    "words": lambda y: np.where(np.arange(len(y)) % 2, "a", "b"),
    "words and numbers": lambda y: np.array(["a", *y[1:].tolist()], object),
    "times": lambda y: np.full(len(y), np.datetime64("2020-01-01")),
    "masked": _masked,
    "complex": lambda y: y * 1j,
    "truth": lambda y: y > 0,
    "None in it": lambda y: [None, *y[1:].tolist()],
}
WEIGHTS: dict[str, Make] = {
    **{f"one {value:g}": _with(value) for value in (np.nan, np.inf, -1.0, 0.0, *HUGE, *TINY)},
    **{f"all {value:g}": _times(value) for value in (0.0, *HUGE, *TINY, 1e59, 1e-59)},
    "from tiny to huge": lambda w: np.geomspace(1e-59, 1e59, len(w)),
    "beyond both ends": lambda w: np.append([1e200, 1e-200], w[2:]),
    "too few": lambda w: w[:-1],
    "a table": lambda w: np.column_stack([w, w]),
    "a number": lambda w: 2.0,
    "words": lambda w: ["a"] * len(w),
    "masked": _masked,
    "times": lambda w: w.astype("m8[s]"),
}
IDS: dict[str, Make] = {
    "all the same": np.zeros_like,
    "negative": lambda ids: -ids,
    "huge": lambda ids: ids + 2**62,
    "fractions": lambda ids: ids + 0.5,
    "too large": lambda ids: ids * 1e30,
    "too few": lambda ids: ids[:-1],
    "words": lambda ids: ["a"] * len(ids),
    "not numbers": lambda ids: np.full(len(ids), np.nan),
}
