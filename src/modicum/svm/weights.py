"""Weights of rows relative to their mean, and weights of classes."""

from typing import Any

import numpy as np

from modicum.contract.labels import Labels
from modicum.rules.invariants import Real, Whole
from modicum.state.part import Part


class Weights(Part):
    """The mean of all weights so far."""

    _invariants = {
        "total": Real(0.0),
        "count": Whole(),
    }

    def __init__(self) -> None:
        self.total = 0.0
        self.count = 0

    @property
    def are_ones(self) -> bool:
        return self.total == self.count

    def relative(self, weight: np.ndarray | None, count: int) -> np.ndarray:
        """Weights divided by the mean of those so far: C then means the same whatever their unit."""
        if weight is None and self.are_ones:
            self.count += count
            self.total = float(self.count)
            return np.ones(count)
        weight = np.ones(count) if weight is None else weight
        sums = np.cumsum(np.append(self.total, weight))[1:]  # row by row, so that chunks make no difference
        counts = np.arange(self.count + 1, self.count + count + 1)
        self.total, self.count = float(sums[-1]), int(counts[-1])
        return weight * counts / sums

    def merge(self, other: "Weights") -> None:
        self.total += other.total
        self.count += other.count


def class_weights(given: str | dict[Any, float], labels: Labels, codes: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Weights of rows by their class: as given, or inversely proportional to these counts."""
    if isinstance(given, dict):
        return np.array([given.get(label, 1.0) for label in labels.values.tolist()])[codes]
    own = np.broadcast_to(counts, (len(codes), counts.shape[1]))[np.arange(len(codes)), codes]
    return counts.sum(axis=1) / (np.count_nonzero(counts, axis=1) * own)
