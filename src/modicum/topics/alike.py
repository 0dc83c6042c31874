"""Merges of topics that are alike: those that the evidence of their words favors, or the prediction of words."""

from collections.abc import Callable

import numpy as np

from modicum.families import Multinomial
from modicum.numeric.parallel import run_tiles

SLACK = 1e-6  # for rounding: equal topics merge
TOPICS = 32  # in a tile

Gains = Callable[[np.ndarray], np.ndarray]  # of merges, from the partners of topics


def merged_topics(
    sums: np.ndarray, pseudocounts: np.ndarray, most: int, predicted: Gains = np.zeros_like
) -> np.ndarray:
    """For each topic of word counts (topics, words) the number of the topic it becomes part of, at most `most` in all.

    Each topic has one possible partner, which explains its words best of all others. Two topics are merged if the
    evidence of their words is larger for one topic than for two, or if words are then `predicted` better; and those
    that lose least if there are too many.
    """
    family = Multinomial(pseudocounts)
    into = _merge_once(family, sums.copy(), most, predicted)
    numbers, into = np.unique(into, return_inverse=True)
    if len(numbers) <= most:
        return into
    fewer = np.zeros((len(numbers), sums.shape[1]))
    np.add.at(fewer, into, sums)
    return merged_topics(fewer, pseudocounts, most)[into]


def _merge_once(family: Multinomial, sums: np.ndarray, most: int, predicted: Gains) -> np.ndarray:
    """For each topic the one it is merged into, or itself; `sums` are updated.

    Gains are computed again for topics that have grown; these are merged only if the evidence gains.
    """
    masses = sums.sum(axis=1)
    explained = sums @ np.log(family.means(masses, sums)).T
    np.fill_diagonal(explained, -np.inf)
    partners = explained.argmax(axis=1)
    evidence = _log_evidence(family, sums)
    together = _log_evidence(family, sums + sums[partners])
    gains = together - evidence - evidence[partners]
    is_better = predicted(partners) > 0
    into, has_grown, left = np.arange(len(sums)), np.zeros(len(sums), bool), len(sums)
    for k in np.argsort(-gains, kind="stable"):
        j = into[partners[k]]  # the partner may be part of another topic by now
        if j == k or into[k] != k:
            continue
        grown = has_grown[j] or has_grown[k]
        if grown:
            together[k] = _log_evidence(family, sums[None, j] + sums[k])[0]
            gains[k] = together[k] - evidence[j] - evidence[k]
        if gains[k] > -SLACK or (not grown and (is_better[k] or left > most)):
            sums[j] += sums[k]
            evidence[j], has_grown[j] = together[k], True
            into[into == k] = j
            left -= 1
    return into


def _log_evidence(family: Multinomial, sums: np.ndarray) -> np.ndarray:
    """The evidence of each topic, on several threads: most of the time of a merge is spent here."""
    out = np.empty(len(sums))

    def work(tile: slice) -> None:
        out[tile] = family.log_evidence(np.empty(0), sums[tile])

    run_tiles(work, len(sums), TOPICS)
    return out
