"""Systematic sampling: one random offset, then equal steps (cochran1977, chapters 8 and 9A).

Every item is drawn with its probability, and every run of neighbors as often as expected, to within one: sorted by
cell, each cell has its share. Estimates stay unbiased, with less noise than independent draws have.
"""

import numpy as np


def systematic(mass: np.ndarray, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """`count` different items in ascending order, and the inclusion probability of each.

    Probabilities are proportional to the mass, but at most 1. No item of mass 0 is drawn.
    """
    chances = inclusion(mass, count)
    present = np.flatnonzero(mass)
    ticks = np.arange(min(count, len(present))) + rng.random()
    # rounding must neither point beyond the last item with mass nor draw an item twice
    hit = np.unique(np.minimum(np.searchsorted(np.cumsum(chances), ticks, side="right"), present[-1]))
    return hit, chances[hit]


def inclusion(mass: np.ndarray, count: int) -> np.ndarray:
    """Probabilities proportional to the mass that sum to `count`, none of them above 1."""
    chances = np.zeros(len(mass))
    free = mass > 0
    left = float(count)
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
