"""Dissimilarities between two chunks of rows.

Named ones (`sqeuclidean`, `euclidean`, `cosine` and every metric name of scikit-learn; `edit-distance` of strings), or
any callable: on two chunks (returns a matrix), on two rows, or on two Python objects (returns a number). A
dissimilarity need only be a non-negative function; it need not be symmetric or a metric. The first argument is the
candidate or exemplar, the second the row it would represent.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from modicum._optional import require
from modicum.exceptions import DataError
from modicum.kernels.pairs import fill
from modicum.numeric.distances import square_norms
from modicum.numeric.parallel import run_tiles
from modicum.rows import is_sparse, n_rows, take
from modicum.rules.invariants import TEXT
from modicum.rules.params import TRUTH, Where
from modicum.state.part import FUNCTION, Part

PROBES, MOST_PROBED = 64, 2048  # rows whose nearest neighbors, among this many, show how small distances are
LOST_DIGITS = 1e-3  # the relative error of such distances that is accepted
TILE = 128  # candidates per tile: long enough for BLAS, short enough that a tile is scanned while in cache


class Dissimilarity(Part):
    """Dissimilarities of candidates to rows: the rows are prepared once, candidates come tile by tile.

    `takes_objects`: rows are Python objects. `takes_sparse`: CSR matrices stay sparse.
    """

    takes_objects = False
    takes_sparse = True

    def __deepcopy__(self, memo: dict[int, Any]) -> "Dissimilarity":
        return self  # it never changes, and a user's function should not be copied

    def prepare(self, rows: Any) -> Any:
        """What the comparisons need of the rows; by default the rows."""
        return rows

    @abstractmethod
    def to(self, candidates: Any, prepared: Any, out: np.ndarray) -> None:
        """Write dissimilarities of candidates (len(out) of them) to the prepared rows into `out`.

        Rounding may leave them a little below zero: a pass to clip them would cost a third of the product.
        """

    def rounding(self, prepared: Any) -> float:
        """The relative precision of the computation."""
        return float(np.finfo(np.float64).eps)

    def __call__(self, candidates: Any, rows: Any) -> np.ndarray:
        """The whole matrix, candidates x rows."""
        dtype = np.result_type(getattr(candidates, "dtype", np.float64), getattr(rows, "dtype", np.float64))
        out = np.empty((n_rows(candidates), n_rows(rows)), dtype)
        if out.size:
            prepared = self.prepare(rows)
            run_tiles(lambda tile: self.to(take(candidates, tile), prepared, out[tile]), len(out), TILE)
        return np.maximum(out, 0, out=out)


class _Product(Dissimilarity):
    """One matrix product of two widened chunks gives the whole matrix: no pass to add norms afterwards."""

    def prepare(self, rows: Any) -> Any:
        if is_sparse(rows) or not self._movable:
            return None, self._right(rows).T
        # Distances are invariant to a shift of both sides; near the origin fewer digits cancel.
        shift = rows.mean(axis=0, dtype=np.float64)
        if not _needs_double(rows, shift):
            shift = shift.astype(rows.dtype)
        return shift, self._right(rows - shift).T

    def rounding(self, prepared: Any) -> float:
        return float(np.finfo(prepared[1].dtype).eps)

    def to(self, candidates: Any, prepared: Any, out: np.ndarray) -> None:
        shift, right = prepared
        left = self._left(candidates if shift is None else candidates - shift)
        if is_sparse(left):
            out[:] = (left @ right).toarray()
        elif left.dtype == out.dtype:
            np.matmul(left, right, out=out)
        else:
            out[:] = left @ right

    _movable = True

    @abstractmethod
    def _left(self, X: Any) -> Any: ...

    @abstractmethod
    def _right(self, X: Any) -> Any: ...


class SquaredEuclidean(_Product):
    """|a - b|^2 = [-2a, |a|^2, 1] . [b, 1, |b|^2]"""

    def _left(self, X: Any) -> Any:
        return _widen(X, square_norms(X), 1.0, scale=-2.0)

    def _right(self, X: Any) -> Any:
        return _widen(X, 1.0, square_norms(X))


class Euclidean(SquaredEuclidean):
    """The square root of the squared distance."""

    def to(self, candidates: Any, prepared: Any, out: np.ndarray) -> None:
        super().to(candidates, prepared, out)
        np.sqrt(np.maximum(out, 0, out=out), out=out)


class Cosine(_Product):
    """1 - a.b / (|a| |b|) = [-a/|a|, 1] . [b/|b|, 1]; a row of zeros is at distance 1 from all."""

    _movable = False

    def _left(self, X: Any) -> Any:
        return _widen(_unit(X), 1.0, scale=-1.0)

    def _right(self, X: Any) -> Any:
        return _widen(_unit(X), 1.0)


class Metric(Dissimilarity):
    """Any metric name of scikit-learn's `pairwise_distances`."""

    _invariants = {
        "name": TEXT,
    }

    def __init__(self, name: str):
        self.name = name

    def to(self, candidates: Any, prepared: Any, out: np.ndarray) -> None:
        from sklearn.metrics import pairwise_distances
        from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS

        if self.name in PAIRWISE_BOOLEAN_FUNCTIONS:
            candidates, prepared = candidates != 0, prepared != 0
        try:
            out[:] = pairwise_distances(candidates, prepared, metric=self.name)
        except TypeError as error:
            raise DataError(f"the dissimilarity {self.name!r} can't be used on these rows: {error}") from None
        _check_answers(out)


