"""Documents that a topic model of words holds: a sample of old ones, a window of the latest, and those in waiting."""

import numpy as np
from scipy.sparse import csr_matrix

from modicum.rows.rows import SparseRows
from modicum.rows.slots import put_values
from modicum.rules.invariants import ABSENT, Array, Is, Whole
from modicum.rules.params import Where
from modicum.state.part import Part
from modicum.topics.limits import Limits

LEAST = 1e-30  # weight of a document that has faded: a number in float32 yet
COUNTS = Where(lambda X: not X.nnz or X.data.min() >= 0, "counts")


class HeldDocuments(Part):
    """Documents in the order reservoir, window, waiting, with their ids, random keys and, if these fade, weights.

    The reservoir has the documents with the smallest keys of all that left the window (efraimidis2006): a uniform
    sample, which merges with another one exactly. Of documents that fade, the keys are those of their weights.
    """

    _invariants = {
        "rows": Is(SparseRows, n="n", width="n_words", of=lambda its: "float32", also={"values": COUNTS}),
        "ids": Array("int64", "n"),
        "keys": Array("float64", "n", low=0.0, high=1.0),
        "weights": [ABSENT, Array("float64", "n", above=0.0)],
        "n_reservoir": Whole(0, "n_learned"),
        "n_learned": Whole("n_reservoir", "n"),
    }

    def __init__(self, n_words: int, *, fade: bool = False):
        self.rows = SparseRows(np.float32, n_words)
        self.ids = np.empty(0, np.int64)
        self.keys = np.empty(0)
        if fade:
            self.weights = np.empty(0)
        self.n_reservoir = 0
        self.n_learned = 0  # not waiting

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def learned(self) -> csr_matrix:
        return self.rows.values[: self.n_learned]

    @property
    def waiting(self) -> csr_matrix:
        return self.rows.values[self.n_learned :]

    @property
    def pending(self) -> tuple[csr_matrix, np.ndarray, np.ndarray]:
        """Documents in waiting with their ids and keys, as `add` takes them."""
        return self.waiting, self.ids[self.n_learned :], self.keys[self.n_learned :]

    @property
    def fade(self) -> bool:
        """Whether documents have weights."""
        return "weights" in vars(self)

    def age(self, decay: float) -> None:
        """Let all documents in waiting come, one after the other: weights of earlier ones are multiplied by `decay`."""
        n_waiting = len(self) - self.n_learned
        ages = np.append(np.full(self.n_learned, n_waiting), np.arange(n_waiting)[::-1])
        self.weights = np.maximum(self.weights * decay**ages, LEAST)

    def weights_of(self, slots: slice | np.ndarray) -> np.ndarray | None:
        return self.weights[slots] if self.fade else None

    def costs(self, limits: Limits) -> np.ndarray:
        return limits.costs(np.diff(self.rows.values.indptr))

    def add(self, X: csr_matrix, ids: np.ndarray, keys: np.ndarray) -> None:
        """Add documents to those in waiting."""
        slots = np.arange(len(self), len(self) + X.shape[0])
        self.rows.put(slots, X)
        self.ids, self.keys = put_values(self.ids, slots, ids), put_values(self.keys, slots, keys)
        if self.fade:
            self.weights = np.append(self.weights, np.ones(len(ids)))

    def keep(self, slots: np.ndarray) -> None:
        """Keep these learned documents, in this order, none of them in waiting."""
        self.rows.keep(slots)
        self.ids, self.keys = self.ids[slots], self.keys[slots]
        if self.fade:
            self.weights = self.weights[slots]
        self.n_learned = len(slots)

    def surviving(self, limits: Limits) -> tuple[np.ndarray, int]:
        """Slots of learned documents that are within the limits, the reservoir first, and how many are in it."""
        costs = self.costs(limits)[: self.n_learned]
        latest = np.cumsum(costs[self.n_reservoir :][::-1])[::-1] <= limits.window
        window = self.n_reservoir + np.flatnonzero(latest)
        old = np.arange(self.n_learned - len(window))
        keys = -np.log1p(-self.keys[old]) / self.weights[old] if self.fade else self.keys[old]
        sample = old[np.argsort(keys, kind="stable")]
        sample = np.sort(sample[np.cumsum(costs[sample]) <= limits.reservoir])
        return np.concatenate([sample, window]), len(sample)
