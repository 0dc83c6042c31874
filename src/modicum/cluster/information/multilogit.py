"""Multilogit models: p(y = k | x) proportional to exp(w_k . x + b_k) (gomes2010rim, eq. 5.4.1)."""

from typing import Any

import numpy as np

from modicum.cluster.information.objective import TILE, log_softmax, logits
from modicum.numeric.parallel import run_tiles
from modicum.rules.invariants import Array
from modicum.state.part import Part


class Multilogit(Part):
    """Weights and biases of categories."""

    _invariants = {
        "weights": Array("float64", "n_inputs", "n_categories"),
        "biases": Array("float64", "n_categories"),
    }

    def __init__(self, weights: np.ndarray, biases: np.ndarray):
        self.weights = np.ascontiguousarray(weights)  # (m, k); products round as they do after loading
        self.biases = biases

    def __len__(self) -> int:
        return len(self.biases)

    def keep(self, categories: np.ndarray) -> "Multilogit":
        """The model of some of the categories."""
        return Multilogit(self.weights[:, categories], self.biases[categories])

    def log_proba(self, rows: Any) -> np.ndarray:
        """Logarithms of the probabilities of categories, of shape (n, k)."""
        found = self._logits(rows)
        run_tiles(lambda tile: log_softmax(found[:, tile]), rows.shape[0], TILE)
        return found.T

    def labels(self, rows: Any) -> np.ndarray:
        """The most probable category of each row."""
        return self._logits(rows).argmax(axis=0)

    def _logits(self, rows: Any) -> np.ndarray:
        weights, biases = self.weights.astype(rows.dtype), self.biases.astype(rows.dtype)
        out = np.empty((len(self), rows.shape[0]), rows.dtype)
        run_tiles(lambda tile: logits(rows[tile], weights, biases, out[:, tile]), rows.shape[0], TILE)
        return out

    def sizes(self, rows: Any, shares: np.ndarray) -> np.ndarray:
        """The share q_k of each category among rows."""
        return shares @ np.exp(self.log_proba(rows))
