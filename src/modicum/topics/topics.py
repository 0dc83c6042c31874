"""Topics that have been learned, and what they say about documents (gomes2008topics, eq. 3.10, 3.11, 3.28)."""

from hashlib import sha256

import numpy as np
from scipy.special import digamma, gammaln

from modicum._jit.proportions import best_sums, infer, label, mix
from modicum.families import Family
from modicum.rules.invariants import Array, Is
from modicum.state.part import Part
from modicum.topics.documents import Documents

MAX_ITER = 100  # of the inference of proportions
CHANGE = 1e-3  # the inference stops when the counts of topics change by less, on average


class Topics(Part):
    """Count and sum of statistics of each topic, and alpha: the prior of the proportions of a document."""

    _invariants = {
        "family": Is(Family, n_statistics="n_statistics"),
        "counts": Array("float64", "k", low=0.0),
        "sums": Array("float64", "k", "n_statistics"),
        "alpha": Array("float64", "k", above=0.0),
    }

    def __init__(self, family: Family, counts: np.ndarray, sums: np.ndarray, alpha: np.ndarray):
        self.family = family
        self.counts = counts
        self.sums = sums
        self.alpha = alpha

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def sizes(self) -> np.ndarray:
        """Expected number of items of each topic."""
        return self.sums.sum(axis=1) if self.family.name == "multinomial" else self.counts

    @property
    def means(self) -> np.ndarray:
        """Mean items of topics; for words, their frequencies."""
        return self.family.means(self.counts, self.sums)

    @property
    def digest(self) -> str:
        """A text that other topics do not have."""
        return sha256(b"".join(part.tobytes() for part in (self.counts, self.sums, self.alpha))).hexdigest()

    def infer(self, documents: Documents) -> np.ndarray:
        """Parameters of the Dirichlet posterior of the proportions of each document (eq. 3.10)."""
        return self._infer(documents, self._likelihoods(documents)[0])

    def labels(self, documents: Documents) -> np.ndarray:
        """The most likely topic of each item."""
        table, _ = self._likelihoods(documents)
        found = np.empty(len(documents.words), np.int32)
        factors = np.exp(digamma(self._infer(documents, table)))
        documents.run(label, table, found, by_document=(factors,))
        return found

    def log_bounds(self, documents: Documents) -> np.ndarray:
        """Lower bound of log p(document), for each document."""
        table, largest = self._likelihoods(documents)
        after, alpha = self._infer(documents, table), self.alpha
        logs = _expected_logs(after)
        bounds = documents.totals(documents.weights * self._log_mixed(documents, table, largest, np.exp(logs)))
        bounds += (gammaln(after) - gammaln(alpha) - (after - alpha) * logs).sum(axis=1)
        return bounds + gammaln(alpha.sum()) - gammaln(after.sum(axis=1))

    def log_completions(self, seen: Documents, unseen: Documents) -> np.ndarray:
        """log p(item) of the unseen items of documents, with the proportions found from the seen ones."""
        after = self.infer(seen)
        return self._log_mixed(unseen, *self._likelihoods(unseen), after / after.sum(axis=1, keepdims=True))

    def similarities(self, documents: Documents, after: np.ndarray) -> np.ndarray:
        """Retrieval scores (eq. 3.28) of documents and of others, given by the parameters of their proportions."""
        out = np.empty((len(documents), len(after)))
        logs = self._log_likelihoods(documents)
        documents.run(best_sums, documents.weights, logs, _expected_logs(after), by_document=(out,))
        return out

    def _log_likelihoods(self, documents: Documents) -> np.ndarray:
        """log p(item | topic), parameters integrated out: a row for each word that documents may have."""
        if documents.rows is None:
            return np.ascontiguousarray(np.log(self.means).T)
        return self.family.log_predictive(documents.rows, self.counts, self.sums)

    def _likelihoods(self, documents: Documents) -> tuple[np.ndarray, np.ndarray]:
        """Likelihoods relative to the largest of each row, and the log of that."""
        logs = self._log_likelihoods(documents)
        largest = logs.max(axis=1)
        return np.exp(logs - largest[:, None]), largest

    def _infer(self, documents: Documents, table: np.ndarray) -> np.ndarray:
        after = np.empty((len(documents), len(self)))
        documents.run(infer, documents.weights, table, self.alpha, MAX_ITER, CHANGE, by_document=(after,))
        return after

    def _log_mixed(
        self, documents: Documents, table: np.ndarray, largest: np.ndarray, proportions: np.ndarray
    ) -> np.ndarray:
        """log p(item) under the mixture of topics of its document."""
        likelihoods = np.empty(len(documents.words))
        documents.run(mix, table, likelihoods, by_document=(proportions,))
        return np.log(likelihoods) + largest[documents.words]


def _expected_logs(after: np.ndarray) -> np.ndarray:
    """Expected logs of proportions with these Dirichlet parameters."""
    return digamma(after) - digamma(after.sum(axis=1, keepdims=True))
