"""Pairs of components that may be merged."""

import numpy as np


def nearest_pairs(scores: np.ndarray, count: int) -> np.ndarray:
    """Pairs of each row with the `count` others in which its score is largest, smaller index first."""
    scores = scores.copy()
    np.fill_diagonal(scores, -np.inf)
    near = np.argsort(-scores, axis=1, kind="stable")[:, : min(count, len(scores) - 1)]
    pairs = np.stack([np.repeat(np.arange(len(near)), near.shape[1]), near.ravel()], axis=1)
    return np.unique(np.sort(pairs, axis=1), axis=0)
