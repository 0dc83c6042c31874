"""Topics of documents of words: sweeps over the documents that are held, births and merges of topics (asuncion2009).

Documents come in epochs. A topic is born from a document whose words have more evidence as a topic of their own than
under the present ones; sweeps over all held documents let each topic find its words; and two topics are merged where
the evidence of their words is larger for one, or where one half of the held documents then predicts the other better.
So the number of topics is inferred. Documents that leave the memory leave their word counts in the topics, frozen.
"""

import copy
import math
import time
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_matrix
from scipy.special import gammaln

from modicum.clumps.rounds import MAX_ROUNDS, Rounds
from modicum.families import Multinomial
from modicum.numeric.parallel import single_threaded_blas
from modicum.rules.budget import Plan
from modicum.rules.invariants import ABSENT, Array, Is, Real, Whole
from modicum.topics.alike import merged_topics
from modicum.topics.engine import Engine
from modicum.topics.held import HeldDocuments
from modicum.topics.limits import Limits, plan_of
from modicum.topics.settings import Settings
from modicum.topics.sweeps import Sweeps, frequencies
from modicum.topics.topics import Topics

COLUMNS = ("n_seen", "documents", "topics", "perplexity", "seconds")  # of the history
SWEEPS = 10  # over all held documents, for each epoch
PASSES = 5  # over new documents with the topics as they are
FIRST = 32  # documents; epochs grow with what is held, so that the first topics are merged before they are many
BIRTHS = 5  # at most one for this many documents of an epoch
LARGEST = 2.0**23  # of frozen counts: above twice of it, float32 would lose single words


