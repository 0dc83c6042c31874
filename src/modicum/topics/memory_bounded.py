"""Topic models of a stream of documents in bounded memory (gomes2008topics)."""

from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_matrix

from modicum.clumps.rounds import MAX_ROUNDS
from modicum.contract.learner import Learner, Traits
from modicum.exceptions import DataError
from modicum.families import FAMILY, Family, Multinomial, as_family
from modicum.numeric.parallel import single_threaded_blas
from modicum.rows import is_sparse, n_rows
from modicum.rules.budget import Plan, as_budget
from modicum.rules.invariants import TEXT, Is
from modicum.rules.params import BUDGET, NULL, POSITIVE, Int, OneOf
from modicum.topics.allocation import GROUP_BYTES, ITEM_BYTES, TopicAllocation, allocate
from modicum.topics.answers import TopicAnswers
from modicum.topics.clumped import COLUMNS, ClumpedTopics, Settings
from modicum.topics.documents import Documents
from modicum.topics.limits import Limits, limits_within, plan_of
from modicum.topics.search import Fit
from modicum.topics.swept import SweptTopics
from modicum.topics.topics import Topics

PSEUDOCOUNT = 0.1  # of every word in a topic: topics have few words
TOL = 3e-3  # nats per item
OF_CLUMPS = ("max_document_groups", "horizon_items", "horizon_documents", "epoch", "tol")  # parameters
OTHER_BYTES = 512  # of numbers beside arrays


