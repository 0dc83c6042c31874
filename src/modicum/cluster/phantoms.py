"""The phantom of exemplar clustering: made from the first rows, updated along the stream (gomes2010, eq. 3.6).

An objective holds the phantom as a row, or as a number, its dissimilarity to every row. The classes here hold what is
needed to update it.
"""

from abc import abstractmethod
from typing import Any

import numpy as np

from modicum.exceptions import DataError
from modicum.kernels import Dissimilarity
from modicum.numeric.moments import RunningMean
from modicum.rows import is_sparse, n_rows, take
from modicum.rules.invariants import Is
from modicum.rules.params import OneOf
from modicum.select.objectives.exemplar import ExemplarObjective
from modicum.state.part import Part

NAMES = OneOf("far", "mean", "origin", "random")
FAR = 2.0  # the far phantom's dissimilarity, relative to the largest one known
PROBES = 32, 512  # rows of the first chunk whose dissimilarities are compared to find the largest
DRIFT = 1e-4  # squared distance that the mean may move, relative to the variance, before the phantom is updated


class Phantom(Part):
    """A phantom exemplar. Subclasses update that of an objective along the stream."""

    def learn(self, X: Any, weight: np.ndarray | None) -> None:
        """Learn from rows of the stream, before the objective does."""

    @abstractmethod
    def update(self, F: ExemplarObjective) -> None:
        """Move the phantom of an objective if it must be elsewhere by now."""

    def fade(self, factor: float) -> None:
        """Multiply the weight of what was learned by a factor."""

    def merge(self, other: Any) -> None:
        """Learn what another phantom of the same kind has learned."""


class FixedPhantom(Phantom):
    """A phantom that never changes: a number, a row, the origin, or a random vector."""

    def update(self, F: ExemplarObjective) -> None:
        """Leave it where it is."""


class FarPhantom(Phantom):
    """A number that is larger than the dissimilarity of any validation row to its nearest exemplar."""

    @staticmethod
    def initial(X: Any, dissimilarity: Dissimilarity, rng: np.random.Generator) -> float:
        """A value found from some of the first rows."""
        some, more = (rng.permutation(n_rows(X))[:count] for count in PROBES)
        largest = float(dissimilarity(take(X, some), take(X, more)).max())
        if not np.isfinite(largest):
            raise DataError("ExemplarClustering: dissimilarities overflow. Scale the rows down first.")
        return FAR * largest or 1.0

    def update(self, F: ExemplarObjective) -> None:
        nearest = F.to_exemplars.min(axis=1, initial=np.inf)
        largest = float(nearest.max(initial=0.0, where=np.isfinite(nearest)))
        if largest >= F.phantom:
            F.move_phantom(FAR * largest)


class MeanPhantom(Phantom):
    """The mean of the stream; the objective's phantom is moved when that matters."""

    _invariants = {"moments": Is(RunningMean, width="n_features")}

    def __init__(self, moments: RunningMean):
        self.moments = moments

    def learn(self, X: Any, weight: np.ndarray | None) -> None:
        self.moments.add(X, weight)

    def update(self, F: ExemplarObjective) -> None:
        phantom = F.phantom.toarray() if is_sparse(F.phantom) else F.phantom
        mean = self.moments.mean
        if ((mean - phantom[0]) ** 2).sum() > DRIFT * self.moments.variance:
            F.move_phantom(row_like(mean, F.rows.values))

    def fade(self, factor: float) -> None:
        self.moments.fade(factor)

    def merge(self, other: "MeanPhantom") -> None:
        self.moments.merge(other.moments)


def phantom_class(given: Any) -> type[Phantom]:
    """The class of the phantom that the parameter `phantom` asks for."""
    classes: dict[Any, type[Phantom]] = {"far": FarPhantom, "mean": MeanPhantom}
    return classes.get(given, FixedPhantom) if isinstance(given, str) else FixedPhantom


def named_phantom(
    name: str, X: Any, weight: np.ndarray | None, dissimilarity: Dissimilarity, rng: np.random.Generator
) -> tuple[Phantom, Any]:
    """A phantom by its name with its first value, from the first rows of a stream."""
    if name == "far":
        return FarPhantom(), FarPhantom.initial(X, dissimilarity, rng)
    if isinstance(X, list):
        raise ValueError(f'ExemplarClustering: objects have no phantom "{name}". Use phantom="far" or a number.')
    moments = RunningMean(X.shape[1])
    moments.add(X, weight)
    if name == "mean":
        return MeanPhantom(moments), row_like(moments.mean, X)
    if name == "origin":
        return FixedPhantom(), row_like(np.zeros(X.shape[1]), X)
    spread = np.sqrt(moments.variance / X.shape[1])
    return FixedPhantom(), row_like(moments.mean + spread * rng.standard_normal(X.shape[1]), X)


def row_like(row: np.ndarray, X: Any) -> Any:
    """A vector as one row of the kind and dtype of X."""
    row = row.astype(X.dtype)[None]
    if is_sparse(X):
        from scipy import sparse

        return sparse.csr_matrix(row)
    return row
