"""The posterior of topics and of the proportions of documents (gomes2008topics, eq. 3.4-3.7, 3.18-3.20)."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from modicum.families import Family
from modicum.topics.proportions import Proportions
from modicum.topics.topics import Topics


@dataclass(frozen=True)
class Model:
    """Posterior of topics: counts and sums of statistics (eq. 3.18, 3.19), and of the proportions of groups."""

    family: Family
    counts: np.ndarray
    sums: np.ndarray
    proportions: Proportions
    failed: np.ndarray  # the count of each topic when a split of it last failed, else 0

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def topics(self) -> Topics:
        """The topics alone."""
        return Topics(self.family, self.counts, self.sums, self.proportions.alpha)

    @property
    def evidence(self) -> np.ndarray:
        """log p(items of each topic)."""
        return self.family.log_evidence(self.counts, self.sums)

    def taking(self, which: Any) -> "Model":
        """The topics in `which`, in that order."""
        known = self.proportions
        proportions = replace(known, counts=known.counts[:, which], alpha=known.alpha[which])
        return Model(self.family, self.counts[which], self.sums[which], proportions, self.failed[which])

    def adding(self, others: list["Model"]) -> "Model":
        """These topics, and after them those of other models of the same groups."""
        models = [self, *others]
        counts = np.concatenate([model.proportions.counts for model in models], axis=1)
        alpha = np.concatenate([model.proportions.alpha for model in models])
        return Model(
            self.family,
            np.concatenate([model.counts for model in models]),
            np.concatenate([model.sums for model in models]),
            replace(self.proportions, counts=counts, alpha=alpha),
            np.concatenate([model.failed for model in models]),
        )

    def added_up(self) -> "Model":
        """One topic instead of all."""
        known = self.proportions
        proportions = replace(
            known, counts=known.counts.sum(axis=1, keepdims=True), alpha=known.alpha.sum(keepdims=True)
        )
        counts, sums = self.counts.sum(keepdims=True), self.sums.sum(axis=0, keepdims=True)
        return Model(self.family, counts, sums, proportions, np.zeros(1))

    @property
    def score(self) -> float:
        """The part of the free energy that topics have of their own: all but the entropy of assignments."""
        known = self.proportions
        return float(self.evidence.sum() + known.log_evidence_of(known.counts, known.alpha).sum())
