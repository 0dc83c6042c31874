"""Limits of what a topic model of words holds, from a budget of documents or of bytes."""

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from modicum.exceptions import BudgetError
from modicum.rules.budget import Budget, Plan, sufficient_bytes

MOST_TOPICS = 512  # an update takes time in proportion to the topics
NUMBER, INDEX, POINTER, ID, KEY, WEIGHT = 4, 4, 4, 8, 8, 8  # bytes
FEWEST_DOCUMENTS = 4  # in a budget of bytes
MOST_BYTES = 2**60


@dataclass(frozen=True)
class Limits:
    """What documents may cost together, and the most topics.

    A budget of documents counts these: each costs 1. One of bytes covers everything that is held.
    """

    capacity: int
    max_topics: int
    document_cost: int = 1
    nonzero_cost: int = 0

    @property
    def epoch(self) -> int:
        """The cost of documents that are learned together."""
        return max(1, self.capacity // 12)

    @property
    def reservoir(self) -> int:
        """What the sample of old documents may cost."""
        return (self.capacity - self.epoch) // 8

    @property
    def window(self) -> int:
        """What the latest learned documents may cost."""
        return self.capacity - self.epoch - self.reservoir

    def costs(self, nonzeros: np.ndarray) -> np.ndarray:
        """Costs of documents with these numbers of nonzero counts."""
        return self.document_cost + self.nonzero_cost * nonzeros.astype(np.int64)


def limits_within(
    budget: Budget, n_words: int, max_topics: int | None, fixed_bytes: int, what: str, *, fade: bool = False
) -> Limits:
    """The limits for a budget; by default a topic for every 3 documents, or topics in half of the bytes."""
    most = MOST_TOPICS if max_topics is None else max_topics
    if budget.nbytes is None:
        capacity = budget.rows or 1
        return Limits(capacity, most if max_topics else max(1, min(most, capacity // 3)))

    def limits_of(nbytes: int) -> Limits:
        return _limits_of_bytes(nbytes, n_words, most, POINTER + ID + KEY + WEIGHT * fade)

    limits = limits_of(budget.nbytes - fixed_bytes)
    if not _suffices(limits, n_words):
        sizes = range(MOST_BYTES)
        least = bisect_left(sizes, True, key=lambda size: _suffices(limits_of(size), n_words))
        raise BudgetError(f"{what} needs a budget of at least {sufficient_bytes(fixed_bytes + least)}; got {budget}.")
    return limits


def _limits_of_bytes(nbytes: int, n_words: int, most: int, per_document: int) -> Limits:
    """Half of the bytes for topics, unless these are as many as allowed, and the rest for documents."""
    per_topic = 2 * NUMBER * n_words
    topics = min(most, max(1, nbytes // (2 * (per_topic + FEWEST_DOCUMENTS**2 * NUMBER))))
    cost = per_document + NUMBER * topics
    return Limits(nbytes - topics * per_topic - POINTER, topics, cost, NUMBER + INDEX)


def _suffices(limits: Limits, n_words: int) -> bool:
    """Whether there is room for a few documents that contain every word."""
    return limits.capacity >= FEWEST_DOCUMENTS * int(limits.costs(np.array(n_words)))


def plan_of(limits: Limits, n_words: int, fixed_bytes: int) -> Plan:
    """The memory that is held at most; for a budget of documents as if each contained every word."""
    each = limits.document_cost
    documents, topics = limits.capacity + POINTER, 2 * NUMBER * n_words * limits.max_topics
    if not limits.nonzero_cost:
        documents += limits.capacity * (
            POINTER + ID + KEY + WEIGHT + NUMBER * limits.max_topics + (NUMBER + INDEX) * n_words
        )
    return Plan.of(limits.capacity // each, documents=documents, topics=topics, other=fixed_bytes)
