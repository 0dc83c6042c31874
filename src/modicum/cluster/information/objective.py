"""The objective of regularised information maximisation and its gradient (gomes2010rim, eq. 5.3.2 to 5.4.3, 5.6).

For rows x_i of shares s_i (summing to 1) and a multilogit model p_ki = p(y = k | x_i),

    F = tau (sum_i s_i sum_k p_ki log p_ki - sum_k q_k log(q_k / d_k)) - lambda sum_k |w_k|^2
        + mean over labelled rows of log p(y_i | x_i),                                       q_k = sum_i s_i p_ki,

where d are the proportions expected of the categories. Without labels and with d = 1 this is the mutual information
I(y; x) minus the penalty. The gradient by the logits of row i is

    s_i tau p_ki (log(p_ki d_k / q_k) - sum_c p_ci log(p_ci d_c / q_c))

and that of the label: value and gradient take one pass over the rows for the probabilities and one for the sums.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.numeric.parallel import run_tiles
from modicum.rows import is_sparse

TILE = 2048  # rows: their probabilities stay in the cache
LEAST_SHARE = 1e-300  # of a category, so that its logarithm is finite


@dataclass(frozen=True)
class Labelled:
    """Rows with known categories, each of them once."""

    rows: np.ndarray
    categories: np.ndarray
    weights: np.ndarray | None = None  # None: equal ones
    n_classes: int = 0  # at least so many categories belong to labels, though rows of some may be missing

    @property
    def shares(self) -> np.ndarray:
        """Weights that sum to 1."""
        n = len(self.rows)
        return np.full(n, 1.0 / n) if self.weights is None else self.weights / self.weights.sum()

    def counts(self, n_classes: int) -> np.ndarray:
        """Rows of each class; one of weight 2 counts twice."""
        return np.bincount(self.categories, self.weights, n_classes)

    def take(self, some: np.ndarray) -> "Labelled":
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[some]
        return Labelled(self.rows[some], self.categories[some], weights, self.n_classes)


class Objective:
    """Value and gradient of F for parameters [w, b] as one vector; minus both, as minimisers expect them.

    Sparse rows are not centered. Their biases are those of centered rows all the same, b + w . mean: otherwise a column
    far from zero would tie each bias to its weights, and minimisers would end before they are anywhere.
    """

    def __init__(
        self,
        rows: Any,
        shares: np.ndarray,
        n_categories: int,
        regularization: float,
        *,
        log_prior: np.ndarray | None = None,
        labels: Labelled | None = None,
        tau: float = 1.0,
    ):
        self.rows = rows
        self.shares = shares
        self.n_categories = n_categories
        self.regularization = regularization
        self.log_prior = np.zeros(n_categories) if log_prior is None else log_prior
        self.labels = labels
        self.tau = tau
        self._mean = np.asarray(shares @ rows, np.float64) if is_sparse(rows) else None
        self._logs = np.empty((n_categories, rows.shape[0]), rows.dtype)  # log p_ki, then the gradient by the logits
        self._tile = rows.shape[0] if is_sparse(rows) else TILE  # slices of sparse rows are copies, sums over them wide

    def __call__(self, params: np.ndarray) -> tuple[float, np.ndarray]:
        W, b = self.unpack(params)
        sizes, negative_entropy = self._forward(W, b)
        log_sizes = np.log(np.maximum(sizes, LEAST_SHARE))
        information = negative_entropy - sizes @ (log_sizes - self.log_prior)
        value = self.tau * information - self.regularization * np.vdot(W, W)
        likelihood, residuals = self._label_terms()
        gradient_W, gradient_b = self._backward(log_sizes - self.log_prior, residuals)
        if self._mean is not None:
            gradient_W -= np.outer(self._mean, gradient_b)
        gradient_W -= 2.0 * self.regularization * W
        return -(value + likelihood), -np.concatenate([gradient_W.ravel(), gradient_b])

    def unpack(self, params: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights of shape (d, k), and biases, for the rows as they are."""
        W, b = params[: -self.n_categories].reshape(-1, self.n_categories), params[-self.n_categories :]
        return W, b if self._mean is None else b - self._mean @ W

    def pack(self, W: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Weights and biases as one vector."""
        return np.concatenate([W.ravel(), b if self._mean is None else b + self._mean @ W])

    def _forward(self, W: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, float]:
        """Fill in log p; returns the shares q of the categories and sum_i s_i sum_k p_ki log p_ki."""
        rows, shares, logs = self.rows, self.shares, self._logs
        weights, bias = W.astype(logs.dtype), b.astype(logs.dtype)
        n_tiles = -(-len(shares) // self._tile)
        sizes, negative_entropies = np.zeros((n_tiles, self.n_categories)), np.zeros(n_tiles)

        def work(tile: slice) -> None:
            log_p = logits(rows[tile], weights, bias, out=logs[:, tile])
            p = log_softmax(log_p)
            at, share = tile.start // self._tile, shares[tile]
            sizes[at] = p @ share
            p *= log_p
            negative_entropies[at] = (p @ share).sum()

        run_tiles(work, len(shares), self._tile)
        return sizes.sum(axis=0), float(negative_entropies.sum())

    def _label_terms(self) -> tuple[float, np.ndarray | None]:
        """The mean log-likelihood of a label, and its gradient by the logits of the labelled rows."""
        if self.labels is None:
            return 0.0, None
        log_p = self._logs[:, self.labels.rows].astype(np.float64)
        known = self.labels.categories, np.arange(log_p.shape[1])
        residuals = -np.exp(log_p)
        residuals[known] += 1.0
        residuals *= self.labels.shares
        return float(self.labels.shares @ log_p[known]), residuals

    def _backward(self, log_excess: np.ndarray, residuals: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Gradients by weights and biases, from log(q / d) and the gradient of the labels."""
        rows, shares, logs, tau = self.rows, self.shares, self._logs, self.tau
        offset = log_excess.astype(logs.dtype)[:, None]
        scaled = (tau * shares).astype(logs.dtype)
        tiles_W = np.zeros((-(-len(shares) // self._tile), rows.shape[1], self.n_categories))
        tiles_b = np.zeros((len(tiles_W), self.n_categories))

        def work(tile: slice) -> None:
            log_p = logs[:, tile]
            p = np.exp(log_p)
            log_p -= offset
            log_p -= np.einsum("ki,ki->i", p, log_p)
            log_p *= p
            log_p *= scaled[tile]

        def reduce(tile: slice) -> None:
            at, gradient = tile.start // self._tile, logs[:, tile]
            tiles_W[at] = rows[tile].T @ gradient.T
            tiles_b[at] = gradient.sum(axis=1, dtype=np.float64)

        run_tiles(work, len(shares), self._tile)
        if residuals is not None and self.labels is not None:
            logs[:, self.labels.rows] += residuals
        run_tiles(reduce, len(shares), self._tile)
        return tiles_W.sum(axis=0), tiles_b.sum(axis=0)


def logits(rows: Any, weights: np.ndarray, biases: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Logits of shape (k, n): sums over few categories are faster down the columns than along rows of that length."""
    np.add((rows @ weights).T if is_sparse(rows) else weights.T @ rows.T, biases[:, None], out=out)
    return out


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Turn logits of shape (k, n) into logarithms of the probabilities of categories; returns the probabilities."""
    logits -= logits.max(axis=0)
    p = np.exp(logits)
    total = p.sum(axis=0)
    logits -= np.log(total)
    p /= total
    return p
