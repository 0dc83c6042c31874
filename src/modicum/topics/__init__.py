"""Topic models: documents as mixtures of topics that they share."""

from modicum.topics.memory_bounded import MemoryBoundedTopicModel

__all__ = ["MemoryBoundedTopicModel"]
