"""Sweeps over held documents: topics and topic counts of documents in turn (asuncion2009, section 2.4).

With theta_dk proportional to n_dk + alpha and phi_kw to n_wk + eta_w, each word of a document belongs to topic k with a
probability proportional to theta_dk phi_kw. These are the updates of CVB0 without its corrections for a single word;
they are exact EM steps for

    sum_dw n_dw log(theta_d . phi_w) + alpha sum_dk log theta_dk + sum_wk (frozen_wk + eta_w) log phi_kw,

which therefore never falls. Frozen counts are those of documents that are held no longer. Nothing is kept per word of
a document but its count.
"""

import numpy as np
from scipy.sparse import csr_matrix

from modicum._jit import topics as loops
from modicum.numeric.parallel import run_tiles

DOCUMENTS, WORDS = 128, 256  # in a tile
SURE = 4.0  # standard errors over documents, for a gain that is no chance


def frequencies(sums: np.ndarray, pseudocounts: np.ndarray) -> np.ndarray:
    """Smoothed word frequencies of topics, of counts (words, topics)."""
    masses = sums.sum(axis=0, dtype=np.float64) + pseudocounts.sum()
    return (sums + pseudocounts.astype(np.float32)[:, None]) / masses.astype(np.float32)


class Sweeps:
    """Documents with their topic counts (documents, topics), which are updated in place.

    With weights of documents, the words that they leave in topics are weighted; their own topic counts are not.
    """

    def __init__(self, documents: csr_matrix, counts: np.ndarray, alpha: float, weights: np.ndarray | None = None):
        self.documents = documents
        self.counts = counts
        self.alpha = np.float32(alpha)
        self.weights = weights
        self._shares = np.empty_like(counts)
        self._ratios = np.empty(documents.nnz, np.float32)
        places = np.argsort(documents.indices, kind="stable")
        owners = np.repeat(np.arange(documents.shape[0]), np.diff(documents.indptr))
        ends = np.cumsum(np.bincount(documents.indices, minlength=documents.shape[1]))
        self._by_word = (np.append(0, ends), owners[places], places)

    @property
    def _by_document(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.documents.indptr, self.documents.indices, self.documents.data

    def assign(self, phi: np.ndarray, times: int = 1) -> None:
        """Update the topic counts of documents, given the topics."""

        def work(tile: slice) -> None:
            for _ in range(times):
                loops.assign(
                    tile.start, tile.stop, *self._by_document, phi, self.alpha, self.counts, self._shares, self._ratios
                )

        run_tiles(work, self.documents.shape[0], DOCUMENTS)

    def collect(self, phi: np.ndarray) -> np.ndarray:
        """Word counts of topics (words, topics) by the assignment of words on which the last update rests."""
        sums, ratios = np.empty_like(phi), self._ratios
        if self.weights is not None:
            ratios = ratios * np.repeat(self.weights.astype(np.float32), np.diff(self.documents.indptr))

        def work(tile: slice) -> None:
            loops.collect(tile.start, tile.stop, *self._by_word, ratios, self._shares, phi, sums)

        run_tiles(work, len(phi), WORDS)
        return sums

    def scores(self, phi: np.ndarray) -> np.ndarray:
        """Log-likelihoods of documents."""
        out = np.empty(self.documents.shape[0])

        def work(tile: slice) -> None:
            loops.score(tile.start, tile.stop, *self._by_document, phi, self.alpha, self.counts, out)

        run_tiles(work, self.documents.shape[0], DOCUMENTS)
        return out

    def gains(self, phi: np.ndarray, partners: np.ndarray, together: np.ndarray) -> np.ndarray:
        """Change of the log-likelihood if topic k and its partner both have the frequencies `together[:, k]`.

        It is a lower limit: `SURE` standard errors less than the sum over documents.
        """
        out = np.empty(self.counts.shape)

        def work(tile: slice) -> None:
            model = phi, partners, together, self.alpha, self.counts
            loops.compare(tile.start, tile.stop, *self._by_document, *model, self._ratios, out)

        run_tiles(work, self.documents.shape[0], DOCUMENTS)
        if self.weights is not None:
            out *= self.weights[:, None]
        return out.sum(axis=0) - SURE * np.sqrt((out**2).sum(axis=0))
