"""Quotas: how many rows each group of a balanced selection may have."""

from typing import Any

import numpy as np

Quotas = dict[Any, int]


def even_quotas(counts: np.ndarray, total: int) -> tuple[np.ndarray, int]:
    """(quotas, room): `total` places for groups of these numbers of rows, and the most that one group has.

    Every group has equally many places, and what small groups can't fill goes to the others, evenly again. Of the
    places that remain, each goes to one more group, in their order. As counts only grow, `room` never rises: a group
    never needs rows that it has given up before.

    >>> even_quotas(np.array([9, 1, 9]), 6)
    (array([3, 1, 2]), 3)
    """
    level = _level(counts, total)
    quotas = np.minimum(counts, level)
    larger = np.flatnonzero(counts > level)
    left = min(total - int(quotas.sum()), len(larger))
    quotas[larger[:left]] += 1
    return quotas, level + (left > 0)


def _level(counts: np.ndarray, total: int) -> int:
    """The largest number of rows per group with which all groups together have at most `total`."""
    if counts.sum() <= total:
        return total
    filled = np.sort(counts)
    before = np.concatenate([[0], np.cumsum(filled)[:-1]])  # rows of the smaller groups
    levels = (total - before) // np.arange(len(filled), 0, -1)
    return int(levels[levels < filled][0])  # the first group that it does not fill


def quota_of(value: Any, quotas: Quotas) -> int:
    """The quota given for a value; its text may be given instead, as on a command line. 0 if there is none."""
    return quotas.get(value, quotas.get(text_of(value), 0))


def text_of(value: Any) -> str:
    """A value as it is typed: 2 for 2.0."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def are_quotas(value: Any) -> bool:
    """Whether a parameter is a dict of a positive quota for each value."""
    if not isinstance(value, dict) or not value:
        return False
    counts = value.values()
    whole = all(isinstance(n, int | np.integer) and not isinstance(n, bool) and 0 < n < 2**31 for n in counts)
    return whole and all(isinstance(key, str | int | float) for key in value)
