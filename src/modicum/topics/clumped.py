"""Topics of documents in bounded memory, by clumps of items (gomes2008topics, sections 3.4 and 3.5).

A round has two phases. Model building searches for topics of everything in memory, initialized with the last ones.
Compression merges documents with similar proportions into groups, and items that would have the same topic however the
stream continues into clumps, of which only count, statistics and counts by group are kept.
"""

import copy
import time
from functools import cached_property
from typing import Any, Self

import numpy as np

from modicum.clumps.rounds import MAX_ROUNDS, Rounds
from modicum.families import Family, Gaussian
from modicum.numeric.parallel import single_threaded_blas
from modicum.rows import is_sparse, take
from modicum.rules.budget import Plan
from modicum.rules.invariants import Array, Is, Real, Scope, Violation
from modicum.rules.params import NULL, TRUTH
from modicum.topics.allocation import GROUP_BYTES, ITEM_BYTES
from modicum.topics.compression import TopicCompression
from modicum.topics.document_groups import merged
from modicum.topics.documents import Documents
from modicum.topics.engine import Engine
from modicum.topics.memory import DocumentMemory
from modicum.topics.model import Model
from modicum.topics.proportions import Proportions
from modicum.topics.search import Fit, Search
from modicum.topics.settings import Settings
from modicum.topics.topics import Topics

COLUMNS = ("n_seen", "documents", "topics", "free_energy", "clumps", "groups", "seconds")  # of the history
PARTS = 256  # of a document with more items, at least: they are learned from together
DEFAULT_HORIZON = 2.0  # times what has been seen


class CountsOfGroups(Array):
    """Counts of groups of documents, the first ones in memory."""

    def check(self, value: Any, scope: Scope) -> None:
        super().check(value, scope)
        if len(value) > scope["n_groups"]:
            raise Violation(f"of at most {scope['n_groups']} groups; got {len(value)}")


