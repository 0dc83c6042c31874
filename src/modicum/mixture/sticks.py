"""Stick-breaking weights of a Dirichlet process (blei2006; kurihara2007, section 3).

The posterior of the k-th fraction is Beta(1 + N_k, alpha + N_{k+1} + N_{k+2} + ...). Larger components come first: of
all orders this one has the largest evidence.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import betaln, digamma


@dataclass(frozen=True)
class Sticks:
    """Posterior of the weights of components with the given counts, in the order of the counts."""

    counts: np.ndarray
    concentration: float

    @cached_property
    def _order(self) -> np.ndarray:
        return np.argsort(-self.counts, kind="stable")

    @cached_property
    def _posterior(self) -> tuple[np.ndarray, np.ndarray]:
        """Both parameters of each Beta, from the largest component on."""
        counts = self.counts[self._order]
        rest = np.append(np.cumsum(counts[:0:-1])[::-1], 0.0)
        return 1.0 + counts, self.concentration + rest

    @property
    def log_evidence(self) -> float:
        """log p(assignments with these counts), with the weights integrated out."""
        return float((betaln(*self._posterior) - betaln(1.0, self.concentration)).sum())

    @property
    def divergence(self) -> float:
        """Kullback-Leibler divergence of the posterior from the prior."""
        return float(self.counts @ self.expected_logs) - self.log_evidence

    @cached_property
    def expected_logs(self) -> np.ndarray:
        """Expected log of each weight under the posterior."""
        a, b = self._posterior
        both = digamma(a + b)
        left = np.cumsum(digamma(b) - both)  # of the remaining stick after each break
        return self._in_order_of_counts(digamma(a) - both + np.append(0.0, left[:-1]))

    @cached_property
    def means(self) -> np.ndarray:
        """Mean of each weight; the rest up to 1 belongs to components not seen yet."""
        a, b = self._posterior
        left = np.cumprod(b / (a + b))
        return self._in_order_of_counts(a / (a + b) * np.append(1.0, left[:-1]))

    @property
    def mean_rest(self) -> float:
        """Mean of the total weight of all components that have not been seen."""
        a, b = self._posterior
        return float(np.prod(b / (a + b)))

    def _in_order_of_counts(self, values: np.ndarray) -> np.ndarray:
        out = np.empty_like(values)
        out[self._order] = values
        return out
