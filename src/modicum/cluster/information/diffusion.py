"""Features by diffusion on a graph of neighbours: rows are similar if many short paths connect them.

The graph has the points of a sample as vertices, and edges to the nearest neighbours of each. Its normalised adjacency
has eigenvectors v_k and eigenvalues w_k; the features of point i are v_ik exp(-t (1 - w_k)), the state after time t of
a diffusion that starts at the point, scaled to unit length. New rows are joined to their nearest points and get the
features that would make v_k an eigenvector there too (Nystroem extension). So the graph and its eigenvectors need the
memory and the time of the sample only, however many rows there are.

Why the parts are as they are: edges have Gaussian weights with a local scale, the distance to the last neighbour, so
that density and units do not matter. The time is that at which the diffusion has a given effective dimension,
sum_k exp(-2 t (1 - w_k)): eigenvalues, and so the right time, change with the number of points. A point has no edge to
itself: far outliers would get eigenvectors of their own. Equal rows are one point of their joint weight.
"""

import math
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.optimize import brentq
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh

from modicum.cluster.information.features import ScaledRows
from modicum.numeric.nearest import several_nearest
from modicum.rules.invariants import Array, Is
from modicum.state.part import Part

NEIGHBORS = 7
DIMENSIONS_PER_CLUSTER = 1.5  # of the diffusion
DIMENSION = 15.0  # where the number of clusters is not known
EIGENVECTORS = 3.0  # per dimension: later ones have faded
FEWEST_EIGENVECTORS = 16
LONGEST = 1e3  # time: a graph in more parts than `DIMENSION` never gets down to it
LEAST_EIGENVALUE = 0.1  # by which the extension divides; only graphs of few points have smaller ones
FAINT = 1e-9  # weight of an edge to an outlier, so that it has neighbours at all
SHORTEST = 1e-200  # squared distance to the last neighbour: no division by zero
DENSE = 400  # points up to which all eigenvectors are computed at once
PRECISION = 1e-4  # of eigenvalues


class Diffusion(Part):
    """Diffusion coordinates of rows, centered and scaled to total variance 1."""

    _invariants = {
        "scaled": Is(ScaledRows, n_inputs="n_features"),
        "points": Array("dtype", "n_points", "n_features"),
        "reach": Array("float64", "n_points", above=0.0),
        "coordinates": Array("dtype", "n_points", "n_inputs"),
        "divisors": Array("dtype", "n_inputs", above=0.0),
        "centered": Is(ScaledRows, n_inputs="n_inputs"),
    }

    def __init__(self, scaled: ScaledRows, points: np.ndarray, reach: np.ndarray):
        self.scaled = scaled
        self.points = points
        self.reach = reach  # distance of each point to the last of its neighbours

    @classmethod
    def of(cls, X: np.ndarray, shares: np.ndarray, dimension: float = DIMENSION) -> Self:
        """The map for rows of these shares: all of them are points of the graph. Their order does not matter."""
        return cls.with_features(X, shares, dimension)[0]

    @classmethod
    def with_features(cls, X: np.ndarray, shares: np.ndarray, dimension: float = DIMENSION) -> tuple[Self, np.ndarray]:
        """The map, and the features of X, which need no search for neighbours."""
        scaled = ScaledRows.of(X, shares)
        points, which = np.unique(scaled(X), axis=0, return_inverse=True)
        mass = np.bincount(which.ravel(), shares)
        ids, gaps = neighbors(points)
        found = cls(scaled, points, np.sqrt(np.maximum(gaps.max(axis=1, initial=0.0), SHORTEST)))
        weights = found._weights(ids, gaps, found.reach) * mass[ids] * mass[:, None]
        found._diffuse(_symmetric(ids, weights), mass, dimension)
        return found, found.centered(unit(found.coordinates * found.divisors))[which.ravel()]

    def _diffuse(self, graph: Any, mass: np.ndarray, dimension: float) -> None:
        """Set the coordinates of the points."""
        degrees = np.asarray(graph.sum(axis=1)).ravel()
        root = sparse.diags_array(1.0 / np.sqrt(np.where(degrees > 0, degrees, 1.0)))
        walk = (root @ graph @ root).tocsr()
        eigenvalues, vectors = leading(walk, degrees, n_eigenvectors(dimension))
        fade = np.exp(-time_of(eigenvalues, dimension) * (1.0 - eigenvalues))
        divisors = np.maximum(eigenvalues, LEAST_EIGENVALUE)
        refined = walk @ vectors / divisors  # where rows are small, as for outliers, this is more precise
        vectors = np.where(eigenvalues > LEAST_EIGENVALUE, refined, vectors) * (fade * np.sqrt(degrees.sum()))
        self.divisors = divisors.astype(self.points.dtype)
        self.coordinates = (mass[:, None] * len(mass) * (root @ vectors) / divisors).astype(self.points.dtype)
        self.centered = ScaledRows.of(unit(self.coordinates * self.divisors), mass)

    def _weights(self, ids: np.ndarray, gaps: np.ndarray, reach: np.ndarray) -> np.ndarray:
        """Weights of edges from vertices of this reach to points, from squared distances."""
        return np.maximum(np.exp(-gaps / (reach[:, None] * self.reach[ids])), FAINT)

    def __call__(self, X: np.ndarray) -> Any:
        """Features of rows, of the precision of the rows; a row equal to a point has the features of the point."""
        rows = self.scaled(X)
        ids, gaps = several_nearest(rows, self.points, min(NEIGHBORS, len(self.points)))
        reach = np.sqrt(np.maximum(gaps[:, -1], SHORTEST))
        mutual = gaps <= self.reach[ids] ** 2  # the row would be a neighbour of the point, too: twice the weight
        weights = self._weights(ids, gaps, reach) * (1.0 + mutual)
        found = _edges(ids, weights, len(self.points)) @ self.coordinates
        equal = gaps[:, 0] == 0.0
        found[equal] = self.coordinates[ids[equal, 0]] * self.divisors
        return self.centered(unit(found.astype(X.dtype, copy=False)))


