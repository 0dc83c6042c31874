"""Comparisons of any rows with the chosen exemplars, tile by tile."""

from typing import Any

import numpy as np

from modicum.kernels import Dissimilarity
from modicum.numeric.parallel import run_tiles
from modicum.rows import n_rows, take
from modicum.select.apart import Close
from modicum.select.objectives.exemplar import ExemplarObjective

ROWS_PER_TILE = 4096  # compared with all exemplars together
ROUNDING = 1e-12  # of a dissimilarity of equal rows, in float64


def dissimilarities(F: ExemplarObjective, X: Any) -> np.ndarray:
    """Dissimilarities of every exemplar to every row, rows x exemplars."""
    out = np.empty((n_rows(X), F.n_chosen), F.near.dtype)

    def fill(tile: slice) -> None:
        out[tile] = F.dissimilarity(F.chosen.values, take(X, tile)).T

    run_tiles(fill, len(out), ROWS_PER_TILE)
    return out


def nearest_exemplars(F: ExemplarObjective, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """The slot of the nearest exemplar of each row, and the dissimilarity to it."""
    slots, distance = np.empty(n_rows(X), np.int64), np.empty(n_rows(X), F.near.dtype)

    def fill(tile: slice) -> None:
        D = F.dissimilarity(F.chosen.values, take(X, tile))
        slots[tile] = D.argmin(axis=0)
        distance[tile] = D.min(axis=0)

    run_tiles(fill, len(slots), ROWS_PER_TILE)
    return slots, distance


def within_dissimilarity(dissimilarity: Dissimilarity, limit: float) -> Close:
    """Whether the dissimilarity of two rows, in one direction or the other, is within a limit."""

    def close(A: Any, B: Any) -> np.ndarray:
        A, B = (X if isinstance(X, list) else X.astype(np.float64) for X in (A, B))
        return np.minimum(dissimilarity(A, B), dissimilarity(B, A).T) <= limit + ROUNDING

    return close