class ClumpedTopics(Engine):
    """Topics, and the memory that they were learned from."""

    _invariants = {
        "memory": Is(DocumentMemory, n_statistics="n_statistics", n_all="n_groups"),
        "topics": [NULL, Is(Topics, n_statistics="n_statistics", k="n_topics")],
        "by_group": CountsOfGroups("float64", None, "n_topics", low=0.0),
        "failed": Array("float64", "n_topics", low=0.0),
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

    @classmethod
    def empty(cls, X: Any, settings: Settings) -> Self:
        return cls(X, settings.n_statistics, settings.allocation.max_rows)

    @staticmethod
    def plan(settings: Settings) -> Plan:
        allocation = settings.allocation
        n_topics, n_groups = allocation.max_topics, allocation.max_groups
        unit = 1 if allocation.per_topic else 8  # bytes
        return Plan.of(
            allocation.max_rows,
            epoch=allocation.epoch * (settings.item_bytes + ITEM_BYTES),
            clumps_and_single_items=int(unit * allocation.beside(n_topics, n_groups)),
            topics=n_topics * 8 * (settings.n_statistics + 3 + n_groups),
            groups=n_groups * GROUP_BYTES,
            other=settings.fixed_bytes,
        )

    @property
    def n_documents(self) -> int:
        return self.memory.n_documents

    @property
    def n_retained(self) -> int:
        rows = self.memory.memory
        return len(self.memory.sizes) if is_sparse(rows.rows.values) else len(rows)

    def learn(self, X: Any, begins: np.ndarray, ids: np.ndarray, rng: np.random.Generator, settings: Settings) -> None:
        if is_sparse(X):
            documents = Documents.of_counts(X)
            of_items = documents.of_items
            self.add(documents.one_hot(X), documents.weights, _changes(of_items), ids[of_items], settings)
        else:
            self.add(X, np.ones(len(X)), begins, ids, settings)

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
                self._learn_epoch(settings)

    @property
    def n_buffered(self) -> int:
        """Items of the current epoch."""
        return self.memory.memory.n_buffered

    def finish(self, settings: Settings) -> None:
        if not self.is_current and self.n_retained:
            self.build(settings)

    def snapshot(self, settings: Settings) -> "Clumps":
        return Clumps(self, settings)

    def fit(self, settings: Settings) -> Fit:
        """The topics of everything in memory, without a search: the last ones updated, or the first ones."""
        search, model = self._search(self._family(settings), settings)
        return search.run(model) if self.topics is None else search.update(model)

    def build(self, settings: Settings) -> None:
        """Learn the topics of everything in memory, which is not compressed."""
        started = time.perf_counter()
        self._build(self._family(settings), settings)
        self._record(started)

    def _learn_epoch(self, settings: Settings) -> None:
        """A round: learn the topics of everything in memory, and make room for the next epoch.

        Documents of many items are cut into small clumps first, which are learned from much faster.
        """
        started, family = time.perf_counter(), self._family(settings)
        if isinstance(family, Gaussian):
            self.memory.cut(family, PARTS)
        self._compress(self._build(family, settings), settings)
        self._record(started)

    def _record(self, started: float) -> None:
        memory, seconds = self.memory, time.perf_counter() - started
        seen, sizes = (memory.n_seen, memory.n_documents), (len(memory.memory.clump_counts), len(memory.sizes))
        self.rounds.record(*seen, len(self.failed), self.free_energy, *sizes, seconds)

    def _family(self, settings: Settings) -> Family:
        """The family, bound to columns."""
        known = self.memory.memory
        return settings.family.bind(known.rows.values, known.weights) if self.topics is None else self.topics.family

    def _build(self, family: Family, settings: Settings) -> Fit:
        """Model building: search for topics of everything in memory."""
        search, model = self._search(family, settings)
        fit = search.run(model)
        self.topics, self.failed = fit.model.topics, fit.model.failed
        self.by_group = fit.model.proportions.counts[: len(self.by_group)]
        self.free_energy, self.is_current = fit.free_energy, True
        return fit

    def _search(self, family: Family, settings: Settings) -> tuple[Search, Model]:
        """A search for topics of everything in memory, and the model to start from."""
        memory, known, items = self.memory, self.topics, self.memory.items(family)
        search = Search(items, memory.sizes, settings.tol, settings.allocation.max_topics)
        if known is None:
            return search, search.first_model(family)
        # The items of new documents are equally many of each topic at first. Without any, as in the paper, topics with
        # a small alpha would hardly ever be found in new documents.
        lengths = items.by_group(items.counts[:, None])
        by_group = np.repeat(lengths / len(known), len(known), axis=1)
        by_group[: len(self.by_group)] = self.by_group
        proportions = Proportions(memory.sizes, by_group, known.alpha)
        return search, Model(family, known.counts, known.sums, proportions, self.failed.copy())

    def merge(self, other: Self, settings: Settings) -> None:
        if other.topics is None:
            self._add_first(other.memory, settings)
        elif self.topics is None:
            first = self.memory
            vars(self).update(copy.deepcopy(vars(other)))
            self._add_first(first, settings)
        else:
            self._join(other, self.topics, other.topics, settings)

    def _add_first(self, first: DocumentMemory, settings: Settings) -> None:
        """Learn the items of another first epoch."""
        rows, own = first.memory.rows.values, self.memory.memory.rows.values
        begins = _changes(first.of_rows)
        self.add(rows.astype(own.dtype, copy=False), first.memory.weights, begins, first.ids[first.of_rows], settings)

    def _join(self, other: Self, mine: Topics, theirs: Topics, settings: Settings) -> None:
        """Absorb topics and memory of another engine; both have had a round."""
        family = mine.family
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
        self._compress(self._build(family, settings), settings)

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


class Clumps:
    """What is known from clumps and from the items buffered since the last round."""

    def __init__(self, engine: ClumpedTopics, settings: Settings):
        self._engine = engine
        self._settings = settings

    @cached_property
    def _fit(self) -> Fit:
        with single_threaded_blas():
            return self._engine.fit(self._settings)

    @property
    def topics(self) -> Topics:
        known = self._engine.topics
        if known is not None and self._engine.is_current:
            return known
        return self._fit.model.topics if self._engine.n_retained else self._prior

    @property
    def _prior(self) -> Topics:
        """One empty topic, as long as all documents are empty."""
        family = self._settings.family.bind(self._engine.memory.memory.rows.values, np.empty(0))
        return Topics(family, np.zeros(1), np.zeros((1, family.n_statistics)), np.ones(1))

    @property
    def free_energy(self) -> float:
        is_known = self._engine.is_current or not self._engine.n_retained
        return self._engine.free_energy if is_known else self._fit.free_energy

    @property
    def held(self) -> tuple[np.ndarray, np.ndarray]:
        ids = self._engine.memory.ids
        single = np.flatnonzero(ids >= 0)
        if not len(single):
            return ids[single], np.empty((0, len(self.topics)))
        known = self._fit.model.proportions
        return ids[single], known.means[single] + known.alpha


def _changes(of_items: np.ndarray) -> np.ndarray:
    """Whether each item is of another document than the one before it."""
    return np.append(True, of_items[1:] != of_items[:-1])[: len(of_items)]


def _growth(horizon: float | None, total: float) -> float:
    """How many times as much is expected as has been seen."""
    return DEFAULT_HORIZON if horizon is None else max(1.0, horizon / total)
