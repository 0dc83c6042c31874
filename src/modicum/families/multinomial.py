"""Multinomial counts under a Dirichlet prior (gomes2008, section 2.3.2)."""

import copy
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import digamma, gammaln

from modicum.exceptions import DataError
from modicum.families.directions import TINY, group_means, groups_of_items, principal_directions, sparse_projections
from modicum.families.family import Family, OpenUntilBound
from modicum.rows import as_csr, is_sparse, n_rows
from modicum.rules.invariants import Array


class Multinomial(Family):
    """Rows of counts, such as those of words in a document; the prior of the frequencies is Dirichlet.

    Rows may be dense or a CSR matrix, and so may be mean statistics.

    The likelihood is that of the words in their order, without the multinomial coefficient, which is the same for all
    components.

    Parameters
    ----------
    pseudocounts : float or array of shape (d,), default=0.5
        Parameters of the Dirichlet prior: added to the counts of each column.
    """

    _invariants = {"pseudocounts": [Array("float64", "n_features", above=0.0), OpenUntilBound()]}

    name = "multinomial"
    takes_sparse: ClassVar[bool] = True

    def __init__(self, pseudocounts: Any = 0.5):
        self.pseudocounts = pseudocounts

    @staticmethod
    def n_statistics_of(n_features: int) -> int:
        return n_features

    @staticmethod
    def n_prior_of(n_features: int) -> int:
        return n_features

    def centers(self, averages: np.ndarray) -> np.ndarray:
        return averages

    def bind(self, X: Any, weight: np.ndarray) -> Self:
        family = copy.copy(self)
        family.n_features = X.shape[1]
        family.pseudocounts = family._per_column("pseudocounts", self.pseudocounts)
        if not (family.pseudocounts > 0).all():
            raise ValueError(f"Multinomial: pseudocounts must be positive; got {self.pseudocounts!r}.")
        return family

    def check(self, X: Any, owner: str) -> None:
        super().check(X, owner)
        if (X.data if is_sparse(X) else X).min(initial=0.0) < 0:
            row, column = (int(at[0]) for at in (X < 0).nonzero())
            raise DataError(
                f"{owner}: Negative values in data: row {row}, column {column} of this chunk is {X[row, column]}, and "
                'family="multinomial" takes counts.'
            )

    def statistics(self, X: Any) -> Any:
        return X.astype(np.float64)

    def log_evidence(self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        before = self.pseudocounts
        after = before + sums
        change = gammaln(after).sum(axis=1) - gammaln(before).sum()
        return change + gammaln(before.sum()) - gammaln(after.sum(axis=1))

    def expected_log_likelihood(self, counts: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        after = self.pseudocounts + sums
        return digamma(after) - digamma(after.sum(axis=1))[:, None], np.zeros(len(sums))

    def log_predictive(self, X: Any, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        rows, columns, values = _entries(X)
        lengths = np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()
        out = np.empty((n_rows(X), len(sums)))
        for k, after in enumerate(self.pseudocounts + sums):
            gains = gammaln(after[columns] + values) - gammaln(after)[columns]
            out[:, k] = np.bincount(rows, gains, n_rows(X)) + gammaln(after.sum()) - gammaln(after.sum() + lengths)
        return out

    def log_plug_in(self, X: Any, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        return X @ np.log(self.means(counts, sums)).T

    def means(self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        after = self.pseudocounts + sums
        return after / after.sum(axis=1, keepdims=True)

    def covariances(self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        raise AttributeError("multinomial components have frequencies (means_) and no covariances.")

    def projections(self, counts: np.ndarray, averages: Any, starts: np.ndarray) -> np.ndarray:
        if is_sparse(averages):
            lengths = averages @ np.ones(self.n_features)
            scale = np.repeat(1 / np.maximum(lengths, TINY), np.diff(averages.indptr))
            shares = as_csr(averages.data * scale, averages.indices, averages.indptr, self.n_features)
            return sparse_projections(shares, counts * lengths, starts)[:, None]
        lengths, group = averages.sum(axis=1), groups_of_items(starts, len(counts))
        shares = averages / np.maximum(lengths, TINY)[:, None]
        steps = shares - group_means(counts * lengths, shares, starts)[group]
        directions = principal_directions(steps, counts * lengths, starts, np.zeros((len(starts), self.n_features)))
        return np.einsum("id,id->i", steps, directions[group])[:, None]

    def translated_from(self, other: Self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        return sums


def _entries(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, columns and values of the entries that are not zero."""
    if is_sparse(X):
        return np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), X.indices, X.data.astype(np.float64)
    rows, columns = np.nonzero(X)
    return rows, columns, X[rows, columns].astype(np.float64)
