"""Topic models of a stream of documents in bounded memory (gomes2008topics)."""

import warnings
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_matrix

from modicum.contract.forgetting import Forgetting
from modicum.contract.learner import Traits
from modicum.contract.validation import check_ids
from modicum.exceptions import DataError, DataWarning
from modicum.families import FAMILY, Family, Multinomial, as_family
from modicum.rows import is_sparse, n_rows
from modicum.rules.budget import Plan, as_budget
from modicum.rules.invariants import TEXT, Is, Scope, Violation
from modicum.rules.params import BUDGET, NULL, POSITIVE, RANDOM_STATE, Int, OneOf
from modicum.topics.answers import TopicAnswers
from modicum.topics.clumped import ClumpedTopics
from modicum.topics.documents import Documents
from modicum.topics.engine import Engine, Snapshot
from modicum.topics.settings import Settings
from modicum.topics.swept import SweptTopics

PSEUDOCOUNT = 0.1  # of every word in a topic: topics have few words
MOST_OF_A_WORD = 1e9  # in a document: float32 sums of larger counts would lose all others
TOL = 1e-2  # nats per item, of numbers
TOL_OF_WORDS = 1e-3  # a topic of words tells much less about each
LONGEST_NAME = 64  # letters of a document's name that are held; longer ones by their digest
OF_CLUMPS = ("max_document_groups", "horizon_items", "horizon_documents", "epoch", "tol")  # parameters


class EngineOfMethod:
    """The rule for the engine: of the class for the method, and for these columns."""

    def check(self, value: Any, scope: Scope) -> None:
        rules = {
            ClumpedTopics: Is(ClumpedTopics, n_statistics=lambda its: its.owner._settings().n_statistics),
            SweptTopics: Is(SweptTopics, n_words="n_features"),
        }
        rules[scope.owner._method()].check(value, scope)
        if getattr(value, "decay", 1.0) != scope.owner._row_decay():
            raise Violation("one of the half_life of the parameters")


