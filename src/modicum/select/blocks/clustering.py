"""Clusters of prototypes: k-means in the feature space of a kernel (schlegel2017, Algorithm 2; arthur2007).

Means are given as weights of rows, an array of rows x blocks.
"""

import numpy as np

from modicum._jit import block_greedy as jit


def cluster(K: np.ndarray, means: np.ndarray, capacity: int, rounds: int | None = None) -> np.ndarray:
    """The block of each row, of at most `capacity` rows each, by k-means from the given means.

    `rounds` at most; None: as many as the paper allows.
    """
    n_blocks = means.shape[1]
    block_of, sizes = np.empty(len(K), np.int64), np.empty(n_blocks, np.int64)
    for _ in range(rounds or max(2, len(K) // n_blocks)):  # exact clusters are not needed
        shared = K @ means
        distance = np.diagonal(K)[:, None] - 2 * shared + np.einsum("ij,ij->j", means, shared)
        before = block_of.copy()
        order = np.argsort(distance.min(axis=1), kind="stable")  # rows nearest to a block first
        jit.assign(distance, order, capacity, block_of, sizes)
        if np.array_equal(before, block_of):
            break
        for block in np.flatnonzero(sizes == 0):  # an empty block gets the row that fits worst elsewhere
            block_of[np.argmax(distance[np.arange(len(K)), block_of])] = block
        means = means_of(block_of, n_blocks)
    return block_of


def means_of(block_of: np.ndarray, n_blocks: int) -> np.ndarray:
    """The means of blocks."""
    belongs = block_of[:, None] == np.arange(n_blocks)
    return belongs / np.maximum(belongs.sum(axis=0), 1)


def spread_means(K: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """First means by the rule of arthur2007: rows drawn in proportion to their squared distance to those drawn."""
    distance = np.full(len(K), np.inf)
    means = np.zeros((len(K), count))
    row = int(rng.integers(len(K)))
    for block in range(count):
        means[row, block] = 1.0
        distance = np.minimum(distance, np.maximum(np.diagonal(K) - 2 * K[row] + K[row, row], 0.0))
        total = float(distance.sum())
        row = int(rng.choice(len(K), p=distance / total)) if total > 0 else int(rng.integers(len(K)))
    return means
