"""Merging documents with similar topic proportions into groups (gomes2008topics, eq. 3.27)."""

import numpy as np

AT_ONCE = 2048  # groups that are compared with each other: their cosines take 32 MiB
ALIKE = 1 - 1e-12  # cosines of groups that are merged all at once


def merged(proportions: np.ndarray, sizes: np.ndarray, limit: int, apart: int) -> np.ndarray:
    """The new group of each of S groups, at most `limit` of them: those with the largest cosines are merged first.

    `proportions` (S, K) are means over the `sizes` documents of a group. The group `apart` stays
    alone, and comes last.
    """
    labels = np.arange(len(sizes))
    others = np.delete(labels, apart)
    labels[others] = _merged(proportions[others], sizes[others], limit - 1)
    labels[apart] = labels[others].max() + 1
    return labels


def _merged(proportions: np.ndarray, sizes: np.ndarray, limit: int) -> np.ndarray:
    labels = np.arange(len(sizes))
    while len(sizes) > limit:
        pairs = _nearest_pairs(proportions)[: len(sizes) - limit]
        into = np.arange(len(sizes))
        into[pairs[:, 1]] = pairs[:, 0]
        _, into = np.unique(into, return_inverse=True)
        totals = np.zeros((into.max() + 1, proportions.shape[1]))
        np.add.at(totals, into, sizes[:, None] * proportions)
        sizes = np.bincount(into, sizes)
        proportions, labels = totals / sizes[:, None], into[labels]
    return labels


def _nearest_pairs(proportions: np.ndarray) -> np.ndarray:
    """Pairs (smaller index first) of groups that are nearest to each other, the largest cosines first.

    Only the better half of them: two groups far from all others must not be merged before near ones.
    """
    units = proportions / np.linalg.norm(proportions, axis=1, keepdims=True)
    blocks = np.array_split(np.arange(len(units)), -(-len(units) // AT_ONCE))
    pairs, cosines = map(np.concatenate, zip(*(_nearest_in_block(units, block) for block in blocks), strict=True))
    return pairs[np.argsort(-cosines, kind="stable")[: -(-len(pairs) // 2)]]


def _nearest_in_block(units: np.ndarray, block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    cosines = units[block] @ units[block].T
    np.fill_diagonal(cosines, -1.0)
    alike = cosines > ALIKE
    first = alike.argmax(axis=1)
    follows = alike.any(axis=1) & (first < np.arange(len(block)))
    many = np.flatnonzero(follows & ~follows[first])
    if len(many):  # such as documents of one item: their mutually nearest ones would be a single pair
        return block[np.stack([first[many], many], axis=1)], cosines[many, first[many]]
    nearest, here = cosines.argmax(axis=1), np.arange(len(block))
    mutual = here[(nearest[nearest] == here) & (here < nearest)]
    if not len(mutual):  # ties in a ring
        mutual = here[[cosines.max(axis=1).argmax()]]
    pairs = np.sort(np.stack([mutual, nearest[mutual]], axis=1), axis=1)
    return block[pairs], cosines[mutual, nearest[mutual]]
