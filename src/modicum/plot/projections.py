"""Rows projected to a plane: as they are, on principal components, or by classical scaling."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.extmath import randomized_svd

from modicum.kernels import as_dissimilarity
from modicum.plot.formatting import percent
from modicum.plot.limits import are_usual
from modicum.rows import is_sparse, n_rows

SPARSE_COLUMNS = 50  # sparse rows of fewer columns become dense: too few for a sparse decomposition


@dataclass(frozen=True)
class Projection:
    """Rows and markers (exemplars, prototypes or centers) on a plane, and the names of its axes.

    Axes have ticks only if `has_units`.
    """

    rows: np.ndarray
    markers: np.ndarray
    names: tuple[str, str]
    has_units: bool = False


def project(learner: Any, rows: Any, markers: Any, *, unit_length: bool = False) -> Projection:
    """Two columns as they are, more by their principal components, after scaling rows to `unit_length` if wanted."""
    if is_sparse(rows) and (rows.shape[1] <= SPARSE_COLUMNS or rows.shape[0] <= 3):
        rows, markers = rows.toarray(), markers.toarray()
    if rows.shape[1] <= 2:
        return Projection(_two_columns(rows), _two_columns(markers), column_pair(learner, rows.shape[1]), True)
    if unit_length:
        from sklearn.preprocessing import normalize

        rows, markers = normalize(rows), normalize(markers)
    return _principal_components(rows, markers)


def _principal_components(rows: Any, markers: Any) -> Projection:
    from sklearn.decomposition import PCA

    if n_rows(rows) < 2:
        return Projection(np.zeros((1, 2)), np.zeros((n_rows(markers), 2)), ("", ""))
    with np.errstate(invalid="ignore"):  # identical rows have no variance
        pca = PCA(2, random_state=0).fit(rows if is_sparse(rows) else rows[are_usual(rows)])
    names = component_names(np.nan_to_num(pca.explained_variance_ratio_))
    return Projection(pca.transform(rows), pca.transform(markers), names)


def scale(dissimilarity: Any, rows: list[Any], markers: list[Any]) -> Projection:
    """Classical scaling of objects; markers are positioned by their dissimilarities to the rows."""
    dissimilarity = as_dissimilarity(dissimilarity, objects=True)
    d = dissimilarity(rows, rows)
    between = ((d + d.T) / 2) ** 2  # (n, n)
    to_markers = dissimilarity(markers, rows) ** 2  # (k, n)
    center = between.mean(axis=0)
    values, vectors = np.linalg.eigh(-(between - center - center[:, None] + center.mean()) / 2)
    values, vectors = values[-1:-3:-1], vectors[:, -1:-3:-1]
    inverse = np.divide(vectors, np.sqrt(np.maximum(values, 0)), out=np.zeros_like(vectors), where=values > 0)
    rows_at, markers_at = ((center - squares) @ inverse / 2 for squares in (between, to_markers))
    names = f"classical scaling of {len(rows)} rows", ""
    return Projection(_two_columns(rows_at), _two_columns(markers_at), names)


@dataclass(frozen=True)
class Plane:
    """The plane of two columns, or of the first two principal components of weighted points."""

    origin: np.ndarray
    directions: np.ndarray  # (2, d)
    names: tuple[str, str]
    has_units: bool

    @classmethod
    def of(cls, learner: Any, points: np.ndarray, weights: np.ndarray) -> "Plane":
        d = points.shape[1]
        if d <= 2:
            return cls(np.zeros(d), np.eye(2, d), column_pair(learner, d), has_units=True)
        usual = are_usual(points)
        points, weights = points[usual], weights[usual]
        mean = weights @ points / weights.sum()
        centered = (points - mean) * np.sqrt(weights)[:, None]
        _, lengths, directions = randomized_svd(centered, 2, random_state=0)
        shares = lengths**2 / max((centered**2).sum(), np.finfo(float).tiny)
        names = component_names(np.resize(shares, 2))
        return cls(mean, np.resize(directions, (2, d)), names, has_units=False)  # a single point has only one

    def project(self, rows: np.ndarray) -> np.ndarray:
        return (rows - self.origin) @ self.directions.T

    def project_covariance(self, covariance: np.ndarray) -> np.ndarray:
        """The 2 x 2 covariance on the plane of a covariance matrix, or of the variances of columns."""
        full = covariance if np.ndim(covariance) == 2 else np.diag(np.resize(covariance, len(self.origin)))
        return self.directions @ full @ self.directions.T


def column_pair(learner: Any, n_columns: int) -> tuple[str, str]:
    """The names of one or two columns; empty for a second that does not exist."""
    first, second, *_ = [*map(str, learner.column_names_ or ["x0", "x1"][:n_columns]), ""]
    return first, second


def component_names(shares: np.ndarray) -> tuple[str, str]:
    """Labels of two principal components that explain these shares of the variance."""
    return f"principal component 1 ({percent(shares[0])} of the variance)", f"component 2 ({percent(shares[1])})"


def _two_columns(points: np.ndarray) -> np.ndarray:
    return np.pad(points, ((0, 0), (0, 2 - points.shape[1])))
