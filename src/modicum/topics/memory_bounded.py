"""Topic models of a stream of documents in bounded memory (gomes2008topics)."""

from typing import Any, Literal

import numpy as np

from modicum.clumps.rounds import MAX_ROUNDS
from modicum.contract.learner import Learner, Traits
from modicum.contract.validation import check_all_or_none
from modicum.exceptions import DataError
from modicum.families import FAMILY, Family, Multinomial, as_family
from modicum.numeric.parallel import single_threaded_blas
from modicum.rows import n_rows, take
from modicum.rules.budget import Plan, as_budget
from modicum.rules.invariants import TEXT, Is
from modicum.rules.params import BUDGET, NULL, POSITIVE, Int, OneOf
from modicum.topics.allocation import TopicAllocation, allocate
from modicum.topics.answers import TopicAnswers
from modicum.topics.clumped import COLUMNS, ClumpedTopics, Settings
from modicum.topics.documents import Documents
from modicum.topics.topics import Topics

PSEUDOCOUNT = 0.1  # of every word in a topic: topics have few words
OTHER_BYTES = 512  # of numbers beside arrays


class MemoryBoundedTopicModel(TopicAnswers, Learner):
    """Topics of a stream of documents, whose number is learned and may grow, in bounded memory.

    A document is a group of items: the words of a text, the pixels or local descriptors of a picture. It is a mixture
    of topics, which all documents share, in proportions of its own.
    """

    traits = Traits(chunk_exact=True, merge="approximate")
    _constraints = {
        "family": FAMILY,
        "budget": [BUDGET],
        "method": [OneOf("auto", "clumps", "sweeps")],
        "max_topics": [Int(1), NULL],
        "max_document_groups": [Int(2), NULL],
        "horizon_items": [Int(1), NULL],
        "horizon_documents": [Int(1), NULL],
        "epoch": [Int(1), NULL],
        "tol": [POSITIVE],
    }

    _invariants = {
        "_engine": Is(ClumpedTopics),
        "_last_document": [NULL, TEXT],
    }

    def __init__(
        self,
        family: str | Family = "gaussian",
        *,
        budget: int | str = "16 MiB",
        method: Literal["auto", "clumps", "sweeps"] = "auto",
        max_topics: int | None = None,
        max_document_groups: int | None = None,
        horizon_items: int | None = None,
        horizon_documents: int | None = None,
        epoch: int | None = None,
        tol: float = 1e-3,
        random_state: Any = None,
    ):
        self.family = family
        self.budget = budget
        self.method = method
        self.max_topics = max_topics
        self.max_document_groups = max_document_groups
        self.horizon_items = horizon_items
        self.horizon_documents = horizon_documents
        self.epoch = epoch
        self.tol = tol
        self.random_state = random_state

    # ---- learning --------------------------------------------------------------------------------

    def _take_chunk(self, X: Any, y: Any, sample_weight: Any, row_ids: Any) -> None:
        if are_documents(X):
            self._last_document = None
            rows, lengths = self._joined(X)
            if row_ids is None:
                first = self.n_documents_ if self._is_fitted() else 0
                row_ids = np.arange(first, first + len(lengths))
            X, y, row_ids = rows, np.repeat(np.arange(len(lengths)), lengths), np.repeat(row_ids, lengths)
        super()._take_chunk(X, y, sample_weight, row_ids)

    def _check_chunk(self, X: Any, y: np.ndarray | None) -> None:
        self._family().check(X, type(self).__name__)

    def _learn(self, X: Any, y: Any, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        if not hasattr(self, "_engine"):
            self._family().bind(X, np.ones(n_rows(X)))  # refuses an invalid prior before anything is learned
            allocation = self._own_allocation()
            n_statistics = self._family().n_statistics_of(X.shape[1])
            self._engine = ClumpedTopics(X, n_statistics, allocation.max_rows)
            self._last_document = None
        begins = self._beginnings(y, n_rows(X))
        settings, done = self._settings(), 0
        while done < n_rows(X):
            stop = min(done + settings.allocation.epoch - self._engine.n_buffered, n_rows(X))
            part = slice(done, stop)
            rows, new = take(X, part), begins[part]
            self._engine.add(rows, np.ones(stop - done), new, row_ids[part][new], stop - done, settings)
            done = stop

    def _beginnings(self, y: np.ndarray | None, count: int) -> np.ndarray:
        """Whether a document begins with each row."""
        if y is None:
            return np.ones(count, bool)
        begins = np.append(str(y[0]) != self._last_document, y[1:] != y[:-1])
        self._last_document = str(y[-1])
        return begins

    def _end_of_stream(self) -> None:
        if not self._engine.is_current:
            self._engine.build(self._settings())

    # ---- answers ---------------------------------------------------------------------------------

    def _topics(self) -> Topics:
        self._check_fitted()
        return self._engine.topics

    def _documents(self, X: Any, y: Any = None) -> Documents:
        """Documents to answer for."""
        self._check_fitted()
        if are_documents(X):
            rows, lengths = self._joined(X)
            return Documents.of_rows(self._check_rows(rows, reset=False), lengths)
        X = self._check_input(X)
        if y is None:
            return Documents.of_rows(X, np.ones(len(X), np.intp))
        y = self._check_target(y, len(X))
        starts = np.flatnonzero(np.append(True, y[1:] != y[:-1]))
        return Documents.of_rows(X, np.diff(starts, append=len(X)))

    @property
    def n_documents_(self) -> int:
        """Documents learned."""
        return self._engine.memory.n_documents

    @property
    def free_energy_(self) -> float:
        return self._engine.free_energy

    @property
    def history_(self) -> dict[str, np.ndarray]:
        """History of the rounds of learning."""
        return self._engine.rounds.columns_as_arrays()

    # ---- memory ----------------------------------------------------------------------------------

    def _family(self) -> Family:
        """The family, with fewer pseudocounts by default than mixtures have."""
        return Multinomial(PSEUDOCOUNT) if self.family == "multinomial" else as_family(self.family)

    def _settings(self) -> Settings:
        return Settings(self._family(), self._own_allocation(), self.horizon_items, self.horizon_documents, self.tol)

    def _own_allocation(self) -> TopicAllocation:
        return self._allocation(self.n_features_in_, np.dtype(self._dtype))

    def _allocation(self, n_features: int, dtype: np.dtype) -> TopicAllocation:
        family = self._family()
        sizes = n_features, family.n_statistics_of(n_features), dtype.itemsize
        fixed = 8 * family.n_prior_of(n_features) + 8 * len(COLUMNS) * MAX_ROUNDS + OTHER_BYTES
        budget = as_budget(self.budget)
        return allocate(budget, self.epoch, self.max_document_groups, *sizes, fixed, type(self).__name__)

    def _joined(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Rows of all documents of a list, and the number of rows of each."""
        arrays = [np.asarray(document) for document in X]
        ...
        return np.concatenate(arrays), np.array([len(array) for array in arrays])

    def _n_retained(self) -> int:
        return len(self._engine.memory.memory)


def are_documents(X: Any) -> bool:
    """Whether X is a list of documents, each an array of rows, or an array of three dimensions."""
    if isinstance(X, list | tuple):
        return len(X) > 0 and getattr(X[0], "ndim", 0) == 2
    return getattr(X, "ndim", 0) == 3
