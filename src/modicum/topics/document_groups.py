"""Merging documents with similar topic proportions into groups (gomes2008topics, eq. 3.27)."""

import numpy as np

AT_ONCE = 2048  # groups that are compared with each other: their cosines take 32 MiB


def merged(proportions: np.ndarray, sizes: np.ndarray, limit: int, apart: int) -> np.ndarray:
    """The new group of each of S groups, at most `limit` of them: those with the largest cosines are merged first.

    `proportions` (S, K) are means over the `sizes` documents of a group. The group `apart` stays alone.
    """
    labels = np.zeros(len(sizes), np.int64)
    others = np.delete(np.arange(len(sizes)), apart)
    n_blocks = -(-len(others) // AT_ONCE)
    first = 1
    for block in np.array_split(others, n_blocks):
        room = max(1, (limit - 1) * len(block) // len(others))
        labels[block] = first + _merged_block(proportions[block], sizes[block], room)
        first = labels[block].max() + 1
    labels[apart] = 0
    return labels


def _merged_block(proportions: np.ndarray, sizes: np.ndarray, limit: int) -> np.ndarray:
    labels = np.arange(len(sizes))
    while len(sizes) > limit:
        pairs = _nearest_pairs(proportions, len(sizes) - limit)
        into = np.arange(len(sizes))
        into[pairs[:, 1]] = pairs[:, 0]
        _, into = np.unique(into, return_inverse=True)
        totals = np.zeros((into.max() + 1, proportions.shape[1]))
        np.add.at(totals, into, sizes[:, None] * proportions)
        sizes = np.bincount(into, sizes)
        proportions, labels = totals / sizes[:, None], into[labels]
    return labels


def _nearest_pairs(proportions: np.ndarray, most: int) -> np.ndarray:
    """Up to `most` pairs (smaller index first) of groups that are nearest to each other, by cosine."""
    units = proportions / np.linalg.norm(proportions, axis=1, keepdims=True)
    cosines = units @ units.T
    np.fill_diagonal(cosines, -1.0)
    nearest, here = cosines.argmax(axis=1), np.arange(len(cosines))
    mutual = here[(nearest[nearest] == here) & (here < nearest)]
    if not len(mutual):  # ties in a ring
        best = int(cosines.max(axis=1).argmax())
        return np.sort([[best, int(nearest[best])]], axis=1)
    order = np.argsort(-cosines[mutual, nearest[mutual]], kind="stable")[:most]
    return np.stack([mutual[order], nearest[mutual[order]]], axis=1)
