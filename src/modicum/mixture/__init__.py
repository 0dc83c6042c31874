"""Mixtures whose number of components is learned."""

from modicum.mixture.dirichlet_process import DirichletProcessMixture
from modicum.mixture.memory_bounded import MemoryBoundedMixture

__all__ = ["DirichletProcessMixture", "MemoryBoundedMixture"]