class MemoryBoundedTopicModel(TopicAnswers, Learner):
    """Topics of a stream of documents, whose number is learned and may grow, in bounded memory.

    A document is a group of items: the words of a text, the pixels or local descriptors of a picture. It is a mixture
    of topics, which all documents share, in proportions of its own.

    By clumps: items are buffered until an epoch is full. Then topics are learned from them and from the memory of
    earlier items, initialized with the last topics: they are split and merged as long as the free energy rises. Before
    the next epoch everything is compressed: items that would have the same topic however the stream continues into
    clumps, documents with similar proportions into groups. Of a clump only the sum of its statistics and its counts by
    group are kept.

    By sweeps, for words: the latest documents are held, and a uniform sample of all earlier ones. Topics are born from
    new documents that are explained badly, and merged where the evidence says so; repeated sweeps over the held
    documents let each find its words. Documents that are not held any more leave their words in the topics.

    Cost: a round of clumps takes about a hundred steps of O(m K p), for m items, K topics and p parameters of a topic,
    and holds m K numbers. A sweep takes O(n K) for n distinct words of held documents, and there are ten per epoch.

    Parameters
    ----------
    family : {"gaussian", "diagonal", "multinomial"} or Family, default="gaussian"
        Distribution of the items of a topic: Gaussians with full or diagonal covariances for rows of numbers,
        multinomials for words. For words each row is a document, given by the counts of words. For numbers each row is
        an item, and y the document of each row: consecutive rows with the same y are one document, and without y every
        row is a document of its own. Instead, X may be a list of arrays, one per document.
    budget : int or str, default="16 MiB"
        A size such as "16 MiB", which includes everything; or rows that may be held, `n_retained_ <= budget`, where a
        clump counts as the items that take as many numbers. For words, rows are documents.
    method : {"auto", "clumps", "sweeps"}, default="auto"
        "auto" is "sweeps" for words and "clumps" for numbers; "sweeps" is for words only.
    max_topics : int or None, default=None
        The most topics; by default as many as the budget has room for.
    max_document_groups : int or None, default=None
        The most groups of documents after a round, for "clumps". By default about as many as clumps.
    horizon_items, horizon_documents : int or None, default=None
        Expected numbers of items and documents of the stream, for "clumps". Items are kept apart if their difference
        would matter by then. By default twice what has been seen.
    epoch : int or None, default=None
        Items to buffer between rounds of learning, for "clumps"; by default half of the budget.
    tol : float or None, default=None
        For "clumps": iterations stop, and splits and merges are rejected, when the free energy per item improves by
        less than this, by default 0.003.
    random_state : int, Generator or None, default=None
        Which documents "sweeps" holds for long.

    Attributes
    ----------
    n_topics_ : int
    weights_ : ndarray of shape (k,)
        Shares of topics in all items.
    components_ : ndarray of shape (k, d)
        Frequencies of words, or mean items of topics.
    topics_ : list of lists of str
        The ten words that describe each topic best.
    alpha_ : ndarray of shape (k,)
        Prior of the proportions of a document.
    n_documents_ : int
    free_energy_ : float
        For "clumps", a lower bound of the log-evidence of all items, under the constraints that clumps are not divided
        and groups of documents share proportions.
    history_ : dict of arrays
        For each round `n_seen`, `documents`, `topics` and `seconds`; for "clumps" also `free_energy`, `clumps` and
        `groups`, for "sweeps" the `perplexity` of new documents before they were learned.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum import MemoryBoundedTopicModel
    >>> rng = np.random.default_rng(0)
    >>> def picture(colors):  # 50 pixels of two colors
    ...     return rng.choice(colors, 50)[:, None] + rng.normal(size=(50, 3))
    >>> model = MemoryBoundedTopicModel().fit([picture([0.0, 10.0]), picture([10.0, 20.0]), picture([0.0, 20.0])])
    >>> model.n_topics_, model.transform([picture([0.0, 0.0])]).max().round(1)
    (3, 1.0)

    References
    ----------
    gomes2008topics; ueda2000 and minka2000 for "clumps", asuncion2009 for "sweeps".
    """

    _constraints = {
        "family": FAMILY,
        "budget": [BUDGET],
        "method": [OneOf("auto", "clumps", "sweeps")],
        "max_topics": [Int(1), NULL],
        "max_document_groups": [Int(2), NULL],
        "horizon_items": [Int(1), NULL],
        "horizon_documents": [Int(1), NULL],
        "epoch": [Int(1), NULL],
        "tol": [POSITIVE, NULL],
    }

    _invariants = {
        "_engine": [
            Is(ClumpedTopics, n_statistics=lambda its: as_family(its["family"]).n_statistics_of(its["n_features"])),
            Is(SweptTopics, n_words="n_features"),
        ],
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
        tol: float | None = None,
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

    @property
    def traits(self) -> Traits:  # type: ignore[override]
        return Traits(chunk_exact=True, merge="approximate", sparse=self._are_words)

    @property
    def _are_words(self) -> bool:
        """Whether rows are documents of words, rather than items that are numbers."""
        return as_family(self.family).name == Multinomial.name

    @property
    def _counts_words(self) -> bool:  # type: ignore[override]
        return self._are_words

    @property
    def _sweeps(self) -> bool:
        return self.method == "sweeps" or (self.method == "auto" and self._are_words)

    def _check_params(self) -> None:
        super()._check_params()
        if self._sweeps:
            if not self._are_words:
                raise ValueError(f'{type(self).__name__}: method="sweeps" is for words: family="multinomial".')
            for name in OF_CLUMPS:
                if getattr(self, name) is not None:
                    raise ValueError(f'{type(self).__name__}: {name} is for method="clumps"; the method is "sweeps".')
        elif self._are_words and as_budget(self.budget).nbytes is None:
            raise ValueError(
                f'{type(self).__name__}: clumps of words need a budget in bytes, such as "16 MiB"; got {self.budget!r}.'
            )

    # ---- learning --------------------------------------------------------------------------------

    def _take_chunk(self, X: Any, y: Any, sample_weight: Any, row_ids: Any) -> None:
        if are_documents(X):
            if y is not None:
                raise DataError(f"{type(self).__name__}: a list of documents takes no y.")
            X, lengths = self._joined(X)
            if row_ids is None:
                first = self.n_documents_ if self._is_fitted() else 0
                row_ids = np.arange(first, first + len(lengths))
            y, row_ids = np.repeat(np.arange(len(lengths)), lengths), np.repeat(row_ids, lengths)
            if self._is_fitted():
                self._last_document = None
        super()._take_chunk(X, y, sample_weight, row_ids)

    def _check_rows(self, X: Any, *, reset: bool) -> Any:
        X = super()._check_rows(X, reset=reset)
        if reset and self._are_words:
            self._kind = "sparse"
        return X if self._kind == "dense" or is_sparse(X) else csr_matrix(X)

    def _check_chunk(self, X: Any, y: np.ndarray | None) -> None:
        self._family().check(X, type(self).__name__)

    def _learn(self, X: Any, y: Any, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        if not hasattr(self, "_engine"):
            self._family().bind(X, np.ones(n_rows(X)))  # refuses an invalid prior before anything is learned
            self._engine = self._new_engine(X)
            self._last_document = None
        if isinstance(self._engine, SweptTopics):
            self._engine.add(X, row_ids, self._rng)
        elif self._are_words:
            documents = Documents.of_counts(X)
            of_items = documents.of_items
            begins = np.append(True, of_items[1:] != of_items[:-1])[: len(of_items)]
            self._engine.add(documents.one_hot(X), documents.weights, begins, row_ids[of_items], self._settings())
        else:
            self._engine.add(X, np.ones(len(X)), self._beginnings(y, len(X)), row_ids, self._settings())

    def _new_engine(self, X: Any) -> ClumpedTopics | SweptTopics:
        family = self._family()
        if self._sweeps:
            return SweptTopics(X.shape[1], self._limits(X.shape[1]), float(np.mean(family.pseudocounts)))
        return ClumpedTopics(X, family.n_statistics_of(X.shape[1]), self._own_allocation().max_rows)

    def _beginnings(self, y: np.ndarray | None, count: int) -> np.ndarray:
        """Whether a document begins with each row."""
        if y is None:
            self._last_document = None
            return np.ones(count, bool)
        begins = np.append(str(y[0]) != self._last_document, y[1:] != y[:-1])
        self._last_document = str(y[-1])
        return begins

    def _end_of_stream(self) -> None:
        if isinstance(self._engine, SweptTopics):
            self._engine.finish()
        elif not self._engine.is_current:
            self._engine.build(self._settings())

    def _merge(self, other: "MemoryBoundedTopicModel") -> None:
        if isinstance(self._engine, SweptTopics):
            self._engine.merge(other._engine)
        elif self._engine.topics is None or other._engine.topics is None:
            self._merge_items(other)
        else:
            self._engine.merge(other._engine, self._settings())
        self._last_document = None

    def _merge_items(self, other: "MemoryBoundedTopicModel") -> None:
        """One side has only the items of its first epoch: the other one learns them."""
        first = other._engine.memory
        if self._engine.topics is None:
            first = self._engine.memory
            self._adopt(other)
        begins = np.append(True, first.of_rows[1:] != first.of_rows[:-1])
        rows = first.memory.rows.values.astype(self._dtype, copy=False)
        self._engine.add(rows, first.memory.weights, begins, first.ids[first.of_rows], self._settings())

    # ---- answers ---------------------------------------------------------------------------------

    def _topics(self) -> Topics:
        self._check_fitted()
        engine = self._engine
        if isinstance(engine, SweptTopics):
            return self._derive("topics", self._swept_topics)
        return engine.topics if engine.is_current else self._present_fit().model.topics

    def _swept_topics(self) -> Topics:
        sums, alpha = self._engine.present()
        family = self._family().bind(csr_matrix((1, self.n_features_in_)), np.ones(1))
        return Topics(family, sums.sum(axis=1), sums, alpha)

    def _present_fit(self) -> Fit:
        """Topics of everything that is held, the items buffered since the last round included."""

        def update() -> Fit:
            with single_threaded_blas():
                return self._engine.fit(self._settings())

        return self._derive("fit", update)

    def _held(self) -> tuple[np.ndarray, np.ndarray]:
        """Ids of the documents that are held by themselves, and the parameters of their proportions."""
        if isinstance(self._engine, SweptTopics):
            ids, counts = self._engine.held()
            return ids, counts + self.alpha_
        known = self._present_fit().model.proportions
        single = np.flatnonzero(self._engine.memory.ids >= 0)
        return self._engine.memory.ids[single], known.means[single] + known.alpha

    def _documents(self, X: Any, y: Any = None) -> Documents:
        """Documents to answer for."""
        self._check_fitted()
        if are_documents(X):
            rows, lengths = self._joined(X)
            return Documents.of_rows(self._check_rows(rows, reset=False), lengths)
        X = self._check_input(X)
        self._family().check(X, type(self).__name__)
        if self._are_words:
            return Documents.of_counts(X)
        if y is None:
            return Documents.of_rows(X, np.ones(len(X), np.intp))
        y = self._check_target(y, len(X))
        starts = np.flatnonzero(np.append(True, y[1:] != y[:-1]))
        return Documents.of_rows(X, np.diff(starts, append=len(X)))

    def _joined(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Rows of all documents of a list, and the number of rows of each."""
        name = type(self).__name__
        if self._are_words:
            raise DataError(f"{name}: documents of words are rows of counts, not arrays of items.")
        arrays = [np.asarray(document) for document in X]
        width = arrays[0].shape[-1]
        for at, array in enumerate(arrays):
            if array.ndim != 2 or array.shape[1] != width:
                raise DataError(
                    f"{name}: document {at} of this list has shape {array.shape}; the first has {width} columns."
                )
        return np.concatenate(arrays), np.array([len(array) for array in arrays])

    def table(self, X: Any, y: Any = None) -> dict[str, np.ndarray]:
        """The topic with the largest share in each document as its prediction, that share, and the topic's words."""
        proportions = self.transform(X, y)
        best = proportions.argmax(axis=1)
        told = {"prediction": best, "share": proportions.max(axis=1)}
        if self._are_words:
            told["words"] = np.array([", ".join(words) for words in self.topics_])[best]
        return told

    @property
    def n_documents_(self) -> int:
        """Documents learned."""
        engine = self._engine
        return engine.n_seen if isinstance(engine, SweptTopics) else engine.memory.n_documents

    @property
    def free_energy_(self) -> float:
        """Lower bound of the log-evidence of all items learned."""
        if isinstance(self._engine, SweptTopics):
            raise AttributeError('method="sweeps" has no free energy; see perplexity and history_.')
        return self._engine.free_energy if self._engine.is_current else self._present_fit().free_energy

    @property
    def history_(self) -> dict[str, np.ndarray]:
        """History of the rounds of learning."""
        return self._engine.rounds.columns_as_arrays()

    # ---- memory ----------------------------------------------------------------------------------

    def plan(self, n_features: int, dtype: Any = np.float64) -> Plan:
        """What is held at most for rows of `n_features` columns, with as many topics as possible."""
        if self._sweeps:
            return plan_of(self._limits(n_features), n_features)
        dtype = np.dtype(dtype)
        allocation = self._allocation(n_features, dtype)
        n_topics, n_groups = allocation.max_topics, allocation.max_groups
        unit = 1 if allocation.per_topic else 8  # bytes
        n_statistics = self._family().n_statistics_of(n_features)
        return Plan.of(
            allocation.max_rows,
            epoch=allocation.epoch * (self._item_bytes(n_features, dtype) + ITEM_BYTES),
            clumps_and_single_items=int(unit * allocation.beside(n_topics, n_groups)),
            topics=n_topics * 8 * (n_statistics + 2 + n_groups),
            groups=n_groups * GROUP_BYTES,
            other=self._fixed_bytes(n_features),
        )

    def _family(self) -> Family:
        """The family; by default words have fewer pseudocounts in a topic than in a component of a mixture."""
        return Multinomial(PSEUDOCOUNT) if self.family == "multinomial" else as_family(self.family)

    def _settings(self) -> Settings:
        tol = TOL if self.tol is None else self.tol
        return Settings(self._family(), self._own_allocation(), self.horizon_items, self.horizon_documents, tol)

    def _limits(self, n_words: int) -> Limits:
        return limits_within(
            as_budget(self.budget), n_words, self.max_topics, self._fixed_bytes(n_words), type(self).__name__
        )

    def _own_allocation(self) -> TopicAllocation:
        return self._allocation(self.n_features_in_, np.dtype(self._dtype))

    def _allocation(self, n_features: int, dtype: np.dtype) -> TopicAllocation:
        n_statistics = self._family().n_statistics_of(n_features)
        sizes = n_features, n_statistics, self._item_bytes(n_features, dtype), self._fixed_bytes(n_features)
        return allocate(as_budget(self.budget), self.epoch, self.max_document_groups, *sizes, type(self).__name__)

    def _item_bytes(self, n_features: int, dtype: np.dtype) -> int:
        """Bytes of an item: a row of numbers, or a word with its column and the end of the row."""
        return dtype.itemsize + 8 if self._are_words else n_features * dtype.itemsize

    def _fixed_bytes(self, n_features: int) -> int:
        """Bytes of the prior, the history and single numbers."""
        return 8 * self._family().n_prior_of(n_features) + 8 * len(COLUMNS) * MAX_ROUNDS + OTHER_BYTES

    def _n_retained(self) -> int:
        engine = self._engine
        return engine.n_documents if isinstance(engine, SweptTopics) else len(engine.memory.memory)


def are_documents(X: Any) -> bool:
    """Whether X is a list of documents, each an array of rows, or an array of three dimensions."""
    if isinstance(X, list | tuple):
        return len(X) > 0 and getattr(X[0], "ndim", 0) == 2
    return getattr(X, "ndim", 0) == 3
