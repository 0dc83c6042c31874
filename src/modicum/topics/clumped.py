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
from modicum.rows import take
from modicum.rules.invariants import Array, Is, Real
from modicum.rules.params import NULL, TRUTH
from modicum.state.part import Part
from modicum.topics.allocation import TopicAllocation
from modicum.topics.compression import TopicCompression
from modicum.topics.document_groups import merged
from modicum.topics.memory import DocumentMemory
from modicum.topics.model import Model
from modicum.topics.proportions import Proportions
from modicum.topics.search import Fit, Search
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
        "failed": Array("float64", None, low=0.0),
        "free_energy": Real(),
        "is_current": TRUTH,
        "rounds": Is(Rounds, width=len(COLUMNS), limit=MAX_ROUNDS),
    }

    def __init__(self, like: Any, n_statistics: int, max_rows: int):
        self.memory = DocumentMemory(like, n_statistics, max_rows)
        self.topics: Topics | None = None
        self.by_group = np.empty((0, 0))  # N_sk of the groups there were after the last round
        self.failed = np.empty(0)  # of topics: see `Model`
        self.free_energy = 0.0
        self.is_current = False  # whether the topics were learned from all rows
        self.rounds = Rounds(*COLUMNS, limit=MAX_ROUNDS)

    def add(self, rows: Any, weights: np.ndarray, begins: np.ndarray, ids: np.ndarray, settings: Settings) -> None:
        """Add items; a round follows whenever an epoch is full.

        `begins` is True where a document begins, and `ids` has the id of the document of each item.
        """
        epoch, done = settings.allocation.epoch, 0
        while done < len(begins):
            part = slice(done, min(done + epoch - self.n_buffered, len(begins)))
            self.memory.add(take(rows, part), weights[part], begins[part], ids[part][begins[part]])
            self.is_current, done = False, part.stop
            if self.n_buffered == epoch:
                self._compress(self.build(settings), settings)

    @property
    def n_buffered(self) -> int:
        """Items of the current epoch."""
        return self.memory.memory.n_buffered

    def fit(self, settings: Settings) -> Fit:
        """The topics of everything in memory, without a search: the last ones updated, or the first ones."""
        search, model = self._search(settings)
        return search.run(model) if self.topics is None else search.update(model)

    def build(self, settings: Settings) -> Fit:
        """Model building: learn the topics of everything in memory."""
        started = time.perf_counter()
        search, model = self._search(settings)
        fit = search.run(model)
        self._take(fit)
        sizes = len(self.memory.memory.clump_counts), len(self.memory.sizes)
        seconds = time.perf_counter() - started
        self.rounds.record(
            self.memory.memory.n_seen, self.memory.n_documents, len(fit.model), fit.free_energy, *sizes, seconds
        )
        return fit

    def _take(self, fit: Fit) -> None:
        self.topics, self.failed = fit.model.topics, fit.model.failed
        self.by_group = fit.model.proportions.counts[: len(self.by_group)]
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
        return search, Model(
            family, known.counts, known.sums, Proportions(memory.sizes, by_group, known.alpha), np.zeros(len(known))
        )

    def merge(self, other: "ClumpedTopics", settings: Settings) -> None:
        """Absorb topics and memory of another model, which both have had a round."""
        assert self.topics is not None
        assert other.topics is not None
        mine, theirs, family = self.topics, other.topics, self.topics.family
        n_mine, n_theirs = len(self.memory.sizes), len(other.memory.sizes)
        by_group = np.zeros((n_mine + n_theirs, len(mine) + len(theirs)))
        by_group[: len(self.by_group), : len(mine)] = self.by_group
        by_group[n_mine : n_mine + len(other.by_group), len(mine) :] = other.by_group
        self.memory.merge(other.memory, family, theirs.family)
        self.topics = Topics(
            family,
            np.append(mine.counts, theirs.counts),
            np.concatenate([mine.sums, family.translated_from(theirs.family, theirs.counts, theirs.sums)]),
            np.append(mine.alpha, theirs.alpha),
        )
        self.by_group, self.failed = by_group, np.append(self.failed, other.failed)
        self._compress(self.build(settings), settings)

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
        growth = (
            _growth(settings.horizon_items, items.counts.sum()),
            _growth(settings.horizon_documents, memory.sizes.sum()),
        )
        compression = TopicCompression(items, labels, proportions, *growth, allocation.cost, allocation.cell)
        groups = compression.run(allocation.beside(len(fit.model), len(memory.sizes)))
        memory.keep(items, groups, compression.is_loose)
        self.by_group = by_group


def _growth(horizon: float | None, total: float) -> float:
    """How many times as much is expected as has been seen."""
    return DEFAULT_HORIZON if horizon is None else max(1.0, horizon / total)
