"""What is known of each worker: how reliable they are, what they lump together and what they split."""

from typing import Any

import numpy as np

from modicum.crowd.labels import PairLabels

TINY = 1e-300  # weight: a worker may have no labels
RANDOM = 0.1  # reliabilities that are closer to 0 than this are those of random answers


def summary(labels: PairLabels, confusion: np.ndarray, clusters: np.ndarray) -> dict[str, Any]:
    """Columns of equal length, one row per worker."""
    n_workers = len(labels.workers)
    weight = np.abs(labels.label)
    total = np.bincount(labels.worker, weight, n_workers)
    together = np.bincount(labels.worker, np.maximum(labels.label, 0), n_workers)
    answers = np.unique(np.column_stack([labels.worker, labels.answer]), axis=0)[:, 0]
    reliability = reliabilities(confusion, np.bincount(clusters, minlength=confusion.shape[1]))
    kind = np.where(reliability < -RANDOM, "adversarial", np.where(reliability < RANDOM, "random", "usual"))
    return {
        "worker": labels.workers.tolist(),
        "n_labels": np.bincount(labels.worker, minlength=n_workers),
        "n_answers": np.bincount(answers, minlength=n_workers),
        "share_together": together / np.maximum(total, TINY),
        "reliability": reliability,
        "kind": kind.tolist(),
        "lumps": [_lumped(own) for own in confusion],
        "splits": [[k for k in range(len(own)) if own[k, k] < 0.5] for own in confusion],
    }


def reliabilities(confusion: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """P(one group | one cluster) - P(one group | different clusters), for pairs of random items, by worker."""
    pairs = np.outer(sizes, sizes).astype(np.float64)
    np.fill_diagonal(pairs, sizes * (sizes - 1))
    same = np.diag(np.diag(pairs))
    parts = []
    for kind in (same, pairs - same):
        total = kind.sum()
        parts.append((confusion * kind).sum(axis=(1, 2)) / total if total else np.zeros(len(confusion)))
    return parts[0] - parts[1]


def _lumped(confusion: np.ndarray) -> list[list[int]]:
    """Pairs of clusters that are put together rather than not."""
    first, second = np.nonzero(np.triu(confusion > 0.5, 1))
    return np.column_stack([first, second]).tolist()
