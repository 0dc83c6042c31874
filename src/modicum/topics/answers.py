"""What topic models say about documents: proportions, topics of items, likelihoods, similar documents."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin

from modicum.contract.validation import check_ids
from modicum.exceptions import DataError, StateError
from modicum.rules.params import Int
from modicum.topics.documents import Documents
from modicum.topics.engine import Snapshot

N_WORDS = 10  # that describe a topic
RELEVANCE = 0.6  # weight of the frequency of a word in a topic, against that relative to all topics, to describe it


@dataclass(frozen=True)
class DocumentIndex:
    """Documents to retrieve from: their ids, and the parameters of the posterior of their proportions."""

    ids: np.ndarray
    parameters: np.ndarray  # (n_documents, n_topics), float32
    topics: str  # a digest of the topics


class TopicAnswers(TransformerMixin):
    """Answers of an estimator that defines `_snapshot` and `_documents`.

    Documents are given as they are learned: rows of counts; or rows of numbers with y, the document of each row, where
    without y every row is a document of its own; or a list of arrays, one per document.
    """

    _snapshot: Callable[[], Snapshot]
    _documents: Callable[[Any, Any], Documents]
    _dtype: str
    column_names_: list[str] | None

    @property
    def n_topics_(self) -> int:
        """Number of topics found."""
        return len(self._snapshot().topics)

    @property
    def alpha_(self) -> np.ndarray:
        """Parameters of the Dirichlet prior of the proportions of a document."""
        return self._snapshot().topics.alpha

    @property
    def weights_(self) -> np.ndarray:
        """Shares of topics in all items; they sum to 1."""
        sizes = self._snapshot().topics.sizes
        return sizes / sizes.sum() if sizes.any() else np.full(len(sizes), 1 / len(sizes))

    @property
    def components_(self) -> np.ndarray:
        """Topics: frequencies of words, or mean items."""
        return self._snapshot().topics.means

    @property
    def topics_(self) -> list[list[str]]:
        """The words that describe each topic best: frequent in it, and more so than in others (sievert2014)."""
        known = self._snapshot().topics
        if known.family.name != "multinomial":
            raise AttributeError("topics of numbers have no words; components_ are their means.")
        logs, overall = np.log(known.means), np.log(self.weights_ @ known.means)
        best = np.argsort(-(logs - (1 - RELEVANCE) * overall), axis=1, kind="stable")[:, :N_WORDS]
        names = self.column_names_ or [f"word {at}" for at in range(logs.shape[1])]
        return [[names[word] for word in words if not names[word].startswith("#")] for words in best]  # free columns

    def nearest_documents(self, n: int = 3) -> tuple[np.ndarray, np.ndarray]:
        """Ids of the held documents with the largest share of each topic, (k, n), and these shares.

        They are fewer than n if fewer documents are held.
        """
        ids, after = self._snapshot().held
        shares = (after / after.sum(axis=1, keepdims=True)).T  # (k, n_held)
        best = np.argsort(-shares, axis=1, kind="stable")[:, :n]
        return ids[best], np.take_along_axis(shares, best, axis=1)

    def transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Mean proportions of topics, a row for each document."""
        after = self._snapshot().topics.infer(self._documents(X, y))
        return (after / after.sum(axis=1, keepdims=True)).astype(self._dtype, copy=False)

    def predict(self, X: Any, y: Any = None) -> np.ndarray:
        """The topic with the largest share in each document."""
        return self.transform(X, y).argmax(axis=1)

    def predict_items(self, X: Any, y: Any = None) -> list[np.ndarray]:
        """The most likely topic of each item, an array for each document: of its words in order of columns."""
        documents = self._documents(X, y)
        return np.split(self._snapshot().topics.labels(documents), documents.borders[1:])[:-1]

    def score_samples(self, X: Any, y: Any = None) -> np.ndarray:
        """Lower bound of the log-likelihood of each document."""
        return self._snapshot().topics.log_bounds(self._documents(X, y))

    def score(self, X: Any, y: Any = None) -> float:
        """Lower bound of the log-likelihood per item."""
        documents = self._documents(X, y)
        return float(self._snapshot().topics.log_bounds(documents).sum() / max(documents.weights.sum(), 1.0))

    def perplexity(self, X: Any, y: Any = None, random_state: Any = 0) -> float:
        """Perplexity per item by document completion: one half of the items of each document predicts the other."""
        documents = self._documents(X, y)
        seen, unseen = documents.halves(np.random.default_rng(random_state))
        predictable = (np.diff(seen.borders) > 0)[unseen.of_items]
        if not predictable.any():
            raise DataError(f"{type(self).__name__}.perplexity: no document has two items or more.")
        logs = self._snapshot().topics.log_completions(seen, unseen)[predictable]
        with np.errstate(over="ignore"):  # infinite for items far from all topics
            return float(np.exp(-np.average(logs, weights=unseen.weights[predictable])))

    def index(self, X: Any, y: Any = None, row_ids: Any = None) -> DocumentIndex:
        """Documents to retrieve from; `row_ids` name them, by default their positions."""
        documents = self._documents(X, y)
        ids = np.arange(len(documents)) if row_ids is None else row_ids
        ids, known = check_ids(type(self).__name__, ids, len(documents)), self._snapshot().topics
        return DocumentIndex(ids, known.infer(documents).astype(np.float32), known.digest)

    def retrieve(
        self, X: Any, k: int = 5, y: Any = None, index: DocumentIndex | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Ids of the k most similar documents for each one of X, the best first, and scores per item (eq. 3.28).

        The score is a lower bound of the log-likelihood of the items of X if they came from the other document. Without
        an `index`, similar documents are found among those that are held; their ids are positions in the stream.
        """
        if not Int(1).accepts(k):
            raise ValueError(f"{type(self).__name__}.retrieve: k must be a positive int; got {k!r}.")
        documents, known = self._documents(X, y), self._snapshot()
        if index is None:
            ids, after = known.held
        elif index.topics != known.topics.digest:
            raise StateError(
                f"{type(self).__name__}.retrieve: the index was made with other topics, of another model or before "
                "more was learned. Call index again."
            )
        else:
            ids, after = index.ids, index.parameters.astype(np.float64)
        scores = known.topics.similarities(documents, after)
        scores /= np.maximum(documents.totals(documents.weights), 1.0)[:, None]
        best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return ids[best], np.take_along_axis(scores, best, axis=1)
