"""The rows of a source that a selection represents least."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.exceptions import DataError
from modicum.streams import Chunk, stream


@dataclass(frozen=True)
class Outliers:
    """Rows that are far from all picks, the farthest first.

    Attributes
    ----------
    ids : ndarray of int
        Row ids: positions in the source.
    scores : ndarray of float
        Dissimilarity to the nearest exemplar; of kernel prototypes, 1 - similarity to the most similar one.
    nearest : ndarray of int
        Row ids of that exemplar or prototype.
    """

    ids: np.ndarray
    scores: np.ndarray
    nearest: np.ndarray

    def __len__(self) -> int:
        return len(self.ids)


def find_outliers(learner: Any, source: Any, n_outliers: int) -> Outliers:
    """The `n_outliers` rows of a source that are least represented by what a learner has picked from it.

    Reads the source again, since only the final picks tell; holds `n_outliers` numbers and a chunk. Picks and rows
    of weight 0 are left out; of equally distant rows, the first come first.

    >>> import numpy as np
    >>> from modicum import ExemplarClustering
    >>> X = np.append(np.arange(10.0) / 10, 99.0)[:, None]
    >>> find_outliers(ExemplarClustering(1, phantom="mean", swaps="one").fit(X[:10]), X, 1).ids
    array([10])
    """
    rows = stream(source)
    if not rows.rereadable:
        raise DataError(f"{rows.name} can be read only once; outliers need a second pass. Write it to a file first.")
    picked = learner.picks().ids
    ids, scores, nearest = np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64)
    for chunk in rows:
        found = [np.concatenate(pair) for pair in zip((ids, scores, nearest), _scored(learner, chunk), strict=True)]
        allowed = np.flatnonzero(~np.isin(found[0], picked))
        best = allowed[np.lexsort((found[0][allowed], -found[1][allowed]))[:n_outliers]]
        ids, scores, nearest = (column[best] for column in found)
    return Outliers(ids, scores, nearest)


def _scored(learner: Any, chunk: Chunk) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ids, scores and nearest picks of the rows of a chunk."""
    present = slice(None) if chunk.sample_weight is None else np.flatnonzero(chunk.sample_weight)
    table = learner.table(chunk.X)
    if "dissimilarity" in table:
        scores, nearest = table["dissimilarity"], table["exemplar"]
    elif "similarity" in table:
        scores, nearest = 1.0 - table["similarity"], table["position"]
    else:
        raise ValueError(f"{type(learner).__name__} does not tell how well rows are represented.")
    return chunk.row_ids[present], scores[present].astype(np.float64), nearest[present]
