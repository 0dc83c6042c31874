"""Documents as groups of items: words with counts, or rows of numbers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from modicum.numeric.parallel import run_tiles
from modicum.rows import as_csr, is_sparse

TILE_DOCUMENTS = 64


@dataclass(frozen=True)
class Documents:
    """Documents whose items are words, or rows of numbers.

    Those of document j are at borders[j] .. borders[j + 1] of `words` and `weights`. A word is an index: into the
    vocabulary or, where there are `rows`, into these.
    """

    borders: np.ndarray
    words: np.ndarray
    weights: np.ndarray
    rows: np.ndarray | None = None

    @classmethod
    def of_counts(cls, X: Any) -> Self:
        """Documents given by counts of words: rows of a CSR matrix or an array."""
        X = X if is_sparse(X) else sparse.csr_matrix(X)
        if not X.data.all():
            X = X.copy()
            X.eliminate_zeros()
        return cls(X.indptr, X.indices, X.data.astype(np.float64))

    @classmethod
    def of_rows(cls, rows: np.ndarray, lengths: Any) -> Self:
        """Documents of consecutive rows; `lengths` are their numbers of rows."""
        return cls(np.cumsum([0, *lengths]), np.arange(len(rows)), np.ones(len(rows)), rows)

    def __len__(self) -> int:
        return len(self.borders) - 1

    @property
    def of_items(self) -> np.ndarray:
        """The document of each item."""
        return np.repeat(np.arange(len(self)), np.diff(self.borders))

    def one_hot(self, like: Any) -> Any:
        """Words as rows of a CSR matrix, each with a 1 in its column, of the dtype and width of another matrix."""
        ones, borders = np.ones(len(self.words), like.dtype), np.arange(len(self.words) + 1)
        return as_csr(ones, self.words, borders, like.shape[1])

    def totals(self, values: np.ndarray) -> np.ndarray:
        """Sums over the items of each document."""
        return np.bincount(self.of_items, values, minlength=len(self)).astype(np.float64)  # ints if there are no items

    def halves(self, rng: np.random.Generator) -> tuple[Self, Self]:
        """Each item in one of two halves, at random; the occurrences of a word are divided."""
        if (self.weights == np.floor(self.weights)).all():
            first = rng.binomial(self.weights.astype(np.int64), 0.5).astype(np.float64)
        else:  # counts that are not whole can't be divided
            first = self.weights * rng.integers(0, 2, len(self.weights))
        return self._with(first), self._with(self.weights - first)

    def _with(self, weights: np.ndarray) -> Self:
        """The same documents with other weights of items; those of weight 0 are left out."""
        kept = weights > 0
        borders = np.append(0, np.cumsum(kept))[self.borders]
        return type(self)(borders, self.words[kept], weights[kept], self.rows)

    def run(self, loop: Callable[..., object], *arrays: Any, by_document: tuple[np.ndarray, ...]) -> None:
        """Call a compiled loop for some documents at a time, on all threads; `by_document` has a row for each."""

        def work(tile: slice) -> None:
            loop(self.borders[tile.start : tile.stop + 1], self.words, *arrays, *(each[tile] for each in by_document))

        run_tiles(work, len(self), TILE_DOCUMENTS)