class SweptTopics(Engine):
    """Topics with their word counts, and the documents that are held with their topic counts.

    The result does not depend on how the stream is cut into chunks, nor on the number of threads.

    Parameters
    ----------
    n_words : int
        Columns of documents.
    limits : Limits
    eta, alpha : float
        Pseudocounts of a word in a topic, and of a topic in a document.
    decay : float
        What the weight of a document is multiplied by for each later one.
    """

    decay = 1.0

    _invariants = {
        "n_words": Whole(1),
        "capacity": Whole(1),
        "max_topics": Whole(1),
        "document_cost": Whole(0),
        "nonzero_cost": Whole(0),
        "eta": Real(above=0.0),
        "alpha": Real(above=0.0),
        "decay": [ABSENT, Real(above=0.0, high=1.0)],
        "documents": Is(HeldDocuments, n_words="n_words", n_learned="n_learned"),
        "counts": Array("float32", "n_learned", "n_topics", low=0.0),
        "frozen": Array("float32", "n_words", "n_topics", low=0.0),
        "sums": Array("float32", "n_words", "n_topics", low=0.0),
        "n_seen": Whole("n_learned"),
        "perplexity": Real(0.0, finite=False),
        "rounds": Is(Rounds, width=len(COLUMNS), limit=MAX_ROUNDS),
    }

    def __init__(self, n_words: int, limits: Limits, eta: float = 0.1, alpha: float = 0.05, decay: float = 1.0):
        self.n_words = n_words
        self.capacity, self.max_topics = limits.capacity, limits.max_topics
        self.document_cost, self.nonzero_cost = limits.document_cost, limits.nonzero_cost
        self.eta = eta
        self.alpha = alpha
        if decay < 1:
            self.decay = decay
        self.documents = HeldDocuments(n_words, fade=decay < 1)
        self.counts = np.empty((0, 1), np.float32)  # of learned documents, by topic
        self.frozen = np.zeros((n_words, 1), np.float32)  # of documents that have left
        self.sums = np.zeros((n_words, 1), np.float32)  # of all documents learned so far
        self.n_seen = 0  # documents
        self.perplexity = math.inf  # of the last epoch before it was learned
        self.rounds = Rounds(*COLUMNS, limit=MAX_ROUNDS)

    @classmethod
    def empty(cls, X: Any, settings: Settings) -> Self:
        family = settings.family
        assert isinstance(family, Multinomial)
        eta = float(np.mean(family.pseudocounts))
        return cls(settings.n_features, settings.limits, eta, decay=settings.decay)

    @staticmethod
    def plan(settings: Settings) -> Plan:
        return plan_of(settings.limits, settings.n_features, settings.fixed_bytes)

    @property
    def limits(self) -> Limits:
        return Limits(self.capacity, self.max_topics, self.document_cost, self.nonzero_cost)

    @property
    def n_topics(self) -> int:
        return self.sums.shape[1]

    @property
    def n_documents(self) -> int:
        return self.n_seen

    @property
    def n_retained(self) -> int:
        """Documents that are held."""
        return len(self.documents)

    @property
    def pseudocounts(self) -> np.ndarray:
        """Those of each word in a topic: eta. Words that no document has had so far share that of one word.

        So columns that are never used change next to nothing.
        """
        unseen = np.asarray(~self.sums.any(axis=1))
        unseen[self.documents.waiting.indices] = False
        return np.where(unseen, self.eta / max(1, int(unseen.sum())), self.eta)

    def learn(self, X: Any, begins: np.ndarray, ids: np.ndarray, rng: np.random.Generator, settings: Settings) -> None:
        self.add(X, ids, rng)

    def snapshot(self, settings: Settings) -> "Swept":
        return Swept(self)

    def add(self, X: csr_matrix, ids: np.ndarray, rng: np.random.Generator) -> None:
        """Take documents, and learn from each epoch that is full."""
        self._take(as_counts(X), ids, rng.random(X.shape[0]))

    def finish(self, settings: Settings | None = None) -> None:
        """Learn from the documents in waiting."""
        if self.documents.n_learned < len(self.documents):
            self._learn()

    def present(self) -> tuple[np.ndarray, np.ndarray]:
        """Expected word counts of topics (topics, words), and alpha for each; before any data one empty topic."""
        latest = self._latest()
        return latest.sums.T.astype(np.float64), np.full(latest.n_topics, self.alpha)

    def held(self) -> tuple[np.ndarray, np.ndarray]:
        """Ids of held documents, those in waiting last, and their expected topic counts (documents, topics)."""
        latest = self._latest()
        waiting = latest._folded_in(latest.documents.waiting).counts
        return latest.documents.ids, np.concatenate([latest.counts, waiting])

    def merge(self, other: Self, settings: Settings | None = None) -> None:
        """Absorb topics and documents of another model of the same words."""
        here, n_learned = self.n_topics, self._n_learned + other._n_learned
        waiting = [model.documents.pending for model in (self, other)]
        self.documents.keep(np.arange(self.documents.n_learned))
        if other._n_learned:
            self._rename(np.arange(here), here + other.n_topics)
            self.frozen[:, here:] = other.frozen
            self.sums[:, here:] = other.sums
            self._join_learned(other.documents, other.counts)
            self._settle()
        self.n_seen = n_learned
        for documents in waiting:
            self._take(*documents)

    def _join_learned(self, others: HeldDocuments, counts: np.ndarray) -> None:
        """Add learned documents of another memory, whose topics are the last ones of this one."""
        mine, n = self.documents, others.n_learned
        mine.add(others.learned, others.ids[:n], others.keys[:n])
        if mine.fade:
            mine.weights[mine.n_learned :] = others.weights[:n]
        is_old = np.append(np.arange(mine.n_learned) < mine.n_reservoir, np.arange(n) < others.n_reservoir)
        age = np.append(np.arange(mine.n_learned)[::-1], np.arange(n)[::-1])  # interleaves the two windows
        order = np.lexsort((-age, ~is_old))
        joined = np.zeros((len(order), self.n_topics), np.float32)
        joined[: mine.n_learned] = self.counts
        joined[mine.n_learned :, self.n_topics - counts.shape[1] :] = counts
        self.counts = joined[order]
        mine.keep(order)
        mine.n_reservoir += others.n_reservoir

    @property
    def _n_learned(self) -> int:
        """Documents learned so far, held or not."""
        return self.n_seen - len(self.documents) + self.documents.n_learned

    def _latest(self) -> "SweptTopics":
        """This model, or before its first epoch is full a copy that has learned from the documents in waiting."""
        if self._n_learned:
            return self
        latest = copy.deepcopy(self)
        latest.finish()
        return latest

    def _take(self, X: csr_matrix, ids: np.ndarray, keys: np.ndarray) -> None:
        """Add documents to those in waiting; they are learned as soon as they fill an epoch."""
        learned, waiting = np.split(self.documents.costs(self.limits), [self.documents.n_learned])
        start, known, cost, n = 0, int(learned.sum()), int(waiting.sum()), len(waiting)
        for i, each in enumerate(self.limits.costs(np.diff(X.indptr))):
            cost, n = cost + int(each), n + 1
            is_full = cost >= self.limits.epoch or (n >= FIRST and 2 * cost >= known)
            if is_full or i == X.shape[0] - 1:
                self.documents.add(X[start : i + 1], ids[start : i + 1], keys[start : i + 1])
                self.n_seen += i + 1 - start
                start = i + 1
            if is_full:
                self._learn()
                known, cost, n = int(self.documents.costs(self.limits).sum()), 0, 0

    def _learn(self) -> None:
        """Learn from the documents in waiting."""
        started = time.perf_counter()
        new, n_topics = self.documents.waiting, self.n_topics
        if self.decay < 1:
            self._age(new.shape[0])
        if self._n_learned:
            self.perplexity = self._completion(new)
        else:
            self.sums[:, 0] = new.sum(axis=0)
        folded, lengths = self._folded_in(new), lengths_of(new)
        seeds = self._seeds(folded)
        self.counts = np.concatenate([self.counts, folded.counts])
        self.documents.n_learned = len(self.documents)
        self._rename(np.arange(n_topics), n_topics + len(seeds))
        self.sums[:, n_topics:] = new[seeds].T.toarray()
        self.counts[-len(lengths) :, n_topics:] = (lengths / self.n_topics)[:, None]
        self._settle()
        seconds = time.perf_counter() - started
        self.rounds.record(self.n_seen, self.n_seen, self.n_topics, self.perplexity, seconds)

    def _age(self, n_new: int) -> None:
        """Let topics and documents lose the weight that they lose while so many documents come."""
        self.documents.age(self.decay)
        factor = np.float32(self.decay**n_new)
        self.frozen, self.sums = self.frozen * factor, self.sums * factor

    def _seeds(self, folded: Sweeps) -> np.ndarray:
        """The documents that topics are born from: a topic of its own has more evidence than the present ones."""
        prior = self.pseudocounts
        gains = log_evidence(folded.documents, prior) - folded.scores(frequencies(self.sums, prior))
        best = np.argsort(-gains, kind="stable")[: -(-len(gains) // BIRTHS)]
        return best[gains[best] > 0.0]

    def _completion(self, documents: csr_matrix) -> float:
        """Perplexity of every second word of documents, given the others."""
        asked = self._asked(documents)
        scores = asked.scores(frequencies(self.sums, self.pseudocounts))
        return math.exp(-float(scores.sum()) / max(float(asked.documents.sum()), 1.0))

    def _asked(self, documents: csr_matrix, weights: np.ndarray | None = None) -> Sweeps:
        """Every second word of documents, with topic counts from the others."""
        given, asked = documents.copy(), documents.copy()
        given.data[1::2], asked.data[::2] = 0.0, 0.0
        given.eliminate_zeros()
        asked.eliminate_zeros()
        return Sweeps(asked, self._folded_in(given).counts, self.alpha, weights)

    def _folded_in(self, documents: csr_matrix) -> Sweeps:
        """New documents, with their topic counts for the topics as they are."""
        counts = np.full((documents.shape[0], self.n_topics), 1.0, np.float32)
        sweeps = Sweeps(documents, counts, self.alpha)
        sweeps.assign(frequencies(self.sums, self.pseudocounts), PASSES)
        return sweeps

    def _settle(self) -> None:
        """Sweep over all held documents, merge topics, and keep what is within the limits."""
        with single_threaded_blas():  # its limits are set once, not for each sweep
            weights, prior = self.documents.weights_of(slice(self.documents.n_learned)), self.pseudocounts
            sweeps = Sweeps(self.documents.learned, self.counts, self.alpha, weights)
            for _ in range(SWEEPS):
                phi = frequencies(self.sums, prior)
                sweeps.assign(phi)
                self.sums = self.frozen + sweeps.collect(phi)
            sums, asked = self.sums.T.astype(np.float64), self._asked(self.documents.learned, weights)
            into = merged_topics(sums, prior, self.max_topics, lambda partners: self._gains(asked, partners))
        self._rename(into, int(into.max()) + 1)
        self._evict()

    def _gains(self, asked: Sweeps, partners: np.ndarray) -> np.ndarray:
        """How much better words are predicted if each topic is one with its partner, as log-likelihoods."""
        prior = self.pseudocounts
        together = frequencies(self.sums + self.sums[:, partners], prior)
        return asked.gains(frequencies(self.sums, prior), partners, together)

    def _evict(self) -> None:
        """Drop documents beyond the limits; their words stay in the topics."""
        stay, n_reservoir = self.documents.surviving(self.limits)
        leave = np.setdiff1d(np.arange(self.documents.n_learned), stay)
        if len(leave):
            weights = self.documents.weights_of(leave)
            sweeps = Sweeps(self.documents.learned[leave], self.counts[leave], self.alpha, weights)
            phi = frequencies(self.sums, self.pseudocounts)
            sweeps.assign(phi)
            self.frozen = self.frozen + sweeps.collect(phi)
            self.counts = self.counts[stay]
            self.documents.keep(stay)
        self.documents.n_reservoir = n_reservoir
        if self.frozen.max(initial=0.0) > LARGEST:
            self.sums -= self.frozen / 2
            self.frozen /= 2

    def _rename(self, into: np.ndarray, n_topics: int) -> None:
        """Make topic k part of topic into[k] of `n_topics`: every birth and merge goes through here."""
        places, firsts = np.unique(into, return_index=True)
        for name in ("counts", "frozen", "sums"):
            old = getattr(self, name)
            moved = np.zeros((len(old), n_topics), np.float32)
            moved[:, places] = old[:, firsts]
            for k in np.setdiff1d(np.arange(len(into)), firsts):
                moved[:, into[k]] += old[:, k]
            setattr(self, name, moved)


class Swept:
    """What is known from sweeps over held documents."""

    def __init__(self, engine: SweptTopics):
        self._engine = engine

    @cached_property
    def topics(self) -> Topics:
        sums, alpha = self._engine.present()
        family = Multinomial(self._engine.pseudocounts).bind(csr_matrix((1, self._engine.n_words)), np.ones(1))
        return Topics(family, sums.sum(axis=1), sums, alpha)

    @property
    def held(self) -> tuple[np.ndarray, np.ndarray]:
        ids, counts = self._engine.held()
        return ids, counts + self.topics.alpha

    @property
    def free_energy(self) -> float:
        raise AttributeError('method="sweeps" has no free energy; see perplexity and history_.')


def as_counts(X: csr_matrix) -> csr_matrix:
    """Documents as they are held: each word once, counts in float32, indices in int32."""
    X = csr_matrix(X, dtype=np.float32, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def lengths_of(documents: csr_matrix) -> np.ndarray:
    return np.asarray(documents.sum(axis=1, dtype=np.float64)).ravel()


def log_evidence(documents: csr_matrix, pseudocounts: np.ndarray) -> np.ndarray:
    """The evidence of the words of each document as a topic of its own, as in `Multinomial` but sparse."""
    each, before, ends = pseudocounts[documents.indices], pseudocounts.sum(), documents.indptr
    gains = gammaln(documents.data + each) - gammaln(each)
    return np.diff(np.append(0.0, np.cumsum(gains))[ends]) + gammaln(before) - gammaln(before + lengths_of(documents))