class Function(Dissimilarity):
    """A callable on two chunks, two rows or two objects; numeric rows are tried as chunks first."""

    takes_sparse = False

    _invariants = {
        "function": FUNCTION,
        "takes_objects": TRUTH,
    }

    def __init__(self, function: Callable[[Any, Any], Any], *, takes_objects: bool = False):
        self.function = function
        self.takes_objects = takes_objects

    def to(self, candidates: Any, prepared: Any, out: np.ndarray) -> None:
        fill(self.function, candidates, prepared, out, objects=self.takes_objects)
        _check_answers(out)


class EditDistance(Dissimilarity):
    """Levenshtein distance of strings divided by the length of the longer one: from 0 (equal) to 1.

    The least number of characters to insert, drop or change. Case and spaces count; two empty strings are equal.
    """

    takes_objects = True
    takes_sparse = False

    def prepare(self, rows: Any) -> list[str]:
        return _strings(rows)

    def to(self, candidates: Any, prepared: Any, out: np.ndarray) -> None:
        process = require("rapidfuzz.process", 'the dissimilarity "edit-distance"')
        scorer = require("rapidfuzz.distance", 'the dissimilarity "edit-distance"').Levenshtein.normalized_distance
        out[:] = process.cdist(_strings(candidates), prepared, scorer=scorer, dtype=np.float64)


def _strings(rows: Any) -> list[str]:
    """Rows that are strings; a `DataError` about the first that is not."""
    if not isinstance(rows, list):
        raise DataError('the dissimilarity "edit-distance" compares strings, but the rows are numbers.')
    wrong = [row for row in rows if not isinstance(row, str)]
    if wrong:
        raise DataError(f'the dissimilarity "edit-distance" compares strings; got {wrong[0]!r}. Drop or fill it.')
    return rows


NAMED: dict[str, type[Dissimilarity]] = {
    "sqeuclidean": SquaredEuclidean,
    "euclidean": Euclidean,
    "l2": Euclidean,
    "cosine": Cosine,
    "edit-distance": EditDistance,
}


def metric_names() -> list[str]:
    """Every name that `as_dissimilarity` knows."""
    from sklearn.metrics.pairwise import _VALID_METRICS

    needs_more = {"precomputed", "wminkowski", "mahalanobis", "seuclidean", "haversine", "nan_euclidean", "minkowski"}
    return sorted({*NAMED, *_VALID_METRICS} - needs_more)


METRIC = Where(
    lambda value: isinstance(value, Dissimilarity) or (isinstance(value, str) and value in metric_names()),
    'the name of a metric such as "sqeuclidean" or "cosine"',
)


def as_dissimilarity(spec: str | Callable[..., Any] | Dissimilarity, *, objects: bool = False) -> Dissimilarity:
    """The dissimilarity given by a name, a callable (on Python objects if `objects`) or a `Dissimilarity`."""
    if isinstance(spec, Dissimilarity):
        return spec
    if callable(spec):
        return Function(spec, takes_objects=objects)
    if spec in NAMED:
        return NAMED[spec]()
    if spec in metric_names():
        return Metric(spec)
    raise ValueError(f"a dissimilarity is a callable or one of {', '.join(metric_names())}; got {spec!r}.")


def _needs_double(rows: np.ndarray, shift: np.ndarray) -> bool:
    """Whether float32 products would lose the distances between near rows: tight clusters far apart."""
    if rows.dtype != np.float32 or len(rows) < 2:
        return False
    some = rows[:: -(-len(rows) // MOST_PROBED)].astype(np.float64) - shift
    norms = np.einsum("ij,ij->i", some, some)
    probes = np.linspace(0, len(some) - 1, min(len(some), PROBES)).astype(int)
    apart = norms[probes, None] + norms - 2 * some[probes] @ some.T
    nearest = np.median(np.partition(apart, 1, axis=1)[:, 1])  # the very nearest is the probe itself
    return bool(np.finfo(np.float32).eps * norms.max() > LOST_DIGITS * nearest > 0)


def _check_answers(out: np.ndarray) -> None:
    """Refuse NaN and negative values, except for rounding errors below zero."""
    bad = np.argwhere(~(out >= -1e-9 * max(1.0, float(np.nanmax(out, initial=0.0)))))
    if len(bad):
        i, j = bad[0]
        raise DataError(f"the dissimilarity gave {out[i, j]} for a pair of rows; it must be a number from 0 up.")


def _unit(X: Any) -> Any:
    norms = np.sqrt(square_norms(X))
    scale = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0).astype(X.dtype)
    if is_sparse(X):
        return X.multiply(scale[:, None]).tocsr()
    return X * scale[:, None]


def _widen(X: Any, *columns: Any, scale: float = 1.0) -> Any:
    """`scale * X` with further columns, each an array or a constant, in X's own dtype."""
    if is_sparse(X):
        from scipy import sparse

        extra = [np.broadcast_to(np.asarray(column, X.dtype), X.shape[0])[:, None] for column in columns]
        return sparse.hstack([X * X.dtype.type(scale), *map(sparse.csr_matrix, extra)], format="csr")
    wide = np.empty((len(X), X.shape[1] + len(columns)), X.dtype)
    np.multiply(X, X.dtype.type(scale), out=wide[:, : X.shape[1]])
    for i, column in enumerate(columns):
        wide[:, X.shape[1] + i] = column
    return wide
