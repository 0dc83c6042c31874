"""Certificates: how much better than the chosen rows any others can be, from one more pass over the stream.

For a monotone submodular F, chosen rows S and any set B of k rows

    F(B) <= F(S + B) <= F(S) + sum over r in B of [F(S + r) - F(S)] <= F(S) + the k largest gains of single rows

(minoux1978, who skips rows by it). It needs no theorem on how S was found, and holds for any S.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.contract.learner import Learner
from modicum.contract.validation import check_columns
from modicum.rows import n_rows, take
from modicum.select.guarantees import SelectionGuarantee
from modicum.streams import Chunk, Stream, stream

BLOCK = 1024  # rows whose gains are computed together


@dataclass(frozen=True, kw_only=True)
class Certificate(SelectionGuarantee):
    """A value that no set of `n_chosen` of the rows that were read exceeds, as computed from them.

    Attributes
    ----------
    gains : ndarray
        What each of the `n_chosen` rows that would add most to the chosen ones would gain, the largest first.
    n_rows : int
        Rows that were read.
    """

    gains: np.ndarray
    n_rows: int

    def _by_theorem(self) -> float:
        return self.value + float(self.gains.sum())

    @property
    def share(self) -> float:
        """The chosen rows reach at least this share of the best possible value; on the validation sample, if any."""
        best = self._by_theorem() if self.epsilon else self.optimum_at_most
        return min(self.value / best, 1.0) if best > 0 else 1.0

    def __str__(self) -> str:
        where = " on the validation sample" if self.epsilon else ""
        share = f"The chosen rows reach at least {self.share:.1%} of the best possible value{where}"
        return f"{super().__str__()} {share}, as one more pass over {self.n_rows:,} rows shows."


class LargestGains:
    """The k largest of all gains that were offered."""

    def __init__(self, k: int):
        self._k = k
        self._gains = np.empty(0)

    def offer(self, gains: np.ndarray) -> None:
        found = np.concatenate([self._gains, np.maximum(gains, 0.0)])
        self._gains = found if len(found) <= self._k else np.partition(found, len(found) - self._k)[-self._k :]

    @property
    def values(self) -> np.ndarray:
        """The largest first."""
        return np.sort(self._gains)[::-1]


def largest_gains(
    learner: Any, chunks: Iterable[Chunk], k: int, gains_of: Callable[[Any, np.ndarray], np.ndarray]
) -> tuple[np.ndarray, int]:
    """(the k largest gains of all rows, how many rows there are); `gains_of(rows, ids)` are those of some.

    Rows of weight 0 are absent.
    """
    largest, count = LargestGains(k), 0
    for chunk in chunks:
        X, ids = learner._check_input(chunk.X), chunk.row_ids
        if chunk.sample_weight is not None:
            present = np.flatnonzero(chunk.sample_weight)
            X, ids = take(X, present), ids[present]
        for start in range(0, n_rows(X), BLOCK):
            block = slice(start, start + BLOCK)
            largest.offer(gains_of(take(X, block), ids[block]))
        count += n_rows(X)
    return largest.values, count


class Certifies(Learner):
    """A learner that can certify what it has chosen. A subclass writes `_certify`."""

    def certify(self, source: Any, *, confidence: float = 0.95) -> Certificate:
        """How much better any other rows of a source could be, from one more pass over it.

        The source is what was learned: an array, a sparse matrix, a list of objects or a `modicum.stream`. Holds the
        `n_chosen` largest gains and a chunk. `confidence` is that of the validation sample, where there is one. A
        ValueError if the objective is not submodular.
        """
        self._check_fitted()
        chunks = source if isinstance(source, Stream) else stream(source)
        check_columns(f"{type(self).__name__}.certify", self.column_names_, chunks.columns)
        return self._certify(chunks, confidence)

    def _certify(self, chunks: Iterable[Chunk], confidence: float) -> Certificate:
        """Hook: the certificate, from one pass over the chunks."""
        raise NotImplementedError(f"{type(self).__name__} must define _certify")

    def _same_rows(self, n_rows: int, epsilon: float) -> tuple[str, ...]:
        """The condition under which an error of the validation sample is that of the rows that were read."""
        return () if n_rows == self.n_seen_ or not epsilon else ("these rows are a sample of what was learned",)
