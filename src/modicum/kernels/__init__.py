"""Kernels and dissimilarities, named or any callable, computed chunk against chunk."""

from modicum.kernels.dissimilarity import Dissimilarity, as_dissimilarity

__all__ = ["Dissimilarity", "as_dissimilarity"]
