"""Rows by their principal axes: fewer coordinates in which a penalised multilogit model is the same or nearly so.

The penalty does not change with a rotation, and weights along an axis of hardly any variance do not pay for themselves.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from modicum.cluster.information.multilogit import Multilogit
from modicum.rows import is_sparse

LEAST_VARIANCE = 1e-4  # of an axis, of a total variance of 1: the weakest regularisations in use are about a tenth


@dataclass(frozen=True)
class PrincipalAxes:
    """Axes of the largest variance, and the mean that coordinates are relative to."""

    axes: np.ndarray  # (m, r), orthonormal columns
    mean: np.ndarray  # (m,)

    @classmethod
    def of(cls, rows: Any, shares: np.ndarray, least: float = LEAST_VARIANCE) -> Self:
        """All axes of rows that have more variance than `least`; at least one."""
        mean = np.asarray(shares @ rows, np.float64)
        if rows.shape[0] < rows.shape[1]:
            return cls(_axes_of_few(rows, shares, mean, least), mean)
        moments = rows.T @ (rows.multiply(shares[:, None]) if is_sparse(rows) else rows * shares[:, None])
        moments = moments.toarray() if is_sparse(moments) else moments
        values, vectors = np.linalg.eigh(moments - np.outer(mean, mean))
        return cls(vectors[:, _kept(values, least)], mean)

    def coordinates(self, rows: Any) -> np.ndarray:
        """Coordinates of rows, of their precision."""
        return np.ascontiguousarray((rows @ self.axes - self.mean @ self.axes).astype(rows.dtype))

    def restored(self, model: Multilogit) -> Multilogit:
        """The model on rows that a model on their coordinates stands for."""
        return Multilogit(self.axes @ model.weights, model.biases - self.mean @ self.axes @ model.weights)


def _axes_of_few(rows: Any, shares: np.ndarray, mean: np.ndarray, least: float) -> np.ndarray:
    """The axes of fewer rows than columns, from their inner products."""
    root = np.sqrt(shares)[:, None]
    products = rows @ rows.T
    cross = np.asarray(rows @ mean)
    centered = (products.toarray() if is_sparse(products) else products) - cross[:, None] - cross + mean @ mean
    values, vectors = np.linalg.eigh(root * centered * root.T)
    kept = _kept(values, least)
    combined = root * vectors[:, kept]  # of centered rows
    axes = np.asarray(rows.T @ combined) - np.outer(mean, combined.sum(axis=0))
    return axes / np.sqrt(np.maximum(values[kept], np.finfo(np.float64).tiny))


def _kept(variances: np.ndarray, least: float) -> np.ndarray:
    """Which axes are kept, from the smallest variance to the largest."""
    kept = variances > least
    kept[-1] = True
    return kept