class MemoryBoundedTopicModel(TopicAnswers, Forgetting):
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
        an item, and y names the document of each row: consecutive rows with the same y are one document, also across
        chunks, and rows without y are documents of their own. Instead, X may be a list of arrays, one per document,
        which are whole; empty ones are left out.
    budget : int or str, default="16 MiB"
        A size such as "16 MiB", which includes everything; or rows that may be held, `n_retained_ <= budget`, where a
        clump counts as the items that take as many numbers. For words, rows are documents.
    method : {"auto", "clumps", "sweeps"}, default="auto"
        "auto" is "sweeps" for words and "clumps" for numbers; "sweeps" is for words only.
    max_topics : int or None, default=None
        The most topics; by default as many as the budget has room for.
    max_document_groups : int or None, default=None
        The most groups of documents after a round, for "clumps". By default about as many as clumps.
    horizon_items : int or None, default=None
        Expected number of items of the stream, for "clumps". Items are kept apart if their difference would matter by
        then. By default twice what has been seen.
    horizon_documents : int or None, default=None
        Expected number of documents, likewise.
    epoch : int or None, default=None
        Items to buffer between rounds of learning, for "clumps"; by default half of the budget.
    tol : float or None, default=None
        For "clumps": how much each topic must raise the free energy per item, in nats; iterations stop when they gain
        less. By default 0.01, and 0.001 for words.
    half_life : int or None, default=None
        For "sweeps", documents after which the weight of a document in the topics has halved. None: documents of all
        times weigh the same.
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
        Documents learned; "clumps" does not count empty ones.
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
    >>> model.n_topics_, bool(model.transform([picture([0.0, 0.0])]).max() > 0.9)
    (3, True)

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
        "half_life": [NULL, Int(1)],
        "random_state": [RANDOM_STATE],
    }

    _decays_by_row = True  # when an epoch is learned
    _invariants = {
        "_engine": EngineOfMethod(),
        "_last_document": [NULL, TEXT],
    }

    _engine: Engine
    _last_document: str | None  # it goes on if the next row has the same y

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
        half_life: int | None = None,
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
        self.half_life = half_life
        self.random_state = random_state

    @property
    def traits(self) -> Traits:  # type: ignore[override]
        return Traits(chunk_exact=True, merge="approximate", sparse=self._are_words, forgets=self._sweeps)

    @property
    def _are_words(self) -> bool:
        """Whether rows are documents of words, rather than items that are numbers."""
        return self.family == Multinomial.name or isinstance(self.family, Multinomial)

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
            if np.ndim(getattr(self._family(), "pseudocounts", 0.0)):
                raise ValueError(f"{type(self).__name__}: sweeps take one number of pseudocounts for all words.")
            for name in OF_CLUMPS:
                if getattr(self, name) is not None:
                    raise ValueError(f'{type(self).__name__}: {name} is for method="clumps"; the method is "sweeps".')
        elif self.half_life is not None:
            raise ValueError(f'{type(self).__name__}: half_life is for method="sweeps", of words.')
        elif self._are_words and as_budget(self.budget).nbytes is None:
            raise ValueError(
                f'{type(self).__name__}: clumps of words need a budget in bytes, such as "16 MiB"; got {self.budget!r}.'
            )

    # ---- learning --------------------------------------------------------------------------------

    def _take_chunk(self, X: Any, y: Any, sample_weight: Any, row_ids: Any) -> None:
        if are_documents(X):
            X, lengths = self._joined(X, y)
            y, row_ids = Listed(lengths), self._ids_of_items(lengths, row_ids)
        super()._take_chunk(X, y, sample_weight, row_ids)

    def _ids_of_items(self, lengths: np.ndarray, ids: Any) -> np.ndarray:
        """The id of its document for each row of a list; by default they are numbered, without empty ones."""
        if ids is None:
            ids = (self.n_documents_ if self._is_fitted() else 0) + np.cumsum(lengths > 0) - 1
        return np.repeat(check_ids(type(self).__name__, ids, len(lengths)), lengths)

    def _check_target(self, y: Any, count: int) -> Any:
        if isinstance(y, Listed):
            return y
        y = super()._check_target(y, count)
        if y is None or self._are_words:
            return y
        missing = np.flatnonzero([each is None for each in y.tolist()] if y.dtype.kind == "O" else y != y)
        if len(missing):
            raise DataError(
                f"{type(self).__name__}: row {missing[0]} of this chunk has no document: its y is {y[missing[0]]}. "
                "Fill in or drop such rows first."
            )
        return y

    def _check_rows(self, X: Any, *, reset: bool) -> Any:
        X = super()._check_rows(X, reset=reset)
        if reset and self._are_words:
            self._kind = "sparse"
        return X if self._kind == "dense" or is_sparse(X) else csr_matrix(X)

    def _check_chunk(self, X: Any, y: np.ndarray | None) -> None:
        name = type(self).__name__
        self._family().check(X, name)
        if self._are_words and X.data.max(initial=0.0) > MOST_OF_A_WORD:
            row, column = (int(at[0]) for at in (X > MOST_OF_A_WORD).nonzero())
            raise DataError(
                f"{name}: row {row}, column {column} of this chunk is {X[row, column]:g}, which is no count."
            )

    def _learn(self, X: Any, y: Any, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        if not hasattr(self, "_engine"):
            engine = self._method().empty(X, self._settings())  # refuses a budget that is too small for the columns
            self._family().bind(X, np.ones(n_rows(X)))  # refuses an invalid prior before anything is learned
            self._engine, self._last_document = engine, None
        self._engine.learn(X, self._beginnings(y, n_rows(X)), row_ids, self._rng, self._settings())

    def _method(self) -> type[ClumpedTopics] | type[SweptTopics]:
        return SweptTopics if self._sweeps else ClumpedTopics

    def _beginnings(self, y: Any, count: int) -> np.ndarray:
        """Whether a document begins with each row."""
        if y is None or isinstance(y, Listed) or self._are_words:
            self._last_document = None
            return np.ones(count, bool) if not isinstance(y, Listed) else y.begins
        begins = np.append(_name(y[0]) != self._last_document, y[1:] != y[:-1])
        self._last_document = _name(y[-1])
        _warn_of_interleaved(type(self).__name__, y[begins].tolist())
        return begins

    def _end_of_stream(self) -> None:
        self._engine.finish(self._settings())
        self._derived = {}

    def _merge(self, other: "MemoryBoundedTopicModel") -> None:
        self._engine.merge(other._engine, self._settings())
        self._last_document = None

    # ---- answers ---------------------------------------------------------------------------------

    def _snapshot(self) -> Snapshot:
        return self._derive("snapshot", lambda: self._engine.snapshot(self._settings()))

    def _documents(self, X: Any, y: Any = None) -> Documents:
        """Documents to answer for."""
        self._check_fitted()
        if are_documents(X):
            rows, lengths = self._joined(X, y)
            return Documents.of_rows(self._check_rows(rows, reset=False), lengths)
        X = self._check_input(X)
        self._check_chunk(X, None)
        if self._are_words:
            return Documents.of_counts(X)
        if y is None:
            return Documents.of_rows(X, np.ones(len(X), np.intp))
        y = self._check_target(y, len(X))
        starts = np.flatnonzero(np.append(True, y[1:] != y[:-1]))
        return Documents.of_rows(X, np.diff(starts, append=len(X)))

    def _joined(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Rows of all documents of a list, and the number of rows of each."""
        name = type(self).__name__
        if self._are_words:
            raise DataError(f"{name}: documents of words are rows of counts, not arrays of items.")
        if y is not None:
            raise DataError(f"{name}: a list of documents takes no y.")
        arrays = [np.asarray(document) for document in X]
        width = arrays[0].shape[-1]
        for at, array in enumerate(arrays):
            if array.ndim != 2 or array.shape[1] != width:
                raise DataError(
                    f"{name}: document {at} of this list has shape {array.shape}; the first has {width} columns."
                )
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                row, column = map(int, np.argwhere(~np.isfinite(array))[0])
                raise DataError(
                    f"{name}: row {row}, column {column} of document {at} of this list is {array[row, column]}. "
                    "Fill in or drop such rows first."
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
        return self._engine.n_documents

    @property
    def free_energy_(self) -> float:
        """Lower bound of the log-evidence of all items learned."""
        return self._snapshot().free_energy

    @property
    def history_(self) -> dict[str, np.ndarray]:
        """History of the rounds of learning."""
        return self._engine.rounds.columns_as_arrays()

    # ---- memory ----------------------------------------------------------------------------------

    def plan(self, n_features: int, dtype: Any = np.float64) -> Plan:
        """What is held at most for rows of `n_features` columns, with as many topics as possible."""
        return self._method().plan(self._settings(n_features, dtype))

    def _family(self) -> Family:
        """The family; by default words have fewer pseudocounts in a topic than in a component of a mixture."""
        return Multinomial(PSEUDOCOUNT) if self.family == "multinomial" else as_family(self.family)

    def _settings(self, n_features: int | None = None, dtype: Any = None) -> Settings:
        """The parameters, by default for rows like those learned from."""
        return Settings(
            type(self).__name__,
            self._family(),
            self.n_features_in_ if n_features is None else n_features,
            np.dtype(self._dtype if dtype is None else dtype),
            as_budget(self.budget),
            self.max_topics,
            self.max_document_groups,
            self.horizon_items,
            self.horizon_documents,
            self.epoch,
            self.tol or (TOL_OF_WORDS if self._are_words else TOL),
            self._row_decay(),
        )

    def _n_retained(self) -> int:
        return self._engine.n_retained


@dataclass(frozen=True)
class Listed:
    """Numbers of rows of the documents of a list, in place of y."""

    lengths: np.ndarray

    @property
    def begins(self) -> np.ndarray:
        """Whether a document begins with each row."""
        at = np.repeat(np.arange(len(self.lengths)), self.lengths)
        return np.append(True, at[1:] != at[:-1])


def _name(label: Any) -> str:
    """A document label as text: 1 and 1.0 are the same."""
    is_whole = isinstance(label, float | np.floating) and label.is_integer()
    name = str(int(label)) if is_whole else str(label)
    return name if len(name) <= LONGEST_NAME else sha256(name.encode(errors="replace")).hexdigest()


def _warn_of_interleaved(name: str, documents: list[Any]) -> None:
    """Warn if one of the documents that begin in a chunk has begun there before."""
    seen: set[Any] = set()
    again = next((each for each in documents if each in seen or seen.add(each)), None)  # type: ignore[func-returns-value]
    if again is not None:
        warnings.warn(
            f"{name}: rows of document {again!r} are not consecutive, so that it counts as several documents. Sort "
            "rows by document first.",
            DataWarning,
            stacklevel=2,
        )


def are_documents(X: Any) -> bool:
    """Whether X is a list of documents, each an array of rows, or an array of three dimensions."""
    if isinstance(X, list | tuple):
        return len(X) > 0 and getattr(X[0], "ndim", 0) == 2
    return getattr(X, "ndim", 0) == 3
