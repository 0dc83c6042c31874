"""What the user asks of a topic model, and what its budget has room for."""

from dataclasses import dataclass

import numpy as np

from modicum.clumps.rounds import MAX_ROUNDS
from modicum.families import Family, Multinomial
from modicum.rules.budget import Budget
from modicum.topics.allocation import TopicAllocation, allocate
from modicum.topics.limits import Limits, limits_within

N_COLUMNS = 7  # of a history, at most
OTHER_BYTES = 512  # of numbers beside arrays


@dataclass(frozen=True)
class Settings:
    """Parameters of a topic model for rows of `n_features` numbers of a dtype."""

    what: str  # the class that errors name
    family: Family  # not bound to columns
    n_features: int
    dtype: np.dtype
    budget: Budget
    max_topics: int | None
    max_groups: int | None
    horizon_items: int | None
    horizon_documents: int | None
    epoch: int | None
    tol: float
    decay: float = 1.0  # of the weight of a document, for each later one

    @property
    def are_words(self) -> bool:
        """Whether rows are documents of words, rather than items that are numbers."""
        return isinstance(self.family, Multinomial)

    @property
    def limits(self) -> Limits:
        """What sweeps may hold."""
        return limits_within(
            self.budget, self.n_features, self.max_topics, self.fixed_bytes, self.what, fade=self.decay < 1
        )

    @property
    def allocation(self) -> TopicAllocation:
        """What clumps may hold."""
        sizes = self.n_features, self.n_statistics, self.item_bytes, self.fixed_bytes
        return allocate(self.budget, self.epoch, self.max_topics, self.max_groups, *sizes, self.what)

    @property
    def n_statistics(self) -> int:
        return self.family.n_statistics_of(self.n_features)

    @property
    def item_bytes(self) -> int:
        """Bytes of an item: a row of numbers, or a word with its column and the end of the row."""
        return self.dtype.itemsize + 8 if self.are_words else self.n_features * self.dtype.itemsize

    @property
    def fixed_bytes(self) -> int:
        """Bytes of the prior, the history and single numbers."""
        return 8 * self.family.n_prior_of(self.n_features) + 8 * N_COLUMNS * MAX_ROUNDS + OTHER_BYTES
