"""Topic proportions of documents, and of groups of documents that share them (gomes2008topics, eq. 3.5, 3.20, 3.22)."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from scipy.special import digamma, gammaln

PRIOR_RATE = 0.5  # b of the exponential prior of every alpha (a = 1 in eq. 3.12), as in the experiments of the paper
LEAST_ALPHA = 1e-10  # of a topic that no document has; digamma and log-gamma stay finite


@dataclass(frozen=True)
class Proportions:
    """Posterior of the topic proportions of groups: Dirichlet(alpha + N_s / D_s) for each of the D_s documents."""

    sizes: np.ndarray  # D_s, documents in each group
    counts: np.ndarray  # N_sk, expected items of each group and topic
    alpha: np.ndarray

    @cached_property
    def means(self) -> np.ndarray:
        """N_sk / D_s."""
        return self.counts / self.sizes[:, None]

    @cached_property
    def expected_logs(self) -> np.ndarray:
        """Expected log of each proportion, without the term that is the same for all topics."""
        return digamma(self.means + self.alpha)

    @property
    def expected(self) -> np.ndarray:
        """Mean proportions of each group."""
        after = self.means + self.alpha
        return after / after.sum(axis=1, keepdims=True)

    @property
    def log_evidence(self) -> float:
        """log p(assignments), with the proportions integrated out, and the prior of alpha."""
        of_topics = (self.sizes @ (gammaln(self.means + self.alpha) - gammaln(self.alpha))).sum()
        total = self.alpha.sum()
        of_groups = self.sizes @ (gammaln(total) - gammaln(total + self.means.sum(axis=1)))
        return float(of_topics + of_groups - PRIOR_RATE * total)  # the prior up to a constant (errata of eq. 3.29)

    def log_evidence_of(self, counts: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        """The terms of `log_evidence` that depend on one topic only, for topics with other counts (S, K) and alpha."""
        return self.sizes @ (gammaln(counts / self.sizes[:, None] + alpha) - gammaln(alpha))

    def fitted(self) -> Self:
        """The same counts with a better alpha: one step of minka2000, which never lowers the evidence (eq. 3.22)."""
        total = self.alpha.sum()
        gains = self.sizes @ (self.expected_logs - digamma(self.alpha))
        gain_of_all = self.sizes @ (digamma(total + self.means.sum(axis=1)) - digamma(total))
        alpha = self.alpha * gains / (PRIOR_RATE + gain_of_all)
        return replace(self, alpha=np.maximum(alpha, LEAST_ALPHA))
