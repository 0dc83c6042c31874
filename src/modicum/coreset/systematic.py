"""Systematic sampling: one random start, then equal steps (cochran1977, chapters 8 and 9A).

Every item is drawn with its probability, and every run of neighbors as often as expected, give or take one: sorted by
cell, each cell has its share. Estimates stay unbiased, with less noise than independent draws have.
"""

import numpy as np


def systematic(mass: np.ndarray, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """`size` different items, ascending, and the probability with which each was to be drawn.

    It is in proportion to the mass, but for items so heavy that they are drawn for certain. No item of mass 0 is drawn.
    """
    chances = inclusion(mass, size)
    present = np.flatnonzero(mass)
    ticks = np.arange(min(size, len(present))) + rng.random()
    # rounding must neither point behind the last item that counts nor give an item twice
    hit = np.unique(np.minimum(np.searchsorted(np.cumsum(chances), ticks, side="right"), present[-1]))
    return hit, chances[hit]


def inclusion(mass: np.ndarray, size: int) -> np.ndarray:
    """Probabilities in proportion to the mass that sum to `size`, none of them above 1."""
    chances = np.zeros(len(mass))
    free = mass > 0
    left = float(size)
    while free.any():
        share = left / mass[free].sum()
        certain = free & (mass * share >= 1)
        if not certain.any():
            chances[free] = share * mass[free]
            break
        chances[certain] = 1.0
        free &= ~certain
        left -= np.count_nonzero(certain)
    return chances