def neighbors(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The nearest other points of each point, and their squared distances."""
    n = len(points)
    count = min(NEIGHBORS, n - 1)
    ids, gaps = several_nearest(points, points, count + 1)
    own = ids == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True  # of points that are closer than rounding errors, it may be missing
    return ids[~own].reshape(n, count), gaps[~own].reshape(n, count)


def _edges(ids: np.ndarray, weights: np.ndarray, n_points: int) -> Any:
    """A sparse matrix with the weights of edges from each vertex to points."""
    n, count = ids.shape
    return sparse.csr_array((weights.ravel(), ids.ravel(), np.arange(n + 1) * count), shape=(n, n_points))


def _symmetric(ids: np.ndarray, weights: np.ndarray) -> Any:
    """The graph in which an edge that both of its ends have chosen counts twice."""
    directed = _edges(ids, weights, len(ids))
    return (directed + directed.T).tocsr()


def leading(walk: Any, degrees: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The `count` largest eigenvalues of the normalised adjacency, from the largest, and their eigenvectors.

    Each part of the graph has the eigenvalue 1, with the roots of its degrees as eigenvector. An iteration from one
    vector finds equal eigenvalues only once, so these are given to it.
    """
    n = walk.shape[0]
    if n <= max(DENSE, 2 * count):
        eigenvalues, vectors = np.linalg.eigh(walk.toarray())
    else:
        parts = part_vectors(walk, degrees, count)
        rest = LinearOperator((n, n), matvec=lambda x: walk @ x - parts @ (parts.T @ x), dtype=np.float64)
        start = np.random.default_rng(0).normal(size=n)
        more = max(1, count - parts.shape[1])
        eigenvalues, vectors = eigsh(rest, more, which="LA", v0=start, tol=PRECISION)
        eigenvalues = np.concatenate([np.ones(parts.shape[1]), eigenvalues])
        vectors = np.concatenate([parts.toarray(), vectors], axis=1)
    first = np.argsort(-eigenvalues)[:count]
    return eigenvalues[first], vectors[:, first]


def part_vectors(walk: Any, degrees: np.ndarray, most: int) -> Any:
    """Unit vectors of the parts of the graph with the largest degrees, at most so many."""
    n_parts, part = connected_components(walk, directed=False)
    sums = np.bincount(part, degrees)
    rank = np.empty(n_parts, int)
    rank[np.argsort(-sums, kind="stable")] = np.arange(n_parts)
    rows = np.flatnonzero(rank[part] < most)
    values = np.sqrt(degrees[rows] / sums[part[rows]])
    return sparse.csr_array((values, (rows, rank[part[rows]])), shape=(len(part), min(n_parts, most)))


def time_of(eigenvalues: np.ndarray, dimension: float) -> float:
    """The time at which the diffusion has the effective dimension."""

    def excess(time: float) -> float:
        return float(np.exp(-2.0 * time * (1.0 - eigenvalues)).sum()) - dimension

    if excess(0.0) <= 0.0:
        return 0.0
    return LONGEST if excess(LONGEST) >= 0.0 else float(brentq(excess, 0.0, LONGEST))


def unit(rows: np.ndarray) -> np.ndarray:
    """Rows of unit length; zero rows stay."""
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return rows / np.where(norms > 0.0, norms, 1.0)[:, None]


def n_eigenvectors(dimension: float) -> int:
    """How many eigenvectors a diffusion of such an effective dimension needs."""
    return max(FEWEST_EIGENVECTORS, math.ceil(EIGENVECTORS * dimension))
