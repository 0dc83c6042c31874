"""The mean squared error of the latest rows of a stream, each predicted before it was learned (dawid1984)."""

import numpy as np

from modicum.rules.invariants import Real
from modicum.state.part import Part

MEMORY = 1000  # rows over which the weight of an error falls to 1/e: enough for a mean within a few percent


class RecentError(Part):
    """A mean of squared errors in which those of old rows fade, in two numbers."""

    _invariants = {"total": Real(0.0), "weight": Real(0.0)}

    def __init__(self) -> None:
        self.total = 0.0
        self.weight = 0.0

    @property
    def mean(self) -> float:
        return self.total / self.weight if self.weight > 0 else float("nan")

    def add(self, squared: np.ndarray, weights: np.ndarray) -> None:
        """Add the squared errors of consecutive rows."""
        age = np.arange(len(squared), 0, -1) - 1
        fading = weights * np.exp(-age / MEMORY)
        before = float(np.exp(-len(squared) / MEMORY))
        self.total = before * self.total + float(fading @ squared)
        self.weight = before * self.weight + float(fading.sum())

    def merge(self, other: "RecentError") -> None:
        """Both sides' errors count by their weights."""
        self.total += other.total
        self.weight += other.weight
