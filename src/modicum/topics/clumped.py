"""Topics of documents in bounded memory, by clumps of items (gomes2008topics, sections 3.4 and 3.5).

A round has two phases. Model building searches for topics of everything in memory, initialized with the last ones.
Compression merges documents with similar proportions into groups, and items that would have the same topic however the
stream continues into clumps, of which only count, statistics and counts by group are kept.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.clumps.rounds import MAX_ROUNDS, Rounds
from modicum.families import Family
from modicum.rules.invariants import Array, Is, Real, Whole
from modicum.rules.params import NULL, TRUTH
from modicum.state.part import Part
from modicum.topics.allocation import TopicAllocation
from modicum.topics.compression import TopicCompression
from modicum.topics.document_groups import merged
from modicum.topics.memory import DocumentMemory
from modicum.topics.proportions import Proportions
from modicum.topics.search import Fit, Model, Search
from modicum.topics.topics import Topics

COLUMNS = ("n_seen", "documents", "topics", "free_energy", "clumps", "groups", "seconds")  # of the history
DEFAULT_HORIZON = 2.0  # times what has been seen


@dataclass(frozen=True)
class Settings:
    """What the user asks for."""

    family: Family  # not bound to columns
    allocation: TopicAllocation
    horizon_items: float | None
    horizon_documents: float | None
    tol: float


class ClumpedTopics(Part):
    """Topics, and the memory that they were learned from."""

    _invariants = {
        "memory": Is(DocumentMemory),
        "topics": [NULL, Is(Topics)],
        "by_group": Array("float64", None, None, low=0.0),
        "free_energy": Real(),
        "is_current": TRUTH,
        "n_buffered": Whole(0),
        "rounds": Is(Rounds, width=len(COLUMNS), limit=MAX_ROUNDS),
    }

    def __init__(self, like: Any, n_statistics: int, max_rows: int):
        self.memory = DocumentMemory(like, n_statistics, max_rows)
        self.topics: Topics | None = None
        self.by_group = np.empty((0, 0))  # N_sk of the groups there were after the last round
        self.free_energy = 0.0
        self.is_current = False  # whether the topics were learned from all rows
        self.n_buffered = 0  # rows since the last compression, as they were given
        self.n_seen = 0
        self.rounds = Rounds(*COLUMNS, limit=MAX_ROUNDS)

    def add(
        self, rows: Any, weights: np.ndarray, begins: np.ndarray, ids: np.ndarray, n_rows: int, settings: Settings
    ) -> None:
        """Add the items of `n_rows` rows; a round follows when the epoch is full."""
        self.memory.add(rows, weights, begins, ids)
        self.n_buffered += n_rows
        self.n_seen += n_rows
        self.is_current = False
        if self.n_buffered == settings.allocation.epoch:
            self._compress(self.build(settings), settings)

    def build(self, settings: Settings) -> Fit:
        """Model building: learn the topics of everything in memory."""
        started = time.perf_counter()
        search, model = self._search(settings)
        fit = search.run(model)
        self._take(fit)
        sizes = len(self.memory.memory.clump_counts), len(self.memory.sizes)
        seconds = time.perf_counter() - started
        self.rounds.record(self.n_seen, self.memory.n_documents, len(fit.model), fit.free_energy, *sizes, seconds)
        return fit

    def _take(self, fit: Fit) -> None:
        model = fit.model
        self.topics = Topics(model.family, model.counts, model.sums, model.proportions.alpha)
        self.by_group = model.proportions.counts[: len(self.by_group)]
        self.free_energy, self.is_current = fit.free_energy, True

    def _search(self, settings: Settings) -> tuple[Search, Model]:
        """A search for topics of everything in memory, and the model to start from."""
        memory, known = self.memory, self.topics
        if known is None:
            family = settings.family.bind(memory.memory.rows.values, memory.memory.weights)
        else:
            family = known.family
        search = Search(memory.items(family), memory.sizes, settings.tol, settings.allocation.max_topics)
        if known is None:
            return search, search.first_model(family)
        items = memory.items(family)
        by_group = np.repeat(items.by_group(items.counts[:, None]) / len(known), len(known), axis=1)
        by_group[: len(self.by_group)] = self.by_group
        return search, Model(family, known.counts, known.sums, Proportions(memory.sizes, by_group, known.alpha), np.zeros(len(known)))

    def _compress(self, fit: Fit, settings: Settings) -> None:
        """Compress the memory, to make room for the next epoch."""
        allocation, memory = settings.allocation, self.memory
        labels, by_group = fit.shares.argmax(axis=1), fit.model.proportions.counts
        if len(memory.sizes) > allocation.max_groups:
            expected = fit.model.proportions.expected
            into = merged(expected, memory.sizes, allocation.max_groups, apart=len(memory.sizes) - 1)
            memory.merge_documents(into)
            by_group = np.stack([np.bincount(into, column) for column in by_group.T], axis=1)
        items = memory.items(fit.model.family)
        proportions = Proportions(memory.sizes, by_group, fit.model.proportions.alpha)
        growth = _growth(settings.horizon_items, items.counts.sum()), _growth(settings.horizon_documents, memory.sizes.sum())
        compression = TopicCompression(items, labels, proportions, *growth, allocation.cost, allocation.cell)
        groups = compression.run(allocation.beside(len(fit.model), len(memory.sizes)))
        memory.keep(items, groups, compression.is_loose)
        self.by_group, self.n_buffered = by_group, 0


def _growth(horizon: float | None, total: float) -> float:
    """How many times as much is expected as has been seen."""
    return DEFAULT_HORIZON if horizon is None else max(1.0, horizon / total)
